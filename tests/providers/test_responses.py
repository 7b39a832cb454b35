"""OpenAI's Responses: every wire file in every cut, judged by the vendor's client; requests; failures; state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import openai
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseStreamEvent
from upstream import Cut, Hang, Upstream
from wire_files import ASK, collect, play_file, read, ways, wire, wire_names

from odysseus.config import EndpointConfig
from odysseus.events import ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import ChatMessage, ChatRequest, Finished, Image, ModelListing, ToolCall, ToolSpec
from odysseus.providers.reading import RecordReading
from odysseus.providers.responses import ResponsesProvider
from odysseus.providers.responses_answer import ResponsesAnswer
from odysseus.providers.responses_mapping import to_body
from odysseus.providers.wire import SseDecoder

USER = ChatMessage("user", "Hi")
BROKEN = ("responses-failed", "responses-error", "responses-early")
# Our own tolerance for servers that are near the wire.
OURS_ALONE = ("responses-server", "responses-all")
GOOD = [name for name in wire_names("responses-") if not name.startswith(BROKEN + OURS_ALONE)]
STOP = Finished("stop", "completed")
CALLS = Finished("tool_calls", "completed")


@asynccontextmanager
async def provider_at(upstream: Upstream, **settings: Any) -> AsyncIterator[ResponsesProvider]:
    given = {"id": "o", "kind": "openai-responses", "base_url": upstream.base_url, "api_key": "sk-test-key", **settings}
    provider = ResponsesProvider(EndpointConfig(**given))
    try:
        yield provider
    finally:
        await provider.close()


def reading(*secrets: str) -> RecordReading:
    return RecordReading(SseDecoder(), ResponsesAnswer(), Assembly(), secrets)


def events(*bodies: Any) -> bytes:
    return b"".join(f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode() for body in bodies)


def body_of(*messages: ChatMessage, **more: Any) -> Any:
    """The JSON of a request as it goes over the wire."""
    return json.loads(orjson.dumps(to_body(ChatRequest("m", messages, **more))))


OSLO = ToolCall("call_a1", "get_weather", '{"city": "Oslo", "days": 2}')
BERGEN = ToolCall("call_b2", "get_weather", '{"city": "Bergen"}')
BEDS = ToolCall("call_c3", "list_beds", "{}")
LS = [ToolCall("call_1", "ls", '{"path": "/"}'), ToolCall("call_2", "ls", '{"path": "/"}')]

FILES: list[tuple[str, str, str, list[ToolCall], Finished]] = [
    ("text", "Hello 🚲 橋, é!", "", [], STOP),
    (
        "reasoning-tools",
        "I will look.",
        "Two places: ask for both.\n\nThen the beds.",
        [OSLO, BERGEN, BEDS],
        CALLS,
    ),
    ("tool-only", "", "", LS[:1], CALLS),
    ("two-messages", "First I look.\n\nFour.", "", [], STOP),
    ("reasoning-not-encrypted", "Four.", "Not kept.", [], STOP),
    ("incomplete-length", "Once upon a", "", [], Finished("length", "max_output_tokens")),
    ("incomplete-filter", "I can", "", [], Finished("content_filter", "content_filter")),
    ("refusal", "I cannot do that.", "", [], STOP),
    ("server-shapes", "On it.", "Look first.", LS, CALLS),
    ("server-without-places", "On it.", "Look first.", LS, CALLS),
    ("all-at-the-end", "On it.", "Look first.", LS, CALLS),
]


@pytest.mark.parametrize("row", FILES, ids=[row[0] for row in FILES])
async def test_a_wire_file_gives_its_answer_however_it_is_cut(upstream: Upstream, row: Any) -> None:
    name, text, reasoning, calls, end = row
    async with provider_at(upstream) as provider:
        played = await play_file(upstream, provider, f"responses-{name}.sse")
    assert (played.text, played.reasoning, played.failure) == (text, reasoning, None)
    assert (played.calls, played.finished) == (calls, [end])
    for call in calls:
        assert "".join(piece.arguments for piece in played.fragments if piece.id == call.id) == call.arguments


async def test_arguments_cut_by_the_length_limit_are_marked_and_not_mended(upstream: Upstream) -> None:
    async with provider_at(upstream) as provider:
        played = await play_file(upstream, provider, "responses-incomplete-in-tool.sse")
    (call,) = played.calls
    assert call.arguments == '{"path": "a.txt", "text": "once upo'
    assert call.problem
    assert played.finished == [Finished("length", "max_output_tokens")]


BROKEN_FILES: list[tuple[str, str, int, str]] = [
    ("failed", "par", 429, "Slow down."),
    ("error-event", "par", 500, "The server had an error."),
    ("error-first", "", 400, "Your input exceeds the context window of this model."),
    ("early-end", "half ", 502, "The answer ended early: the endpoint closed the connection."),
    ("early-end-after-tool", "", 502, "The answer ended early: the endpoint closed the connection."),
]


@pytest.mark.parametrize(("name", "text", "status", "words"), BROKEN_FILES)
async def test_a_broken_answer_fails_keeps_its_text_and_gives_no_call(
    upstream: Upstream, name: str, text: str, status: int, words: str
) -> None:
    async with provider_at(upstream) as provider:
        played = await play_file(upstream, provider, f"responses-{name}.sse")
    assert (played.text, played.status, played.failure) == (text, status, words)
    assert played.retryable == (status != 400)
    assert (played.calls, played.states, played.finished) == ([], [], [])


def test_every_wire_file_has_its_test() -> None:
    told = {row[0] for row in FILES} | {row[0] for row in BROKEN_FILES} | {"incomplete-in-tool"}
    assert {f"responses-{name}.sse" for name in told} == set(wire_names("responses-"))


async def judged(upstream: Upstream, name: str) -> tuple[list[ResponseStreamEvent], Response]:
    """What the vendor's own client makes of the file: its events, and the response at its end."""
    upstream.reply(wire(name))
    async with openai.AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0) as client:
        stream = await client.responses.create(model="m", input="Hi", stream=True)
        async with stream:
            found = [event async for event in stream]
    last = found[-1]
    assert last.type in ("response.completed", "response.incomplete", "response.failed", "error")
    return found, getattr(last, "response", None)  # type: ignore[return-value]


