"""Anthropic's Messages: every wire file in every cut, judged by the vendor's client; requests; failures; state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anthropic
import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given, settings
from hypothesis import strategies as st
from upstream import Cut, Hang, Upstream
from wire_files import ASK, Played, collect, play_file, read, ways, wire, wire_names

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.events import ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.anthropic import AnthropicProvider
from odysseus.providers.anthropic_answer import AnthropicAnswer
from odysseus.providers.anthropic_mapping import to_body
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import (
    AnsweredBy,
    ChatMessage,
    ChatRequest,
    Finished,
    Image,
    ModelListing,
    ToolCall,
    ToolSpec,
)
from odysseus.providers.reading import RecordReading
from odysseus.providers.wire import SseDecoder

BROKEN = ("anthropic-early", "anthropic-overloaded")
# What no vendor's client reads: our own tolerance for servers that are near the wire.
OURS_ALONE = ("anthropic-proxy-shapes.sse", "anthropic-length-in-tool.sse")
GOOD = [name for name in wire_names("anthropic-") if not name.startswith(BROKEN) and name not in OURS_ALONE]
EPHEMERAL = {"type": "ephemeral"}
USER = ChatMessage("user", "Hi")


@asynccontextmanager
async def provider_at(upstream: Upstream, **settings: Any) -> AsyncIterator[AnthropicProvider]:
    given = {"id": "claude", "kind": "anthropic", "base_url": upstream.origin, "api_key": "sk-ant-test", **settings}
    provider = AnthropicProvider(EndpointConfig(**given))
    try:
        yield provider
    finally:
        await provider.close()


def reading(*secrets: str) -> RecordReading:
    return RecordReading(SseDecoder(), AnthropicAnswer(), Assembly(), secrets)


def events(*bodies: Any) -> bytes:
    return b"".join(f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode() for body in bodies)


def body_of(*messages: ChatMessage, **more: Any) -> Any:
    """The JSON of a request as it goes over the wire."""
    return json.loads(orjson.dumps(to_body(ChatRequest("m", messages, **more))))


WEATHER = ToolCall("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", '{"city": "Oslo", "days": 2}')
BERGEN = ToolCall("toolu_01LPiTfvWwMGAkxBsz2ZTaTF", "get_weather", '{"city": "Bergen"}')
BEDS = ToolCall("toolu_019f2nnfBhXh7YPLmLLq1kxV", "list_beds", "{}")
LS = ToolCall("toolu_01A09q90qw90lq917835lq9", "ls", '{"path": "/"}')

FILES: list[tuple[str, str, str, list[ToolCall], Finished]] = [
    ("text", "Hello 🚲 橋, é!", "", [], Finished("stop", "end_turn")),
    (
        "thinking-tools",
        "I will look at both.",
        "Two places: ask for both.\nOslo first.",
        [WEATHER, BERGEN, BEDS],
        Finished("tool_calls", "tool_use"),
    ),
    ("thinking-omitted", "Four.", "", [], Finished("stop", "end_turn")),
    ("tool-only", "", "", [LS], Finished("tool_calls", "tool_use")),
    ("refusal", "I can", "", [], Finished("content_filter", "refusal")),
    ("context-full", "Once upon a time", "", [], Finished("length", "model_context_window_exceeded")),
    ("paused-turn", "Still searching.", "", [], Finished(None, "pause_turn")),
    ("unknown-events-crlf", "Searching. High at noon.", "", [], Finished("stop", "end_turn")),
    (
        "proxy-shapes",
        "On it.",
        "Look first.",
        [
            ToolCall("call_1", "ls", '{"path":"/","deep":{"n":[1,2]}}'),
            ToolCall("call_2", "ls", '{"path":"/","deep":{"n":[1,2]}}'),
        ],
        Finished("tool_calls", "tool_use"),
    ),
]


@pytest.mark.parametrize("row", FILES, ids=[row[0] for row in FILES])
async def test_a_wire_file_gives_its_answer_however_it_is_cut(upstream: Upstream, row: Any) -> None:
    name, text, reasoning, calls, end = row
    async with provider_at(upstream) as provider:
        played = await play_file(upstream, provider, f"anthropic-{name}.sse")
    assert (played.text, played.reasoning, played.failure) == (text, reasoning, None)
    assert (played.calls, played.finished) == (calls, [end])
    for call in calls:
        assert "".join(piece.arguments for piece in played.fragments if piece.id == call.id) in ("", call.arguments)


async def test_arguments_cut_by_the_length_limit_are_marked_and_not_mended(upstream: Upstream) -> None:
    async with provider_at(upstream) as provider:
        played = await play_file(upstream, provider, "anthropic-length-in-tool.sse")
    (call,) = played.calls
    assert call.arguments == '{"path": "a.txt", "text": "once upo'
    assert call.problem
    assert played.finished == [Finished("length", "max_tokens")]


BROKEN_FILES: list[tuple[str, str, int, str]] = [
    ("overloaded", "par", 529, "busy"),
    ("overloaded-first", "", 529, "Overloaded"),
    ("early-end-in-tool", "Let me look.", 502, "ended early"),
    ("early-end-before-stop", "All of it.", 502, "ended early"),
]


@pytest.mark.parametrize(("name", "text", "status", "words"), BROKEN_FILES)
async def test_a_broken_answer_fails_keeps_its_text_and_gives_no_call(
    upstream: Upstream, name: str, text: str, status: int, words: str
) -> None:
    async with provider_at(upstream) as provider:
        played = await play_file(upstream, provider, f"anthropic-{name}.sse")
    assert (played.text, played.status, played.retryable) == (text, status, True)
    assert words in str(played.failure)
    assert (played.calls, played.states, played.finished) == ([], [], [])


def test_every_wire_file_has_its_test() -> None:
    told = {row[0] for row in FILES} | {row[0] for row in BROKEN_FILES} | {"length-in-tool"}
    assert {f"anthropic-{name}.sse" for name in told} == set(wire_names("anthropic-"))


async def judged(upstream: Upstream, name: str) -> anthropic.types.Message:
    """What the vendor's own client makes of the file."""
    upstream.reply(wire(name))
    async with (
        anthropic.AsyncAnthropic(base_url=upstream.origin, api_key="k", max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]) as stream,
    ):
        return await stream.get_final_message()


