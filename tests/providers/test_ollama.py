"""Ollama's own chat: every wire file in every cut, judged by the vendor's client; the context; requests; models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import ollama
import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given, settings
from hypothesis import strategies as st
from upstream import Cut, Hang, Upstream
from wire_files import ASK, NDJSON_HEADERS, Played, collect, play_file, read, wire, wire_names

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.events import ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import ChatMessage, ChatRequest, Finished, Image, ModelListing, ToolCall, ToolSpec
from odysseus.providers.ollama import OllamaProvider
from odysseus.providers.ollama_mapping import OllamaAnswer, fitting_context, to_body
from odysseus.providers.reading import RecordReading
from odysseus.providers.wire import NdjsonDecoder

USER = ChatMessage("user", "Hi")
BROKEN = ("ollama-error", "ollama-early-end", "ollama-loaded-only")
# Our own tolerance: the vendor's client refuses arguments that are a text and blank lines, keeps tags in the text, and
# does not merge what is told again.
OURS_ALONE = ("ollama-arguments", "ollama-call-told-again", "ollama-think-tags", "ollama-crlf")
GOOD = [name for name in wire_names("ollama-") if not name.startswith(BROKEN + OURS_ALONE)]
STOP = Finished("stop", "stop")


@asynccontextmanager
async def provider_at(upstream: Upstream, **settings: Any) -> AsyncIterator[OllamaProvider]:
    given = {"id": "box", "kind": "ollama", "base_url": upstream.origin, "context_length": 8192, **settings}
    provider = OllamaProvider(EndpointConfig(**given))
    try:
        yield provider
    finally:
        await provider.close()


def reading() -> RecordReading:
    return RecordReading(NdjsonDecoder(), OllamaAnswer(), Assembly())


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def body_of(*messages: ChatMessage, **more: Any) -> Any:
    """The JSON of a request as it goes over the wire."""
    return json.loads(orjson.dumps(to_body(ChatRequest("m", messages, **more), 4096)))


OSLO = ToolCall("call_k3f0a1b2", "get_weather", '{"city":"Oslo","days":2}')
BERGEN = ToolCall("call_p9x8c7d6", "get_weather", '{"city":"Bergen"}')
BEDS = ToolCall("call_z1y2x3w4", "list_beds", "{}")

FILES: list[tuple[str, str, str, list[ToolCall], Finished]] = [
    ("text", "Hello 🚲 橋, é!", "", [], STOP),
    ("text-in-last-record", "almost all", "", [], STOP),
    ("crlf-no-last-newline", "ab", "", [], STOP),
    ("cached-prompt", "Hi.", "", [], STOP),
    ("length", "Once upon", "", [], Finished("length", "length")),
    ("think-tags", "So p < q", "weigh it", [], STOP),
    (
        "thinking-tools",
        "I will look.",
        "Two places: ask for both.",
        [OSLO, BERGEN, BEDS],
        Finished("tool_calls", "stop"),
    ),
    ("call-told-again", "", "", [ToolCall("call_1", "send", '{"to":"x"}')], Finished("tool_calls", "stop")),
]


@pytest.mark.parametrize("row", FILES, ids=[row[0] for row in FILES])
async def test_a_wire_file_gives_its_answer_however_it_is_cut(upstream: Upstream, row: Any) -> None:
    name, text, reasoning, calls, end = row
    async with provider_at(upstream) as provider:
        played = await play_file(upstream, provider, f"ollama-{name}.ndjson")
    assert (played.text, played.reasoning, played.failure) == (text, reasoning, None)
    assert (played.calls, played.finished) == (calls, [end])


NAMELESS: list[tuple[str, list[tuple[str, str, bool]]]] = [
    ("call-in-last-record", [("ls", "{}", True)]),
    ("same-call-twice", [("draw_card", "{}", True), ("draw_card", "{}", True)]),
    ("arguments-as-text", [("ls", '{"path": "/"}', True), ("rm", '{"path": ', False), ("now", "{}", True)]),
]


@pytest.mark.parametrize(("name", "calls"), NAMELESS)
def test_calls_without_ids_get_ids_of_their_own(name: str, calls: Any) -> None:
    body = wire(f"ollama-{name}.ndjson")
    for pieces in ([body], [body[at : at + 1] for at in range(len(body))]):
        played = read(reading(), pieces)
        assert [(call.name, call.arguments, call.problem is None) for call in played.calls] == calls
        ids = [call.id for call in played.calls]
        assert (len(set(ids)), all(ids), played.failure) == (len(calls), True, None)
        assert played.finished[0].reason == "tool_calls"


BROKEN_FILES: list[tuple[str, str, int, str]] = [
    ("error-in-mid-stream", "half ", 502, "an error was encountered while running the model: unexpected EOF"),
    ("error-first", "", 502, "model runner has unexpectedly stopped"),
    ("error-of-cloud", "half ", 429, "you are over your limit"),
    ("early-end", "half ", 502, "The answer ended early: the endpoint closed the connection."),
    ("loaded-only", "", 502, "The model gave an empty answer. Try again or choose another model."),
]


@pytest.mark.parametrize(("name", "text", "status", "words"), BROKEN_FILES)
async def test_a_broken_answer_fails_keeps_its_text_and_gives_no_call(
    upstream: Upstream, name: str, text: str, status: int, words: str
) -> None:
    async with provider_at(upstream) as provider:
        played = await play_file(upstream, provider, f"ollama-{name}.ndjson")
    assert (played.text, played.status, played.retryable, played.failure) == (text, status, True, words)
    assert (played.calls, played.finished) == ([], [])


def test_every_wire_file_has_its_test() -> None:
    told = {row[0] for row in FILES} | {row[0] for row in NAMELESS} | {row[0] for row in BROKEN_FILES}
    assert {f"ollama-{name}.ndjson" for name in told} == set(wire_names("ollama-"))


async def judged(upstream: Upstream, name: str) -> list[ollama.ChatResponse]:
    """What the vendor's own client makes of the file."""
    upstream.reply(wire(name), headers=NDJSON_HEADERS)
    client = ollama.AsyncClient(host=upstream.origin)
    try:
        return [part async for part in await client.chat("m", [{"role": "user", "content": "Hi"}], stream=True)]
    finally:
        await client._client.aclose()