@pytest.mark.parametrize("name", GOOD)
async def test_the_vendors_client_reads_the_same_in_the_file(upstream: Upstream, name: str) -> None:
    found, response = await judged(upstream, name)
    played = read(reading(), [wire(name)])
    said = [event.delta for event in found if event.type in ("response.output_text.delta", "response.refusal.delta")]
    assert played.text.replace("\n\n", "") == "".join(said)
    if response.status == "completed" and name != "responses-refusal.sse":
        assert response.output_text == "".join(said)
    thought = [event.delta for event in found if event.type == "response.reasoning_summary_text.delta"]
    assert played.reasoning.replace("\n\n", "") == "".join(thought)
    calls = [(item.call_id, item.name, item.arguments) for item in response.output if item.type == "function_call"]
    assert [(call.id, call.name, call.arguments) for call in played.calls if not call.problem] == calls
    assert played.models == [response.model]
    usage = response.usage
    assert usage
    report = UsageReport(
        usage.input_tokens,
        usage.output_tokens,
        usage.input_tokens_details.cached_tokens,
        usage.output_tokens_details.reasoning_tokens,
    )
    assert played.usage == [report]


@pytest.mark.parametrize(
    "name", ["responses-reasoning-tools.sse", "responses-tool-only.sse", "responses-two-messages.sse"]
)
async def test_an_answer_goes_back_item_by_item_as_the_vendor_sent_it(upstream: Upstream, name: str) -> None:
    _, response = await judged(upstream, name)
    async with provider_at(upstream) as provider:
        upstream.reply(wire(name))
        played = await collect(provider)
        results = [ChatMessage("tool", "fine", tool_call_id=call.id) for call in played.calls]
        await collect(provider, ChatRequest("m", (USER, played.message, *results)))
    first, second = upstream.requests[-2:]
    assert (first.json["store"], first.json["include"]) == (False, ["reasoning.encrypted_content"])
    sent = second.json["input"]
    expected: list[Any] = []
    for item in response.output:
        if item.type == "reasoning":
            expected.append(item.model_dump(exclude_none=True, exclude_unset=True))
        elif item.type == "function_call":
            expected.append(item.model_dump(include={"type", "call_id", "name", "arguments"}))
        elif item.type == "message":
            phase = {"phase": item.phase} if item.phase else {}
            text = "".join(part.text for part in item.content if part.type == "output_text")
            expected.append({"type": "message", "role": "assistant", "content": text, **phase})
    outputs = [{"type": "function_call_output", "call_id": call.id, "output": "fine"} for call in played.calls]
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    assert sent == [user, *expected, *outputs]


