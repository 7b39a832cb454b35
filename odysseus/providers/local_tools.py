"""Tools for a small model that cannot use its template's own: a decision in constrained JSON, then an answer.

Pure: must not know the runtime's process. A decision names one tool with arguments of that tool's shape, or says to
answer; the answer is then asked for in a prompt without tools. In both the calls and results so far are plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import orjson
from msgspec import Raw, Struct

from odysseus.providers.base import ChatMessage, ChatRequest, Chunk, ToolCall, ToolSpec
from odysseus.providers.loose import as_mapping, as_object_text, as_text
from odysseus.providers.small_schema import call_schema, shown_properties
from odysseus.providers.tool_calls import ToolCallAssembly

LEAST_BYTES = 200_000_000
"""Model files smaller than this hold models that choose tools at random; they only answer."""
_ANSWER = '{"tool": "answer"}'
_RULES = (
    "Decide the next step for the user's request. Reply with JSON only.\n"
    "You know much yourself: use a tool only for what you cannot know or do.\n"
    'To use a tool: {"tool": name, "arguments": {...}}.\n'
    'To talk, explain, translate, write text or code, or when the results are there: {"tool": "answer"}.'
)
_LINE_LIMIT = 110  # characters of a tool's description
_SAID_LIMIT = 400  # characters of an earlier answer in a decision
_CUT = " … (cut)"
_CALL_HEAD = re.compile(r'\s*\{\s*"tool"\s*:\s*("[^"\\]*")\s*,\s*"arguments"\s*:\s*')


@dataclass(frozen=True, slots=True)
class _Example:
    """A turn that shows how to decide: what is asked, and the calls of a tool, each with its result."""

    asked: str
    tool: str = ""
    calls: tuple[tuple[str, str], ...] = ()


# Those of tools that are not on offer are left out.
_EXAMPLES = (
    _Example("Hello, how are you?"),
    _Example("How much is 17 * 28?", "calculate", (('{"expression": "17 * 28"}', "476"),)),
    _Example("Explain how a for loop works in Rust."),
    _Example("What does notes/plan.md say?", "read_file", (('{"path": "notes/plan.md"}', "Buy milk."),)),
    _Example("Why do cats purr?"),
    _Example("Write a program that sorts numbers."),
    _Example(
        "Sum up https://example.org/news/", "web_fetch", (('{"url": "https://example.org/news/"}', "Example news."),)
    ),
    _Example("How do you say 'thank you' in Spanish?"),
    _Example("What day is it?", "current_time", (("{}", "Monday, 4 May 2026, 10:15"),)),
    _Example("What is the capital of Peru?"),
    _Example("Run df -h", "bash", (('{"command": "df -h"}', "/dev/sda1 40G 12G"),)),
    _Example(
        "Read intro.md and todo.md and sum both up.",
        "read_file",
        (('{"path": "intro.md"}', "Welcome."), ('{"path": "todo.md"}', "Buy milk.")),
    ),
    _Example("Write a short poem about rain."),
)


class _Decision(Struct):
    tool: str
    arguments: Raw = Raw(b"{}")


def decision_request(request: ChatRequest, room: int) -> ChatRequest:
    """The request that asks for the next step. All results together may take `room` characters."""
    tools = "\n".join(map(_line, request.tools))
    system = ChatMessage("system", f"{_RULES}\n\nTools:\n{tools}")
    examples = [message for example in _EXAMPLES for message in _shown(example, request.tools)]
    messages = (system, *examples, *_decided(request.messages, _share(request.messages, room)))
    schema = {"anyOf": [*map(call_schema, request.tools), _ANSWER_SCHEMA]}
    return replace(request, messages=messages, tools=(), temperature=0.0, response_schema=schema)


def decided_calls(request: ChatRequest, text: str, *, cut: bool) -> list[Chunk]:
    """The call that this decision makes, with its fragment; nothing when the answer is next.

    So it is too when the call was made before in this turn: its result would be the same. `cut` says that the decision
    ran into the length limit.
    """
    name, arguments = _read(text)
    names = [tool.name for tool in request.tools]
    if name not in names or (name, _plain(arguments)) in _made(request.messages):
        return []
    calls = ToolCallAssembly(names)
    told = calls.add(None, "", name, arguments, opens=True)
    return [*told, *calls.finish(cut=cut)]


def answer_request(request: ChatRequest, room: int) -> ChatRequest:
    """The request without tools: each result stands with the question it was for, all within `room` characters."""
    share = _share(request.messages, room)
    messages: list[ChatMessage] = []
    results: list[str] = []
    names = _call_lines(request.messages)
    asked: ChatMessage | None = None
    for message in request.messages:
        if message.role == "tool":
            results.append(f"{names.get(message.tool_call_id, 'tool')} gave:\n{_cut(message.content, share)}")
        elif not message.tool_calls:
            messages += _with_results(asked, results)
            asked, results = message if message.role == "user" else None, []
            messages += [] if asked else [message]
    messages += _with_results(asked, results)
    return replace(request, messages=tuple(messages), tools=())


def _with_results(asked: ChatMessage | None, results: Sequence[str]) -> list[ChatMessage]:
    """The question with what was found for it. With several results it stands last, or all but the first are missed."""
    if asked is None or not results:
        return [asked] if asked else []
    if len(results) == 1:
        parts = [asked.content, "This was looked up for you:", *results, "Answer with it."]
    else:
        parts = ["This was looked up:", *results, "Use all of it to answer:", asked.content]
    return [replace(asked, content="\n\n".join(parts))]


_ANSWER_SCHEMA = {"type": "object", "properties": {"tool": {"const": "answer"}}, "required": ["tool"]}


def _line(tool: ToolSpec) -> str:
    words = " ".join(tool.description.split())
    words = words if len(words) <= _LINE_LIMIT else words[:_LINE_LIMIT].rsplit(" ", 1)[0] + " …"
    return f"{tool.name}({', '.join(shown_properties(tool))}): {words}"


def _shown(example: _Example, tools: Sequence[ToolSpec]) -> Iterator[ChatMessage]:
    if example.tool and all(tool.name != example.tool for tool in tools):
        return
    yield ChatMessage("user", example.asked)
    for arguments, result in example.calls:
        yield _call_message(example.tool, arguments)
        yield _result_message(example.tool, result)
    yield ChatMessage("assistant", _ANSWER)


def _decided(messages: Sequence[ChatMessage], share: int) -> Iterator[ChatMessage]:
    """The chat as a row of decisions. The system's words are about answers, so they are left out."""
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    for message in messages:
        if message.role == "user":
            yield ChatMessage("user", message.content)
        elif message.role == "tool":
            yield _result_message(names.get(message.tool_call_id, "tool"), _cut(message.content, share))
        elif message.role == "assistant":
            yield from (_call_message(call.name, as_object_text(call.arguments)) for call in message.tool_calls)
            if not message.tool_calls:
                yield ChatMessage("assistant", f"{_ANSWER}\n{_cut(message.content, _SAID_LIMIT)}")


