"""The embedded model's tools as a mapping: what a decision is asked with, and what comes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from odysseus.providers.base import ChatMessage, ChatRequest, ToolCall, ToolCallFragment, ToolSpec
from odysseus.providers.local_tools import answer_request, decided_calls, decision_request
from odysseus.providers.small_schema import call_schema, shown_properties

PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["path"],
}
READ = ToolSpec("read_file", "Read a text file.\nLong words follow. " + "More. " * 40, PATH)
TIME = ToolSpec("current_time", "Tell the time.", {"type": "object", "properties": {"zone": {"type": "string"}}})
SYSTEM, ASKED = ChatMessage("system", "Be kind."), ChatMessage("user", "What does a.txt say?")
CALL = ToolCall("c1", "read_file", '{"path": "a.txt"}')
CALLED = ChatMessage("assistant", "", tool_calls=(CALL,))
RESULT = ChatMessage("tool", "heron", tool_call_id="c1")
REQUEST = ChatRequest("m", (SYSTEM, ASKED), tools=(READ, TIME), max_tokens=50)
WITH_RESULT = replace(REQUEST, messages=(SYSTEM, ASKED, CALLED, RESULT))


def decided(request: ChatRequest, text: str, *, cut: bool = False) -> list[tuple[str, str, str | None]]:
    chunks = decided_calls(request, text, cut=cut)
    return [(chunk.name, chunk.arguments, chunk.problem) for chunk in chunks if isinstance(chunk, ToolCall)]


def test_a_decision_is_asked_for_with_each_tool_in_one_line_and_no_tools_on_the_wire() -> None:
    asked = decision_request(REQUEST, 1000)
    lines = [line for line in asked.messages[0].content.splitlines() if "(" in line]
    assert (asked.tools, asked.temperature, asked.max_tokens) == ((), 0.0, 50)
    assert lines[-2].startswith("read_file(path): Read a text file. Long words")
    assert len(lines[-2]) < 140
    assert lines[-1] == "current_time(zone): Tell the time."
    assert asked.messages[-1] == ASKED
    assert not any("Be kind" in message.content for message in asked.messages)


def test_examples_are_of_the_tools_on_offer_only() -> None:
    words = " ".join(message.content for message in decision_request(REQUEST, 1000).messages)
    assert '"read_file"' in words
    assert '"current_time"' in words
    assert '"bash"' not in words
    none = decision_request(replace(REQUEST, tools=(ToolSpec("lamp", "Switch a lamp.", {}),)), 1000)
    assert all("arguments" not in message.content for message in none.messages[1:])


def test_the_history_of_a_decision_is_a_row_of_decisions_with_their_results() -> None:
    said = ChatMessage("assistant", "It says " + "heron " * 200)
    request = replace(WITH_RESULT, messages=(*WITH_RESULT.messages, said, ChatMessage("user", "And b.txt?")))
    *_, asked, called, result, answered, last = decision_request(request, 3).messages
    assert (asked, last.content) == (ASKED, "And b.txt?")
    assert json.loads(called.content) == {"tool": "read_file", "arguments": {"path": "a.txt"}}
    assert (result.role, result.content) == ("user", "Result of read_file:\nher … (cut)")
    assert answered.content.startswith('{"tool": "answer"}\nIt says heron')
    assert len(answered.content) < 450


def test_a_decision_becomes_a_call_with_its_arguments_to_the_letter() -> None:
    told, call = decided_calls(REQUEST, '{"tool": "read_file", "arguments": {"path" : "ü.txt"}}', cut=False)
    assert isinstance(told, ToolCallFragment)
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments, call.problem, call.written) == ("read_file", '{"path" : "ü.txt"}', None, False)
    assert told.id == call.id != ""
    assert decided(REQUEST, '{"tool": "current_time", "arguments": {}}') == [("current_time", "{}", None)]


@pytest.mark.parametrize(
    "text", ['{"tool": "answer"}', "", "Hello", '{"tool": "bash", "arguments": {}}', '{"tool": "re']
)
def test_anything_else_is_the_time_for_an_answer(text: str) -> None:
    assert decided(REQUEST, text) == []


def test_a_call_that_was_cut_is_told_and_not_fit_to_run() -> None:
    ((name, arguments, problem),) = decided(REQUEST, '{"tool": "read_file", "arguments": {"path": "a', cut=True)
    assert (name, arguments) == ("read_file", '{"path": "a')
    assert "not valid JSON" in str(problem)
    ((_, _, problem),) = decided(REQUEST, '{"tool": "read_file", "arguments": ', cut=True)
    assert "length limit" in str(problem)


def test_a_call_that_has_its_result_is_not_made_again_in_the_same_turn() -> None:
    same, other = (json.dumps({"tool": "read_file", "arguments": {"path": f"{name}.txt"}}) for name in "ab")
    assert decided(WITH_RESULT, same) == []
    assert [name for name, *_ in decided(WITH_RESULT, other)] == ["read_file"]
    later = replace(WITH_RESULT, messages=(*WITH_RESULT.messages, ChatMessage("user", "Again!")))
    assert [name for name, *_ in decided(later, same)] == ["read_file"]


def test_an_answer_is_asked_for_with_the_result_beside_its_question() -> None:
    asked = answer_request(WITH_RESULT, 1000)
    assert asked.tools == ()
    assert [message.role for message in asked.messages] == ["system", "user"]
    words = asked.messages[1].content
    assert words.index("What does") < words.index('read_file {"path": "a.txt"} gave:\nheron')


def test_of_several_results_each_has_its_share_and_the_question_is_last() -> None:
    second = ToolCall("c2", "current_time", "{}")
    more = (ChatMessage("assistant", "", tool_calls=(second,)), ChatMessage("tool", "x" * 900, tool_call_id="c2"))
    asked = answer_request(replace(WITH_RESULT, messages=(*WITH_RESULT.messages, *more)), 200)
    words = asked.messages[-1].content
    assert words.endswith(ASKED.content)
    assert "heron" in words
    assert "x" * 100 + " … (cut)" in words


def test_earlier_turns_keep_their_results_and_answers() -> None:
    rest = (ChatMessage("assistant", "It says heron."), ChatMessage("user", "Thanks"))
    asked = answer_request(replace(WITH_RESULT, messages=(*WITH_RESULT.messages, *rest)), 1000)
    assert asked.messages[2:] == rest
    assert "heron" in asked.messages[1].content


def test_a_chat_without_tools_is_asked_as_it_is() -> None:
    messages = (SYSTEM, ASKED, ChatMessage("assistant", "I do not know."), ChatMessage("user", "Why?"))
    assert answer_request(ChatRequest("m", messages), 10).messages == messages


def arguments_of(parameters: dict[str, Any]) -> Any:
    return call_schema(ToolSpec("f", "", parameters))["properties"]["arguments"]


def test_only_what_must_be_there_is_asked_for_unless_nothing_must() -> None:
    assert shown_properties(READ) == ["path"]
    assert shown_properties(TIME) == ["zone"]
    assert arguments_of(dict(PATH))["properties"] == {"path": {"type": "string"}}
    assert arguments_of(dict(TIME.parameters))["required"] == []


def test_a_schema_is_made_of_what_the_grammar_knows() -> None:
    step = {"type": "object", "properties": {"text": {"type": "string", "pattern": "(?=x)", "format": "uri"}}}
    parameters = {
        "type": "object",
        "properties": {
            "steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}, "title": "Steps"},
            "size": {"oneOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
            "any": True,
            "lost": {"$ref": "#/$defs/Nothing"},
        },
        "required": ["steps", "size", "any", "lost", "ghost"],
        "$defs": {"Step": step},
    }
    made = arguments_of(parameters)
    assert made["required"] == ["steps", "size", "any", "lost"]
    assert made["properties"]["steps"]["items"] == {"type": "object", "properties": {"text": {"type": "string"}}}
    assert made["properties"]["size"] == {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}
    assert (made["properties"]["any"], made["properties"]["lost"]) == ({}, {})


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    made = arguments_of({"properties": {"node": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}})
    assert len(json.dumps(made)) < 1000