@pytest.mark.parametrize("name", GOOD)
async def test_the_vendors_client_reads_the_same_in_the_file(upstream: Upstream, name: str) -> None:
    message = await judged(upstream, name)
    async with provider_at(upstream) as provider:
        upstream.reply(wire(name))
        played = await collect(provider)
    blocks = message.content
    assert played.text == "".join(block.text for block in blocks if block.type == "text")
    assert played.reasoning == "".join(block.thinking for block in blocks if block.type == "thinking")
    calls = [(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"]
    assert [(call.id, call.name, json.loads(call.arguments)) for call in played.calls] == calls
    assert (played.models, played.finished[0].raw) == ([message.model], message.stop_reason)
    usage = message.usage
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    total = usage.input_tokens + cached + written
    assert [(report.input_tokens, report.cached_input_tokens) for report in played.usage] == [(total, cached)]
    assert played.usage[0].output_tokens == usage.output_tokens


@pytest.mark.parametrize("name", [name for name in GOOD if "unknown" not in name])
async def test_an_answer_goes_back_as_the_vendors_client_would_send_it(upstream: Upstream, name: str) -> None:
    message = await judged(upstream, name)
    async with provider_at(upstream) as provider:
        upstream.reply(wire(name))
        played = await collect(provider)
        results = [ChatMessage("tool", "fine", tool_call_id=call.id) for call in played.calls]
        await collect(provider, ChatRequest("m", (USER, played.message, *results, ChatMessage("user", "Go on"))))
    sent = upstream.requests[-1].json["messages"]
    kept = ("type", "text", "thinking", "signature", "data", "id", "name", "input")
    dumped = [block.model_dump(include=set(kept), exclude_none=True) for block in message.content]
    assert sent[1] == {"role": "assistant", "content": dumped}
    assert [turn["role"] for turn in sent] == ["user", "assistant", "user"]


@pytest.mark.parametrize("name", ["anthropic-overloaded.sse", "anthropic-overloaded-first.sse"])
async def test_the_vendors_client_fails_where_we_fail(upstream: Upstream, name: str) -> None:
    with pytest.raises(anthropic.APIError):
        await judged(upstream, name)


ERROR_TYPES = [
    ("invalid_request_error", 400, False),
    ("authentication_error", 401, False),
    ("billing_error", 402, False),
    ("permission_error", 403, False),
    ("not_found_error", 404, False),
    ("conflict_error", 409, True),
    ("request_too_large", 413, False),
    ("rate_limit_error", 429, True),
    ("api_error", 500, True),
    ("timeout_error", 504, True),
    ("overloaded_error", 529, True),
    ("some_new_error", 502, True),
]


@pytest.mark.parametrize(("kind", "status", "retryable"), ERROR_TYPES)
@pytest.mark.parametrize("named", [True, False])
def test_an_error_in_mid_stream_has_the_status_of_its_type(
    kind: str, status: int, retryable: bool, named: bool
) -> None:
    start = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "par"}}
    error = {"type": "error", "error": {"type": kind, "message": "No more, key sk-ant-test"}}
    ghost = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "GHOST"}}
    body = events(start, error, ghost, {"type": "message_stop"})
    for pieces in ways(body if named else body.replace(b"event: error\n", b"")):
        played = read(reading("sk-ant-test"), pieces)
        assert (played.text, played.status, played.retryable) == ("par", status, retryable)
        assert played.failure == "No more, key (key)"