def test_the_reasoning_at_an_items_end_goes_back_not_that_at_its_begin() -> None:
    played = read(reading(), [wire("responses-reasoning-tools.sse")])
    kept = [part["sent"]["encrypted_content"] for part in played.states[0].data["openai-responses"] if "sent" in part]
    assert kept == ["gAAAAABo-end-rs_1", "gAAAAABo-end-rs_2"]


def test_reasoning_that_the_server_could_not_find_again_is_not_kept() -> None:
    played = read(reading(), [wire("responses-reasoning-not-encrypted.sse")])
    assert played.states == []
    assert [item["type"] for item in body_of(USER, played.message)["input"]] == ["message", "message"]


def test_reasoning_without_what_it_led_to_is_not_sent() -> None:
    sent = {"sent": {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []}}
    state = {"openai-responses": [sent, {"text": 1}, sent]}
    whole = body_of(USER, ChatMessage("assistant", "a", state=state))["input"]
    assert [item["type"] for item in whole] == ["message", "reasoning", "message"]
    cut = body_of(USER, ChatMessage("assistant", "", state={"openai-responses": [sent]}), USER)["input"]
    assert [item["type"] for item in cut] == ["message", "message"]


@pytest.mark.parametrize("name", ["responses-error-first.sse"])
async def test_the_vendors_client_fails_where_we_fail(upstream: Upstream, name: str) -> None:
    with pytest.raises(openai.APIError):
        await judged(upstream, name)


@pytest.mark.parametrize("name", ["responses-failed.sse", "responses-error-event.sse"])
async def test_the_vendors_client_reads_the_failure_in_the_file(upstream: Upstream, name: str) -> None:
    found, _ = await judged(upstream, name)
    assert found[-1].type in ("response.failed", "error")


CODES = [
    ("server_error", 500, True),
    ("rate_limit_exceeded", 429, True),
    ("insufficient_quota", 402, False),
    ("vector_store_timeout", 504, True),
    ("invalid_prompt", 400, False),
    ("image_too_large", 400, False),
    ("context_length_exceeded", 400, False),
    ("some_new_code", 502, True),
    (None, 502, True),
]


@pytest.mark.parametrize(("code", "status", "retryable"), CODES)
@pytest.mark.parametrize("shape", ["flat", "inner", "failed"])
def test_an_error_in_mid_stream_has_the_status_of_its_code(
    code: str | None, status: int, retryable: bool, shape: str
) -> None:
    error = {"code": code, "message": "No more, key sk-test-key"}
    shapes: dict[str, Any] = {
        "flat": {"type": "error", **error},
        "inner": {"type": "error", "error": error},
        "failed": {"type": "response.failed", "response": {"status": "failed", "error": error}},
    }
    text = {"type": "response.output_text.delta", "delta": "par"}
    ghost = {"type": "response.output_text.delta", "delta": "GHOST"}
    for pieces in ways(events(text, shapes[shape], ghost, {"type": "response.completed", "response": {}})):
        played = read(reading("sk-test-key"), pieces)
        assert (played.text, played.status, played.retryable) == ("par", status, retryable)
        assert played.failure == "No more, key (key)"


