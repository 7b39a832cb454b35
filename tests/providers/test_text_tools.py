"""Servers that take no tools: the tools go in the text, their calls are read from it, and this is remembered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from upstream import Upstream, answer
from wire_files import NDJSON_HEADERS, Played, collect

from odysseus.config import EndpointConfig
from odysseus.providers.base import ChatMessage, ChatRequest, Image, Provider, ToolCall, ToolSpec
from odysseus.providers.failures import status_error
from odysseus.providers.ollama import OllamaProvider
from odysseus.providers.openai import OpenAIProvider
from odysseus.providers.text_tools import refuses_tools, without_tools

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolSpec("read_file", "Reads a text file.", SCHEMA)
USER = ChatMessage("user", "What does a.txt say?")
ASK = ChatRequest("m", (ChatMessage("system", "Be kind."), USER), tools=(READ,))
CALL = ToolCall("c1", "read_file", '{"path":"a.txt"}', written=True)
WRITTEN = '<tool_call>{"name": "read_file", "arguments": {"path":"a.txt"}}</tool_call>'
CALLED = ChatMessage("assistant", "I look.", tool_calls=(CALL,), state={"own": 1})
RESULT = ChatMessage("tool", "heron", images=(Image("image/png", b"x"),), tool_call_id="c1")

REFUSALS: list[tuple[int, Any]] = [
    (500, {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}),
    (400, {"error": "registry.ollama.ai/library/tiny:1b does not support tools"}),
    (400, {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and '
           "--tool-call-parser to be set", "code": 400}),
    (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}),
    (404, {"error": {"message": "No endpoints found that support tool use.", "code": 404}}),
    (400, {"error": {"message": "Function calling is not enabled for this model"}}),
    (400, {"error": {"message": "Unrecognized request argument supplied: tools"}}),
]  # fmt: skip
OTHERS: list[tuple[int, Any]] = [
    (400, {"error": {"message": "The prompt has 9000 tokens, but the context holds 4096."}}),
    (400, {"error": {"message": "An assistant message with 'tool_calls' must be followed by tool messages"}}),
    (401, {"error": {"message": "Your key does not support tools"}}),
    (500, {"error": {"message": "Internal error"}}),
    (400, {"error": {"message": "This model does not support images"}}),
]


@asynccontextmanager
async def provider_at(upstream: Upstream, kind: Any) -> AsyncIterator[Provider]:
    made: type[OpenAIProvider | OllamaProvider] = OpenAIProvider if kind == "openai" else OllamaProvider
    base_url = upstream.base_url if kind == "openai" else upstream.origin
    provider = made(EndpointConfig(id="box", kind=kind, base_url=base_url, context_length=8192))
    try:
        yield provider
    finally:
        await provider.close()


def say(upstream: Upstream, kind: str, text: str) -> None:
    if kind == "openai":
        upstream.reply(*answer(text))
        return
    record = {"model": "m", "message": {"role": "assistant", "content": text}, "done": True, "done_reason": "stop"}
    upstream.reply(json.dumps(record).encode() + b"\n", headers=NDJSON_HEADERS)


def found(played: Played) -> list[tuple[str, str, bool]]:
    return [(call.name, call.arguments, call.written) for call in played.calls]


KINDS = pytest.mark.parametrize("kind", ["openai", "ollama"])


@KINDS
@pytest.mark.parametrize(("status", "body"), REFUSALS)
async def test_refused_tools_go_in_the_text_at_once_and_from_then_on(
    upstream: Upstream, kind: str, status: int, body: Any
) -> None:
    upstream.reply_json(body, status=status)
    for _ in range(2):
        say(upstream, kind, f"I look.\n{WRITTEN}")
    async with provider_at(upstream, kind) as provider:
        played = [await collect(provider, ASK) for _ in range(2)]
    first, *later = [received.json for received in upstream.requests]
    assert "tools" in first
    assert len(later) == 2
    for sent in later:
        assert "tools" not in sent
        assert "read_file" in sent["messages"][0]["content"]
    for one in played:
        assert (found(one), one.text, one.failure) == ([("read_file", CALL.arguments, True)], "I look.\n", None)
        assert one.finished[0].reason == "tool_calls"


@KINDS
@pytest.mark.parametrize(("status", "body"), OTHERS)
async def test_other_errors_are_told(upstream: Upstream, kind: str, status: int, body: Any) -> None:
    upstream.reply_json(body, status=status)
    async with provider_at(upstream, kind) as provider:
        played = await collect(provider, ASK)
    assert f"HTTP {status}" in str(played.failure)
    assert len(upstream.requests) == 1


@KINDS
async def test_what_one_model_refuses_another_is_still_given(upstream: Upstream, kind: str) -> None:
    upstream.reply_json(REFUSALS[1][1], status=400)
    for _ in range(2):
        say(upstream, kind, "Hi.")
    async with provider_at(upstream, kind) as provider:
        await collect(provider, ASK)
        await collect(provider, replace(ASK, model="other"))
    assert ["tools" in received.json for received in upstream.requests] == [True, False, True]


@KINDS
async def test_a_second_refusal_is_the_answer(upstream: Upstream, kind: str) -> None:
    for _ in range(2):
        upstream.reply_json(REFUSALS[1][1], status=400)
    async with provider_at(upstream, kind) as provider:
        assert "does not support tools" in str((await collect(provider, ASK)).failure)
    assert len(upstream.requests) == 2


@KINDS
async def test_once_the_chat_has_real_calls_nothing_is_read_from_the_text(upstream: Upstream, kind: str) -> None:
    real = replace(CALLED, tool_calls=(replace(CALL, written=False),))
    for _ in range(2):
        say(upstream, kind, WRITTEN)
    async with provider_at(upstream, kind) as provider:
        after_written = await collect(provider, replace(ASK, messages=(*ASK.messages, CALLED, RESULT)))
        after_real = await collect(provider, replace(ASK, messages=(*ASK.messages, real, RESULT)))
    assert (found(after_written), after_written.text) == ([("read_file", CALL.arguments, True)], "")
    assert (found(after_real), after_real.text) == ([], WRITTEN)


@KINDS
async def test_where_tools_are_refused_the_text_is_read_whatever_came_before(upstream: Upstream, kind: str) -> None:
    real = replace(CALLED, tool_calls=(replace(CALL, written=False),))
    upstream.reply_json(REFUSALS[1][1], status=400)
    say(upstream, kind, WRITTEN)
    async with provider_at(upstream, kind) as provider:
        played = await collect(provider, replace(ASK, messages=(*ASK.messages, real, RESULT)))
    assert found(played) == [("read_file", CALL.arguments, True)]


def test_calls_and_results_become_text() -> None:
    more = ChatMessage("user", "And b.txt?")
    asked = without_tools(replace(ASK, messages=(*ASK.messages, CALLED, RESULT, more)))
    system, user, called, result = asked.messages
    assert asked.tools == ()
    assert system.content.startswith("Be kind.\n\n")
    assert '{"name":"read_file","description":"Reads a text file.","arguments":{"type":"object"' in system.content
    assert user == USER
    assert (called.content, called.tool_calls, called.state) == (f"I look.\n{WRITTEN}", (), None)
    assert (result.role, result.images) == ("user", RESULT.images)
    assert "heron" in result.content
    assert result.content.endswith("And b.txt?")


def test_without_a_system_message_one_is_made_and_without_tools_none() -> None:
    assert [message.role for message in without_tools(replace(ASK, messages=(USER,))).messages] == ["system", "user"]
    assert without_tools(ChatRequest("m", (USER,))).messages == (USER,)


def test_calls_of_the_history_alone_may_be_refused() -> None:
    error = status_error(400, json.dumps(REFUSALS[1][1]).encode())
    history = ChatRequest("m", (USER, CALLED, RESULT))
    assert refuses_tools(history, error)
    assert not refuses_tools(ChatRequest("m", (USER,)), error)