@pytest.mark.parametrize("data", ["overload", '"overload"', '{"message":"overload"}', '{"error":"overload"}'])
def test_an_error_event_of_any_shape_fails(data: str) -> None:
    played = read(reading(), [f"event: error\ndata: {data}\n\n".encode()])
    assert (played.failure, played.status) == ("overload", 502)


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication_error"), (429, "rate_limit_error"), (529, "")])
async def test_an_error_before_the_answer_has_its_status_and_is_asked_once(
    upstream: Upstream, status: int, kind: str
) -> None:
    upstream.reply_json({"type": "error", "error": {"type": kind, "message": "Not now."}}, status=status)
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.chunks, played.status, played.failure) == ([], status, f"HTTP {status}: Not now.")
    assert played.retryable == (status != 401)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("reset", [True, False])
async def test_a_cut_connection_is_an_early_end(upstream: Upstream, reset: bool) -> None:
    upstream.reply(wire("anthropic-text.sse")[:700], Cut(reset))
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert "ended early" in str(played.failure)
    assert played.text == "Hello 🚲"


def test_only_the_last_event_makes_an_answer_whole() -> None:
    body = wire("anthropic-tool-only.sse")
    for at in range(len(body)):
        played = read(reading(), [body[:at]])
        assert (played.failure is None) == (at >= len(body) - 2), body[:at]
        assert played.failure is None or not (played.calls or played.finished or played.states)


async def test_leaving_the_answer_closes_the_upstream(upstream: Upstream) -> None:
    upstream.reply(wire("anthropic-text.sse")[:700], Hang())
    async with provider_at(upstream) as provider, aclosing(provider.stream(ASK)) as batches:
        assert [chunk async for chunk in first_batch(batches)]
        await batches.aclose()
        await upstream.disconnected()


async def test_cancelling_the_reader_closes_the_upstream(upstream: Upstream) -> None:
    upstream.reply(wire("anthropic-text.sse")[:700], Hang())
    async with provider_at(upstream) as provider:
        task = asyncio.create_task(collect(provider))
        await upstream.arrived()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await upstream.disconnected()


async def first_batch(batches: AsyncIterator[Sequence[Any]]) -> AsyncIterator[Any]:
    for chunk in await anext(batches):
        yield chunk


async def test_nothing_after_the_last_event_counts_and_the_end_is_not_waited_for(upstream: Upstream) -> None:
    upstream.reply(wire("anthropic-text.sse") + wire("anthropic-overloaded.sse"), Hang())
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.text, played.failure) == ("Hello 🚲 橋, é!", None)