@pytest.mark.parametrize("name", GOOD)
async def test_the_vendors_client_reads_the_same_in_the_file(upstream: Upstream, name: str) -> None:
    parts = await judged(upstream, name)
    played = read(reading(), [wire(name)])
    assert played.text == "".join(part.message.content or "" for part in parts)
    assert played.reasoning == "".join(part.message.thinking or "" for part in parts)
    calls = [call.function for part in parts for call in part.message.tool_calls or ()]
    assert [(call.name, json.loads(call.arguments)) for call in played.calls] == [
        (call.name, call.arguments) for call in calls
    ]
    last = parts[-1]
    assert (last.done, played.finished[0].raw) == (True, last.done_reason)
    assert played.usage == [UsageReport(last.prompt_eval_count or 0, last.eval_count or 0)]
    assert played.models == [last.model]


@pytest.mark.parametrize("name", ["ollama-error-in-mid-stream.ndjson", "ollama-error-first.ndjson"])
async def test_the_vendors_client_fails_where_we_fail(upstream: Upstream, name: str) -> None:
    with pytest.raises(ollama.ResponseError):
        await judged(upstream, name)


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (401, False), (404, False), (429, True), (500, True)])
async def test_an_error_before_the_answer_has_its_status_and_is_asked_once(
    upstream: Upstream, status: int, retryable: bool
) -> None:
    upstream.reply_json({"error": 'model "m" not found, try pulling it first'}, status=status)
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert played.failure == f'HTTP {status}: model "m" not found, try pulling it first'
    assert (played.status, played.retryable, len(upstream.requests)) == (status, retryable, 1)