@pytest.mark.parametrize(("status", "retryable"), [(401, False), (404, False), (429, True), (500, True)])
async def test_an_error_before_the_answer_has_its_status_and_is_asked_once(
    upstream: Upstream, status: int, retryable: bool
) -> None:
    upstream.reply_json({"error": {"message": "Not now.", "code": None}}, status=status)
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.failure, played.status, played.retryable) == (f"HTTP {status}: Not now.", status, retryable)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("reset", [True, False])
async def test_a_cut_connection_is_an_early_end(upstream: Upstream, reset: bool) -> None:
    upstream.reply(wire("responses-text.sse").partition(b"response.output_text.done")[0], Cut(reset))
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.text, played.status, played.calls) == ("Hello 🚲 橋, é!", 502, [])
    assert "ended early" in str(played.failure)


def test_only_the_last_event_makes_an_answer_whole() -> None:
    body = wire("responses-tool-only.sse")
    for at in range(0, len(body), 3):
        played = read(reading(), [body[:at]])
        assert (played.failure is None) == (at >= len(body) - 2), body[:at]
        assert played.failure is None or not (played.calls or played.finished or played.states)


async def test_leaving_the_answer_closes_the_upstream(upstream: Upstream) -> None:
    upstream.reply(wire("responses-early-end.sse"), Hang())
    async with provider_at(upstream) as provider, aclosing(provider.stream(ASK)) as batches:
        assert await anext(batches)
        await batches.aclose()
        await upstream.disconnected()


async def test_cancelling_the_reader_closes_the_upstream(upstream: Upstream) -> None:
    upstream.reply(wire("responses-early-end.sse"), Hang())
    async with provider_at(upstream) as provider:
        task = asyncio.create_task(collect(provider))
        await upstream.arrived()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await upstream.disconnected()


async def test_nothing_after_the_last_event_counts_and_the_end_is_not_waited_for(upstream: Upstream) -> None:
    upstream.reply(wire("responses-text.sse") + wire("responses-error-first.sse"), Hang())
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    assert (played.text, played.failure) == ("Hello 🚲 橋, é!", None)


async def test_an_answer_in_one_document_is_read_too(upstream: Upstream) -> None:
    *_, last = wire("responses-reasoning-tools.sse").decode().split("data: ")
    upstream.reply_json(json.loads(last)["response"])
    async with provider_at(upstream) as provider:
        played = await collect(provider)
    streamed = read(reading(), [wire("responses-reasoning-tools.sse")])
    assert (played.text, played.reasoning) == (streamed.text, streamed.reasoning)
    assert (played.calls, played.states, played.usage) == (streamed.calls, streamed.states, streamed.usage)
    assert (played.finished, played.failure) == (streamed.finished, None)


@pytest.mark.parametrize(
    ("document", "status", "words"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "gone"}}, 500, "gone"),
        ({"error": {"message": "quota", "code": 402}}, 402, "quota"),
        ({"status": "cancelled"}, 502, "cancelled"),
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


def test_the_request_is_not_stored_and_has_its_settings() -> None:
    schema = {"type": "object"}
    system = (ChatMessage("system", "Be kind."), ChatMessage("system", "Be brief."))
    body = body_of(*system, USER, temperature=0.5, max_tokens=7, response_schema=schema)
    assert body == {
        "model": "m",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"},
        "instructions": "Be kind.\n\nBe brief.",
        "temperature": 0.5,
        "max_output_tokens": 16,
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": False}},
    }
    assert not {"temperature", "max_output_tokens", "text", "tools", "instructions"} & set(body_of(USER))


def test_tools_calls_results_and_images_are_in_the_vendors_shape() -> None:
    image = Image("image/png", b"\x89PNG")
    shown = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"}
    broken = ToolCall("c2", "rm", '{"path": ', problem="no")
    body = body_of(
        ChatMessage("user", "Look", images=(image,)),
        ChatMessage("assistant", "I look.", tool_calls=(ToolCall("c1", "ls", '{"b":  1, "b": 2}'), broken)),
        ChatMessage("tool", "a.txt", tool_call_id="c1"),
        ChatMessage("tool", "seen", tool_call_id="c2", images=(image,)),
        ChatMessage("user", " "),
        tools=(ToolSpec("ls", "List", {"properties": {"path": {"type": "string"}}}),),
    )
    assert body["tools"] == [
        {
            "type": "function",
            "name": "ls",
            "description": "List",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            "strict": False,
        }
    ]
    assert body["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}, shown]},
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"b":  1, "b": 2}'},
        {"type": "function_call", "call_id": "c2", "name": "rm", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "seen"}, shown],
        },
    ]