USAGES: list[tuple[Any, Any, UsageReport]] = [
    ({"input_tokens": 200, "cache_read_input_tokens": 3900}, {"output_tokens": 7}, UsageReport(4100, 7, 3900)),
    (
        {"input_tokens": 200, "cache_read_input_tokens": 3900, "cache_creation_input_tokens": 50, "output_tokens": 1},
        {"input_tokens": 200, "cache_read_input_tokens": 3900, "cache_creation_input_tokens": 50, "output_tokens": 9},
        UsageReport(4150, 9, 3900),
    ),
    ({"input_tokens": 9, "output_tokens": 5}, {"output_tokens": 5}, UsageReport(9, 5)),
    ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 31, "output_tokens": 4}, UsageReport(31, 4)),
    ({"input_tokens": 9}, {"input_tokens": 0, "output_tokens": 4}, UsageReport(9, 4)),
    ({"input_tokens": 9, "cache_read_input_tokens": None}, {"output_tokens": None}, UsageReport(9, 0)),
    (
        {"input_tokens": 9, "cache_read_input_tokens": 0},
        {"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 40}},
        UsageReport(9, 50, 0, 40),
    ),
]


@pytest.mark.parametrize(("start", "end", "report"), USAGES)
def test_usage_is_the_total_with_the_cache_and_is_never_added_up(start: Any, end: Any, report: UsageReport) -> None:
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}
    turn = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end}
    head = {"type": "message_start", "message": {"usage": start}}
    played = read(reading(), [events(head, text, turn, turn, {"type": "message_stop"})])
    assert (played.usage, played.failure) == ([report], None)


def test_usage_that_is_not_told_is_not_made_up() -> None:
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}
    played = read(reading(), [events({"type": "message_start", "message": {}}, text, {"type": "message_stop"})])
    assert (played.usage, played.finished, played.failure) == ([], [Finished(None)], None)


async def test_an_answer_in_one_document_is_read_too(upstream: Upstream) -> None:
    content = [
        {"type": "thinking", "thinking": "plan", "signature": "sig"},
        {"type": "text", "text": "out"},
        {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "/"}},
    ]
    usage = {"input_tokens": 3, "output_tokens": 4}
    upstream.reply_json(
        {"type": "message", "model": "m", "content": content, "stop_reason": "tool_use", "usage": usage}
    )
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.text, played.reasoning, played.usage) == ("out", "plan", [UsageReport(3, 4)])
    assert (played.calls, played.failure) == ([ToolCall("t1", "ls", '{"path":"/"}')], None)
    assert body_of(USER, played.message)["messages"][1]["content"] == content


@pytest.mark.parametrize(
    ("document", "status", "words"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529, "busy"),
        ({"hello": "world"}, 502, "not a model's answer"),
        ([], 502, "not a model's answer"),
    ],
)
async def test_any_other_document_is_a_failure(upstream: Upstream, document: Any, status: int, words: str) -> None:
    upstream.reply_json(document)
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.status, words in str(played.failure)) == (status, True)


# Requests


def test_the_system_prompt_is_at_the_top_and_marked_for_the_cache() -> None:
    body = body_of(ChatMessage("system", "Be kind."), USER, ChatMessage("system", "Be brief."))
    assert body["system"] == [
        {"type": "text", "text": "Be kind."},
        {"type": "text", "text": "Be brief.", "cache_control": EPHEMERAL},
    ]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 8192, True)
    assert not {"temperature", "tools", "output_config"} & set(body)


def test_the_stable_beginning_of_a_conversation_is_marked_for_the_cache() -> None:
    tools = (ToolSpec("a", "A", {}), ToolSpec("b", "B", {"properties": {"x": {}}}))
    turns = [ChatMessage(role, f"{role} {n}") for n in range(4) for role in ("user", "assistant")][:-1]
    body = body_of(ChatMessage("system", "S"), *turns, tools=tools)
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant"] * 3 + ["user"]
    marked = [n for n, turn in enumerate(body["messages"]) if "cache_control" in turn["content"][-1]]
    assert marked == [4]
    assert body["tools"] == [
        {"name": "a", "description": "A", "input_schema": {"type": "object"}},
        {
            "name": "b",
            "description": "B",
            "input_schema": {"type": "object", "properties": {"x": {}}},
            "cache_control": EPHEMERAL,
        },
    ]
    assert json.dumps(body).count("cache_control") <= 4