@pytest.mark.parametrize("reset", [True, False])
async def test_a_cut_connection_is_an_early_end(upstream: Upstream, reset: bool) -> None:
    upstream.reply(wire("ollama-text.ndjson")[:250], Cut(reset), headers=NDJSON_HEADERS)
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.text, played.status) == ("Hello 🚲", 502)
    assert "ended early" in str(played.failure)


def test_only_the_last_record_makes_an_answer_whole() -> None:
    body = wire("ollama-thinking-tools.ndjson")
    for at in range(len(body)):
        played = read(reading(), [body[:at]])
        assert (played.failure is None) == (at >= len(body) - 1), body[:at]
        assert played.failure is None or not (played.calls or played.finished)


async def test_leaving_the_answer_closes_the_upstream(upstream: Upstream) -> None:
    upstream.reply(wire("ollama-text.ndjson")[:250], Hang(), headers=NDJSON_HEADERS)
    async with provider_at(upstream) as provider, aclosing(provider.stream(ASK)) as batches:
        assert await anext(batches)
        await batches.aclose()
        await upstream.disconnected()


async def test_cancelling_the_reader_closes_the_upstream(upstream: Upstream) -> None:
    upstream.reply(Hang(), headers=NDJSON_HEADERS)
    async with provider_at(upstream) as provider:
        task = asyncio.create_task(collect(provider))
        await upstream.arrived()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await upstream.disconnected()


async def test_nothing_after_the_last_record_counts(upstream: Upstream) -> None:
    upstream.reply(wire("ollama-text.ndjson") + wire("ollama-error-first.ndjson"), Hang(), headers=NDJSON_HEADERS)
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.text, played.failure) == ("Hello 🚲 橋, é!", None)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
async def test_an_answer_in_one_record_is_read_whatever_its_type(upstream: Upstream, content_type: str) -> None:
    record = {"model": "m", "message": {"role": "assistant", "content": "out"}, "done": True, "done_reason": "stop"}
    upstream.reply(json.dumps(record).encode(), headers={"Content-Type": content_type})
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.text, played.finished, played.failure) == ("out", [STOP], None)


# The context


def shown(length: int | None, *capabilities: str) -> dict[str, Any]:
    info = {"general.architecture": "qwen3", **({"qwen3.context_length": length} if length else {})}
    return {"model_info": info, "capabilities": list(capabilities), "details": {}}


def long_request(tokens: int, **more: Any) -> ChatRequest:
    return ChatRequest("m", (ChatMessage("user", "word" * tokens),), **more)


@pytest.mark.parametrize(
    ("tokens", "max_tokens", "limit", "num_ctx"),
    [
        (10, None, 40960, 8192),
        (10, 100, 40960, 4096),
        (10, None, 2048, 2048),
        (10_000, None, 40960, 32768),
        (10_000, 1000, 40960, 16384),
        (30_000, None, 40960, 40960),
        (30_000, None, None, 65536),
    ],
)
async def test_the_context_fits_the_prompt_and_its_answer_and_is_never_over_the_models_own(
    upstream: Upstream, tokens: int, max_tokens: int | None, limit: int | None, num_ctx: int
) -> None:
    upstream.reply_json(shown(limit)).reply(wire("ollama-text.ndjson"), headers=NDJSON_HEADERS)
    async with provider_at(upstream, context_length=0) as provider:
        assert (await collect(provider, long_request(tokens, max_tokens=max_tokens))).failure is None
    show, chat = upstream.requests
    assert (show.path, show.json) == ("/api/show", {"model": "m"})
    assert chat.json["options"]["num_ctx"] == num_ctx
    assert (chat.json["truncate"], chat.json["shift"]) == (False, False)