@pytest.mark.parametrize("state", [None, {}, {"anthropic": [{"sent": {"type": "thinking"}}]}])
def test_the_state_of_another_vendor_is_not_sent(state: Any) -> None:
    message = ChatMessage("assistant", "a", reasoning="secret", state=state)
    assert body_of(USER, message)["input"][1:] == [{"type": "message", "role": "assistant", "content": "a"}]


REFUSALS: list[tuple[str, Any]] = [
    ("temperature", {"message": "Unsupported parameter: 'temperature'.", "param": "temperature"}),
    ("reasoning", {"message": "Your organization must be verified.", "param": "reasoning.summary"}),
    ("include", {"message": "Encrypted content is not supported with this model.", "param": "include"}),
    ("include", {"message": "Encrypted content is not supported with this model."}),
    ("text", {"message": "Unknown", "param": "text.format.schema"}),
    ("temperature", {"message": "temperature is not known here"}),
    ("reasoning", {"message": "unexpected field 'reasoning'"}),
]


@pytest.mark.parametrize(("name", "error"), REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
async def test_a_setting_that_a_model_refuses_is_left_out_from_then_on(
    upstream: Upstream, name: str, error: Any, status: int
) -> None:
    upstream.reply_json({"error": error}, status=status)
    async with provider_at(upstream) as provider:
        for model in ("new", "new", "old"):
            upstream.reply(wire("responses-text.sse"))
            request = ChatRequest(model, (USER,), temperature=0.5, response_schema={"type": "object"})
            assert (await collect(provider, request)).failure is None
    assert [name in sent.json for sent in upstream.requests] == [True, False, False, True]
    dropped = [set(upstream.requests[0].json) - set(sent.json) for sent in upstream.requests]
    assert dropped == [set(), {name}, {name}, set()]


@pytest.mark.parametrize(
    "error",
    [
        {"message": "temperature of the item is wrong", "param": "input[3]"},
        {"message": "The model does not exist."},
        {"message": "Unsupported", "param": "tools[0].name"},
    ],
)
async def test_any_other_refusal_is_not_asked_again(upstream: Upstream, error: Any) -> None:
    upstream.reply_json({"error": error}, status=400)
    async with provider_at(upstream) as provider:
        assert (await collect(provider, ChatRequest("m", (USER,), temperature=1.0))).status == 400
    assert len(upstream.requests) == 1


async def test_a_setting_that_is_refused_even_when_it_is_left_out_ends_the_asking(upstream: Upstream) -> None:
    for _ in range(9):
        upstream.reply_json({"error": {"message": "no temperature, no reasoning.summary, no include"}}, status=400)
    async with provider_at(upstream) as provider:
        assert (await collect(provider, ChatRequest("m", (USER,), temperature=1.0))).status == 400
    assert len(upstream.requests) == 2


async def test_the_request_goes_to_responses_with_the_key_as_bearer(upstream: Upstream) -> None:
    upstream.reply(wire("responses-text.sse"))
    async with provider_at(upstream) as provider:
        await collect(provider)
        assert provider.state() == "ready"
    assert upstream.requests[0].path == "/v1/responses"
    assert upstream.requests[0].headers["Authorization"] == "Bearer sk-test-key"


async def test_models_are_asked_for_unless_they_are_configured(upstream: Upstream) -> None:
    upstream.models = ("one", "two")
    async with provider_at(upstream) as provider:
        assert [listing.id for listing in await provider.models()] == ["one", "two"]
    async with provider_at(upstream, models=("mine",)) as provider:
        assert await provider.models() == [ModelListing("mine")]
    assert len(upstream.model_requests) == 1


# Properties

texts = st.text(min_size=1, max_size=12).filter(lambda text: "\0" not in text).map(lambda text: "a" + text)
items = st.one_of(
    st.builds(
        lambda text, content: {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": content,
        },
        texts,
        texts,
    ),
    st.builds(lambda text: {"type": "message", "content": [{"type": "output_text", "text": text}]}, texts),
    st.builds(
        lambda value: {"type": "function_call", "name": "f", "arguments": json.dumps({"v": value})},
        st.one_of(texts, st.integers(0, 9)),
    ),
)


def streamed(item: Any, place: int, size: int) -> list[Any]:
    """The events of an item, its content in pieces of so many characters."""
    named = {"output_index": place, "item_id": item["id"]}
    if item["type"] == "reasoning":
        kind, whole = "response.reasoning_summary_text.delta", item["summary"][0]["text"]
    elif item["type"] == "message":
        kind, whole = "response.output_text.delta", item["content"][0]["text"]
    else:
        kind, whole = "response.function_call_arguments.delta", item["arguments"]
    opened = {**item, "content": [], "summary": [], "arguments": "", "encrypted_content": "begin"}
    pieces = [{"type": kind, **named, "delta": whole[at : at + size]} for at in range(0, len(whole), size)]
    return [
        {"type": "response.output_item.added", "output_index": place, "item": opened},
        *pieces,
        {"type": "response.output_item.done", "output_index": place, "item": item},
    ]


@settings(deadline=None)
@given(st.lists(items, min_size=1, max_size=6), st.integers(1, 8), st.integers(1, 60), st.booleans())
def test_any_answer_with_reasoning_goes_back_as_it_came(output: list[Any], size: int, cut: int, told: bool) -> None:
    output = [{**item, "id": f"i{place}", "call_id": f"c{place}"} for place, item in enumerate(output)]
    output.append({"type": "message", "id": "last", "content": [{"type": "output_text", "text": "end"}]})
    parts = [event for place, item in enumerate(output) if told for event in streamed(item, place, size)]
    body = events(*parts, {"type": "response.completed", "response": {"output": output}})
    played = read(reading(), [body[at : at + cut] for at in range(0, len(body), cut)])
    assert played.failure is None
    sent = body_of(USER, played.message)["input"][1:]
    assert [item for item in sent if item["type"] == "reasoning"] == [i for i in output if i["type"] == "reasoning"]
    assert [item["type"] for item in sent] == [item["type"] for item in output] or not played.states
    said = [item["content"][0]["text"] for item in output if item["type"] == "message"]
    assert played.text == "\n\n".join(said)
    assert [call.arguments for call in played.calls] == [i["arguments"] for i in output if i["type"] == "function_call"]


values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.sampled_from(["", "x", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["text", "x"]), inner, max_size=2),
    max_leaves=4,
)
odd_items = values | st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "reasoning", "function_call", "x"])},
    optional=dict.fromkeys(("id", "call_id", "name", "arguments", "content", "summary", "phase", "status"), values),
)
odd_events = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                "response.created",
                "response.output_item.added",
                "response.output_item.done",
                "response.output_text.delta",
                "response.refusal.delta",
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                "response.reasoning_summary_text.delta",
                "response.reasoning_text.delta",
                "response.x",
                "x",
            ]
        )
    },
    optional={
        "output_index": values,
        "item_id": values,
        "summary_index": values,
        "delta": values,
        "arguments": values,
        "item": odd_items,
        "response": values,
    },
)


@settings(deadline=None)
@given(st.lists(odd_events, max_size=6), values | st.lists(odd_items, max_size=3))
def test_no_event_of_any_shape_breaks_the_reading(odd: list[Any], output: Any) -> None:
    body = events(*odd, {"type": "response.completed", "response": {"output": output, "usage": output}})
    played = read(reading(), [body])
    assert played.failure is None or "empty answer" in played.failure
    assert all(chunk.text for chunk in played.chunks if isinstance(chunk, TextDelta | ReasoningDelta))
    orjson.dumps(played.states[0].data if played.states else {})
    orjson.dumps(to_body(ChatRequest("m", (USER, played.message))))