def test_what_was_sent_stays_the_same_but_for_the_marks() -> None:
    turns = [ChatMessage(role, f"{role} {n}") for n in range(5) for role in ("user", "assistant")]

    def sent(count: int) -> list[Any]:
        messages = body_of(ChatMessage("system", "S"), *turns[:count])["messages"]
        return [
            {k: v for k, v in block.items() if k != "cache_control"} for turn in messages for block in turn["content"]
        ]

    for count in range(1, 9, 2):
        assert sent(count + 2)[:count] == sent(count)


def test_results_of_tools_and_what_the_user_adds_are_one_turn_with_the_results_first() -> None:
    image = Image("image/png", b"\x89PNG")
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    body = body_of(
        USER,
        ChatMessage("assistant", "", tool_calls=(WEATHER, BERGEN)),
        ChatMessage("tool", "rain", tool_call_id=WEATHER.id, images=(image,)),
        ChatMessage("tool", " ", tool_call_id=BERGEN.id),
        ChatMessage("user", "And?", images=(image,)),
        ChatMessage("user", "Quick."),
    )
    assert body["messages"][2] == {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": WEATHER.id,
                "content": [{"type": "image", "source": source}, {"type": "text", "text": "rain"}],
            },
            {"type": "tool_result", "tool_use_id": BERGEN.id, "content": []},
            {"type": "image", "source": source},
            {"type": "text", "text": "And?"},
            {"type": "text", "text": "Quick."},
        ],
    }
    inputs = [block["input"] for block in body["messages"][1]["content"]]
    assert inputs == [{"city": "Oslo", "days": 2}, {"city": "Bergen"}]


def test_blank_turns_are_left_out_and_answers_in_a_row_are_joined() -> None:
    body = body_of(USER, ChatMessage("assistant", "a"), ChatMessage("user", " \n"), ChatMessage("assistant", "b"), USER)
    assert [(turn["role"], len(turn["content"])) for turn in body["messages"]] == [
        ("user", 1),
        ("assistant", 2),
        ("user", 1),
    ]


@pytest.mark.parametrize("arguments", ['{"path": "/data/x", ', "[1]", "7", "null", '"{}"', "", "NaN"])
def test_arguments_that_were_never_run_are_shown_as_none(arguments: str) -> None:
    call = ToolCall("t1", "rm", arguments, problem="no")
    assert body_of(USER, ChatMessage("assistant", "", tool_calls=(call,)))["messages"][1]["content"] == [
        {"type": "tool_use", "id": "t1", "name": "rm", "input": {}}
    ]


def test_arguments_go_back_to_the_letter() -> None:
    text = '{"b":  1, "a": 12345678901234567890123, "b": 1.10}'
    message = ChatMessage("assistant", "", tool_calls=(ToolCall("t1", "f", text),))
    assert f'"input":{text}'.encode() in orjson.dumps(to_body(ChatRequest("m", (USER, message))))


def test_ids_of_another_vendor_are_written_in_allowed_letters_and_still_match() -> None:
    ids = ["functions.ls:0", "functions_ls_0", "call|ø", "toolu_01"]
    calls = tuple(ToolCall(id, "ls", "{}") for id in ids)
    results = [ChatMessage("tool", "x", tool_call_id=id) for id in ids]
    messages = body_of(USER, ChatMessage("assistant", "", tool_calls=calls), *results)["messages"]
    sent = [block["id"] for block in messages[1]["content"]]
    assert [block["tool_use_id"] for block in messages[2]["content"]] == sent
    assert len(set(sent)) == 4
    assert all(id.replace("_", "").replace("-", "").isalnum() and id.isascii() for id in sent)


def test_an_edited_answer_keeps_its_thinking_first() -> None:
    layout = [
        {"text": 3},
        {"sent": {"type": "thinking", "thinking": "t", "signature": "s"}},
        {"call": "t1"},
    ]
    message = ChatMessage("assistant", "edited", tool_calls=(ToolCall("t1", "ls", "{}"),), state={"anthropic": layout})
    assert [block["type"] for block in body_of(USER, message)["messages"][1]["content"]] == [
        "thinking",
        "text",
        "tool_use",
    ]