def _call_message(name: str, arguments: str) -> ChatMessage:
    return ChatMessage("assistant", f'{{"tool": "{name}", "arguments": {arguments}}}')


def _result_message(name: str, result: str) -> ChatMessage:
    return ChatMessage("user", f"Result of {name}:\n{result}")


def _call_lines(messages: Sequence[ChatMessage]) -> Mapping[str, str]:
    """Each call by its id in one short line."""
    calls = [call for message in messages for call in message.tool_calls]
    return {call.id: f"{call.name} {_cut(as_object_text(call.arguments), 300)}" for call in calls}


def _share(messages: Sequence[ChatMessage], room: int) -> int:
    return room // max(1, sum(message.role == "tool" for message in messages))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + _CUT


def _read(text: str) -> tuple[str, str]:
    """The tool and its arguments to the letter, of a decision that may have been cut."""
    try:
        made = msgspec.json.decode(text, type=_Decision)
    except msgspec.DecodeError:
        head = _CALL_HEAD.match(text)
        return (as_text(orjson.loads(head[1])), text[head.end() :]) if head else ("", "")
    return made.tool, bytes(made.arguments).decode()


def _made(messages: Sequence[ChatMessage]) -> list[tuple[str, Any]]:
    """The calls since the user's last words that have a result."""
    last = max((at for at, message in enumerate(messages) if message.role == "user"), default=0)
    answered = {message.tool_call_id for message in messages[last:] if message.role == "tool"}
    calls: Sequence[ToolCall] = [call for message in messages[last:] for call in message.tool_calls]
    return [(call.name, _plain(call.arguments)) for call in calls if call.id in answered]


def _plain(arguments: str) -> Any:
    """The same value for arguments that say the same."""
    try:
        return as_mapping(orjson.loads(arguments))
    except orjson.JSONDecodeError:
        return arguments