async def test_a_model_is_described_once_and_its_context_never_shrinks(upstream: Upstream) -> None:
    upstream.reply_json(shown(40960))
    async with provider_at(upstream, context_length=0) as provider:
        for tokens in (10, 10_000, 10):
            upstream.reply(wire("ollama-text.ndjson"), headers=NDJSON_HEADERS)
            await collect(provider, long_request(tokens))
    assert [sent.path for sent in upstream.requests] == ["/api/show", *["/api/chat"] * 3]
    assert [sent.json["options"]["num_ctx"] for sent in upstream.requests[1:]] == [8192, 32768, 32768]


async def test_a_context_that_could_not_be_loaded_is_not_kept(upstream: Upstream) -> None:
    upstream.reply_json(shown(40960)).reply_json({"error": "model requires more system memory"}, status=500)
    upstream.reply(wire("ollama-text.ndjson"), headers=NDJSON_HEADERS)
    async with provider_at(upstream, context_length=0) as provider:
        assert (await collect(provider, long_request(10_000))).status == 500
        assert (await collect(provider, long_request(10))).failure is None
    assert [sent.json["options"]["num_ctx"] for sent in upstream.requests[1:]] == [32768, 8192]


async def test_a_configured_context_is_sent_as_it_is(upstream: Upstream) -> None:
    upstream.reply(wire("ollama-text.ndjson"), headers=NDJSON_HEADERS)
    async with provider_at(upstream, context_length=5000) as provider:
        await collect(provider, long_request(10_000))
    assert [sent.path for sent in upstream.requests] == ["/api/chat"]
    assert upstream.requests[0].json["options"] == {"num_ctx": 5000}


@pytest.mark.parametrize("status", [404, 500])
async def test_a_server_that_describes_no_model_is_asked_all_the_same(upstream: Upstream, status: int) -> None:
    upstream.reply_json({"error": "no"}, status=status).reply(wire("ollama-text.ndjson"), headers=NDJSON_HEADERS)
    async with provider_at(upstream, context_length=0) as provider:
        assert (await collect(provider)).text == "Hello 🚲 橋, é!"


REFUSAL = json.dumps(
    {
        "error": {
            "code": 400,
            "message": "request (8889 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 8889,
            "n_ctx": 8192,
        }
    }
)
SHIFTLESS = "the prompt is longer than the context length currently available to the model"


@pytest.mark.parametrize(("words", "num_ctx"), [(REFUSAL, 16384), (SHIFTLESS, 16384)])
async def test_a_prompt_that_was_estimated_too_small_is_sent_again_with_a_larger_context(
    upstream: Upstream, words: str, num_ctx: int
) -> None:
    upstream.reply_json(shown(40960)).reply_json({"error": words}, status=400)
    upstream.reply(wire("ollama-text.ndjson"), headers=NDJSON_HEADERS)
    async with provider_at(upstream, context_length=0) as provider:
        played = await collect(provider)
    assert (played.text, played.failure) == ("Hello 🚲 橋, é!", None)
    assert [sent.json["options"]["num_ctx"] for sent in upstream.requests[1:]] == [8192, num_ctx]


@pytest.mark.parametrize("words", [REFUSAL, SHIFTLESS])
@pytest.mark.parametrize("length", [0, 8192])
async def test_a_prompt_that_no_context_can_hold_is_told_in_plain_words(
    upstream: Upstream, words: str, length: int
) -> None:
    if not length:
        upstream.reply_json(shown(8192))
    upstream.reply_json({"error": words}, status=400)
    async with provider_at(upstream, context_length=length) as provider:
        played = await collect(provider)
    size = " of 8,889 tokens" if words == REFUSAL else ""
    assert str(played.failure).startswith(f"The prompt{size} does not fit the model's context of 8,192 tokens")
    assert (played.status, played.retryable) == (400, False)
    assert [sent.path for sent in upstream.requests].count("/api/chat") == 1


async def test_a_server_that_refuses_every_context_is_given_up(upstream: Upstream) -> None:
    upstream.reply_json({"error": "no"}, status=404)
    for _ in range(9):
        upstream.reply_json({"error": SHIFTLESS}, status=400).reply_json({"error": "no"}, status=404)
    async with provider_at(upstream, context_length=0) as provider:
        assert (await collect(provider)).status == 400
    assert [sent.path for sent in upstream.requests].count("/api/chat") == 3