@pytest.mark.parametrize("state", [None, {}, {"anthropic": None}, {"openai-responses": [{"type": "reasoning"}]}])
def test_the_state_of_another_vendor_is_not_sent(state: Any) -> None:
    message = ChatMessage("assistant", "a", reasoning="secret", state=state)
    assert body_of(USER, message)["messages"][1]["content"] == [{"type": "text", "text": "a"}]


async def test_the_key_and_the_version_go_in_the_vendors_headers(upstream: Upstream) -> None:
    async with provider_at(upstream) as provider:
        await collect(provider)
    headers = upstream.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("sk-ant-test", "2023-06-01")
    assert "Authorization" not in headers
    async with provider_at(upstream, api_key="", headers={"Authorization": "Bearer other"}) as provider:
        await collect(provider)
    headers = upstream.requests[1].headers
    assert "x-api-key" not in headers
    assert (headers["Authorization"], headers["anthropic-version"]) == ("Bearer other", "2023-06-01")


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/"])
async def test_the_base_url_may_come_with_the_version_or_without(upstream: Upstream, tail: str) -> None:
    async with provider_at(upstream, base_url=upstream.origin + "/anthropic" + tail) as provider:
        await collect(provider)
    assert upstream.requests[0].path == "/anthropic/v1/messages"


async def test_a_setting_that_a_model_refuses_is_left_out_from_then_on(upstream: Upstream) -> None:
    request = ChatRequest("new", (USER,), temperature=0.5, max_tokens=77, response_schema={"type": "object"})
    for name in ("temperature", "output_config"):
        error = {"type": "invalid_request_error", "message": f"`{name}` is not supported for this model."}
        upstream.reply_json({"type": "error", "error": error}, status=400)
    for _ in range(3):
        upstream.reply(wire("anthropic-text.sse"))
    async with provider_at(upstream) as provider:
        for model in ("new", "new", "old"):
            asked = ChatRequest(model, request.messages, 0.5, 77, (), {"type": "object"})
            assert (await collect(provider, asked)).failure is None
    names = ("temperature", "output_config")
    assert [[name in sent.json for name in names] for sent in upstream.requests] == [
        [True, True],
        [False, True],
        [False, False],
        [False, False],
        [True, True],
    ]
    assert upstream.requests[0].json["output_config"] == {
        "format": {"type": "json_schema", "schema": {"type": "object"}}
    }
    assert upstream.requests[0].json["max_tokens"] == 77


async def test_any_other_refusal_is_not_asked_again(upstream: Upstream) -> None:
    error = {"type": "invalid_request_error", "message": "prompt is too long, temperature"}
    upstream.reply_json({"error": error}, status=400)
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.status, len(upstream.requests)) == (400, 1)


# Models


async def test_all_pages_of_the_models_are_read() -> None:
    able = {"image_input": {"supported": True}}
    pages = {
        "": [{"id": "claude-a", "max_input_tokens": 200000, "capabilities": able}, {"id": None}, {"id": "claude-b"}],
        "claude-b": [{"id": "claude-c", "capabilities": {"image_input": {"supported": False}}}, {"id": "claude-b"}],
    }
    asked: list[dict[str, str]] = []

    async def page(request: web.Request) -> web.Response:
        asked.append(dict(request.query))
        after = request.query.get("after_id", "")
        return web.json_response({"data": pages[after], "has_more": not after, "last_id": "claude-b"})

    app = web.Application()
    app.router.add_get("/v1/models", page)
    async with TestServer(app) as server:
        provider = AnthropicProvider(EndpointConfig(id="c", kind="anthropic", base_url=str(server.make_url("/"))))
        listed = await provider.models()
        assert provider.state() == "ready"
        await provider.close()
    assert listed == [
        ModelListing("claude-a", 200000, tools=True, vision=True),
        ModelListing("claude-b", tools=True),
        ModelListing("claude-c", tools=True, vision=False),
    ]
    assert asked == [{"limit": "1000"}, {"limit": "1000", "after_id": "claude-b"}]


async def test_pages_without_an_end_are_given_up(upstream: Upstream) -> None:
    page = {"data": [{"id": "a"}], "has_more": True, "last_id": "a"}
    for _ in range(40):
        upstream.models_reply(json.dumps(page).encode())
    async with provider_at(upstream) as provider:
        assert [listing.id for listing in await provider.models()] == ["a"]
    assert len(upstream.model_requests) <= 20


async def test_configured_models_are_not_asked_for(upstream: Upstream) -> None:
    async with provider_at(upstream, models=("mine",)) as provider:
        assert await provider.models() == [ModelListing("mine")]
    assert upstream.model_requests == []


async def test_anything_else_is_not_a_list_of_models(upstream: Upstream) -> None:
    upstream.models_reply(b'{"hello": 1}').models_reply(b'{"error": {"message": "no such key"}}', status=401)
    async with provider_at(upstream) as provider:
        for words in ("did not list", "no such key"):
            with pytest.raises(ProviderError, match=words):
                await provider.models()


# Properties

texts = st.text(min_size=1, max_size=12)
blocks = st.one_of(
    st.builds(lambda text, signature: {"type": "thinking", "thinking": text, "signature": signature}, texts, texts),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, texts),
    st.builds(lambda text: {"type": "text", "text": "a" + text}, texts.filter(lambda text: "\0" not in text)),
    st.builds(
        lambda value: {"type": "tool_use", "name": "f", "input": {"v": value}}, st.one_of(texts, st.integers(0, 9))
    ),
)


def streamed(block: Any, index: int, size: int) -> list[Any]:
    """The events of a block, its content in pieces of so many characters."""
    if block["type"] == "redacted_thinking":
        return [{"type": "content_block_start", "index": index, "content_block": block}]
    empty = {"text": "", "thinking": "", "signature": "", "input": {}}
    opened = {key: empty.get(key, value) for key, value in block.items()}
    found: list[Any] = [{"type": "content_block_start", "index": index, "content_block": opened}, {"type": "ping"}]
    names = {"text": "text_delta", "thinking": "thinking_delta", "signature": "signature_delta"}
    parts = [(kind, name, block[name]) for name, kind in names.items() if name in block]
    if "input" in block:
        parts = [("input_json_delta", "partial_json", json.dumps(block["input"]))]
    for kind, name, whole in parts:
        step = len(whole) if name == "signature" else size
        for at in range(0, len(whole), step):
            delta = {"type": kind, name: whole[at : at + step]}
            found.append({"type": "content_block_delta", "index": index, "delta": delta})
    return [*found, {"type": "content_block_stop", "index": index}]


@settings(deadline=None)
@given(st.lists(blocks, min_size=1, max_size=6), st.integers(1, 8), st.integers(1, 40))
def test_any_answer_with_thinking_goes_back_as_it_came(content: list[Any], size: int, cut: int) -> None:
    content = [{**block, "id": f"t{n}"} if block["type"] == "tool_use" else block for n, block in enumerate(content)]
    content = [{"type": "thinking", "thinking": "first", "signature": "s"}, *content]
    parts = [event for index, block in enumerate(content) for event in streamed(block, index, size)]
    body = events(*parts, {"type": "message_stop"})
    played = read(reading(), [body[at : at + cut] for at in range(0, len(body), cut)])
    assert played.failure is None
    assert body_of(USER, played.message)["messages"][1]["content"] == content


values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.sampled_from(["", "x", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "x"]), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
odd_events = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "x"]
        )
    },
    optional={
        "index": values,
        "message": values,
        "usage": values,
        "content_block": values
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "thinking", "tool_use", "redacted_thinking", "x"])},
            optional={"text": values, "thinking": values, "signature": values, "id": values, "input": values},
        ),
        "delta": values
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "x"])},
            optional={"text": values, "thinking": values, "signature": values, "partial_json": values},
        ),
    },
)


@settings(deadline=None)
@given(st.lists(odd_events, max_size=6))
def test_no_event_of_any_shape_breaks_the_reading(odd: list[Any]) -> None:
    played = read(reading(), [events(*odd, {"type": "message_stop"})])
    for chunk in played.chunks:
        assert not isinstance(chunk, TextDelta | ReasoningDelta) or chunk.text
    orjson.dumps(played.states[0].data if played.states else {})
    assert isinstance(played, Played)
    assert all(isinstance(model, str) for model in played.models)
    assert played.failure is None or "empty answer" in played.failure
    assert AnsweredBy("") not in played.chunks