def tokens_by_length(text: str) -> int:
    """One for four bytes of UTF-8. A prompt that has more and is refused is asked again with the server's own count."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


@settings(deadline=None)
@given(st.text(), st.none() | st.integers(1, 10_000), st.integers(0, 3))
def test_the_context_always_has_room_for_the_prompt_and_the_answer(text: str, limit: int | None, images: int) -> None:
    message = ChatMessage("user", text * 50, images=(Image("image/png", b"x"),) * images)
    size = fitting_context(ChatRequest("m", (message,), max_tokens=limit))
    assert size >= tokens_by_length(text * 50) + (limit or 4096) + 1000 * images
    assert size & (size - 1) == 0


# Requests


def test_the_request_has_its_options_and_the_shape_of_the_answer() -> None:
    schema = {"type": "object"}
    body = body_of(ChatMessage("system", "S"), USER, temperature=0.0, max_tokens=7, response_schema=schema)
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_ctx": 4096, "temperature": 0.0, "num_predict": 7},
        "format": schema,
    }


def test_tools_calls_results_and_images_are_in_the_vendors_shape() -> None:
    tools = (ToolSpec("ls", "List", {"properties": {"path": {"type": "string"}}}),)
    call = ToolCall("c1", "ls", '{"path": "/", "n": 12345678901234567890123}')
    body = body_of(
        ChatMessage("user", "Look", images=(Image("image/png", b"\x89PNG"),)),
        ChatMessage("assistant", "", tool_calls=(call, ToolCall("c2", "rm", "{", problem="no")), reasoning="hm"),
        ChatMessage("tool", "a.txt", tool_call_id="c1"),
        ChatMessage("assistant", "One file.", reasoning="not sent"),
        tools=tools,
    )
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    assert body["tools"] == [
        {"type": "function", "function": {"name": "ls", "description": "List", "parameters": parameters}}
    ]
    arguments = {"path": "/", "n": 12345678901234567890123}
    assert body["messages"] == [
        {"role": "user", "content": "Look", "images": ["iVBORw=="]},
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": arguments}},
                {"id": "c2", "type": "function", "function": {"name": "rm", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "a.txt", "tool_name": "ls", "tool_call_id": "c1"},
        {"role": "assistant", "content": "One file."},
    ]


def test_the_vendors_types_write_the_same_messages() -> None:
    message = ChatMessage("assistant", "", tool_calls=(ToolCall("c1", "ls", '{"path": "/"}'),), reasoning="hm")
    body = body_of(ChatMessage("user", "Look", images=(Image("image/png", b"\x89PNG"),)), message)
    ours = [dict(sent) for sent in body["messages"]]
    images = [[ollama.Image(value=data) for data in sent.get("images", ())] or None for sent in ours]
    pairs = zip(ours, images, strict=True)
    theirs = [ollama.Message(**{**sent, "images": data}).model_dump(exclude_none=True) for sent, data in pairs]
    ours[1]["tool_calls"] = [{"function": call["function"]} for call in ours[1]["tool_calls"]]
    assert theirs == ours


@pytest.mark.parametrize("tail", ["", "/", "/api", "/api/", "/v1", "/v1/"])
async def test_the_base_url_may_come_with_a_path_or_without(upstream: Upstream, tail: str) -> None:
    upstream.reply(wire("ollama-text.ndjson"), headers=NDJSON_HEADERS)
    async with provider_at(upstream, base_url=upstream.origin + tail, api_key="key-of-cloud") as provider:
        assert (await collect(provider)).failure is None
        assert provider.state() == "ready"
    assert upstream.requests[0].path == "/api/chat"
    assert upstream.requests[0].headers["Authorization"] == "Bearer key-of-cloud"


# Models


@asynccontextmanager
async def server_of(models: dict[str, Any], asked: list[str]) -> AsyncIterator[str]:
    """A server with these models and what it says of each; None where it fails."""

    async def tags(_: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": name, "model": name} for name in models] + [{}, None]})

    async def show(request: web.Request) -> web.Response:
        name = (await request.json())["model"]
        asked.append(name)
        if models[name] is None:
            return web.json_response({"error": "damaged"}, status=500)
        return web.json_response(models[name])

    app = web.Application()
    app.router.add_get("/api/tags", tags)
    app.router.add_post("/api/show", show)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


async def test_the_models_that_can_chat_are_listed_with_what_they_can_do() -> None:
    models = {
        "qwen3:4b": shown(40960, "completion", "tools", "thinking"),
        "gemma3:4b": shown(131072, "completion", "vision"),
        "nomic-embed-text": shown(2048, "embedding"),
        "old": shown(None),
        "damaged": None,
    }
    asked: list[str] = []
    async with server_of(models, asked) as base_url:
        provider = OllamaProvider(EndpointConfig(id="box", kind="ollama", base_url=base_url))
        listed = [await provider.models() for _ in range(2)]
        await provider.close()
    assert listed[0] == [
        ModelListing("qwen3:4b", 40960, tools=True, vision=False),
        ModelListing("gemma3:4b", 131072, tools=False, vision=True),
        ModelListing("old"),
        ModelListing("damaged"),
    ]
    assert listed[1] == listed[0]
    assert sorted(asked) == sorted([*models, "damaged"])


async def test_configured_models_are_not_asked_for(upstream: Upstream) -> None:
    async with provider_at(upstream, models=("mine",)) as provider:
        assert await provider.models() == [ModelListing("mine")]


async def test_a_server_without_a_list_is_a_failure(upstream: Upstream) -> None:
    async with provider_at(upstream) as provider:
        with pytest.raises(ProviderError) as raised:
            await provider.models()
    assert raised.value.status in (404, 405)


# Properties

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.sampled_from(["", "x", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "x"]), inner, max_size=2),
    max_leaves=4,
)
functions = st.fixed_dictionaries({}, optional={"name": values, "arguments": values, "index": values})
calls = st.fixed_dictionaries({}, optional={"id": values, "function": values | functions})
messages = st.fixed_dictionaries(
    {}, optional={"content": values, "thinking": values, "tool_calls": values | st.lists(calls, max_size=3)}
)
records = st.fixed_dictionaries(
    {"message": values | messages}, optional={"model": values, "done_reason": values, "eval_count": values}
)


@settings(deadline=None)
@given(st.lists(records, max_size=5))
def test_no_record_of_any_shape_breaks_the_reading(odd: list[Any]) -> None:
    played = read(reading(), [lines(*odd, {"message": {"content": "x"}, "done": True})])
    assert played.failure is None
    assert played.text.endswith("x")
    assert all(chunk.text for chunk in played.chunks if isinstance(chunk, TextDelta | ReasoningDelta))
    ids = [call.id for call in played.calls]
    assert len(set(ids)) == len(ids)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["content", "thinking"]), st.text("ab <>é🚲", min_size=1)), min_size=1),
    st.lists(st.dictionaries(st.text(max_size=3), st.integers(0, 9) | st.text(max_size=3), max_size=2), max_size=3),
    st.integers(1, 30),
)
def test_any_answer_is_the_same_in_any_cut(pieces: list[tuple[str, str]], given_calls: list[Any], cut: int) -> None:
    told = [{"message": {name: text}} for name, text in [("content", "a"), *pieces]]
    tools = [{"function": {"name": "f", "arguments": arguments}} for arguments in given_calls]
    body = lines(*told, {"message": {"tool_calls": tools}, "done": True, "done_reason": "stop"})
    played: Played = read(reading(), [body[at : at + cut] for at in range(0, len(body), cut)])
    assert played.text == "a" + "".join(text for name, text in pieces if name == "content")
    assert played.reasoning == "".join(text for name, text in pieces if name == "thinking")
    assert [json.loads(call.arguments) for call in played.calls] == given_calls
