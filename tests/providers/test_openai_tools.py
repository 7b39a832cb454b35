"""Tools on the OpenAI wire: every wire file in every cut, judged by the vendor's client; requests; refusals."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import openai
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from upstream import DONE, Upstream, answer, finish
from wire_files import collect, play_file, wire, wire_names

from odysseus.config import EndpointConfig
from odysseus.errors import ConfigError, ProviderError
from odysseus.events import UsageReport
from odysseus.providers.base import ChatMessage, ChatRequest, Image, ProviderState, ToolCall, ToolSpec
from odysseus.providers.openai import OpenAIProvider, OpenAIReading
from odysseus.providers.openai_request import NO_PICTURES, SOURCE, to_body
from odysseus.providers.profiles import PROFILES

NAMES = ("f", "g", "get_weather", "get_time", "draw_card", "send", "list_beds", "bash", "read_file", "get_date")
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOLS = tuple(ToolSpec(name, f"Does {name}.", SCHEMA) for name in NAMES)
USER = ChatMessage("user", "Hi")
ASK = ChatRequest("fake-model", (USER,), tools=TOOLS)
PROFILE = {profile.name: profile for profile in PROFILES}
OK = ('{"a":1}', '{"b":2}')
QUOTED = (
    'Write it like this:\n```\n<tool_call>{"name":"bash","arguments":{"command":"rm -r x"}}</tool_call>\n```\n'
    'Or `<tool_call>{"name":"bash","arguments":{}}</tool_call>` in a line. Done.'
)
CITY, ZONE = '{"city":"Oslo"}', '{"tz":"UTC"}'


@dataclass(frozen=True)
class Expected:
    """What a wire file says. A call is its id, None for one that is made, its name and its arguments."""

    calls: list[tuple[str | None, str, str]] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    reason: str = "tool_calls"


GOOD: dict[str, Expected] = {
    "text": Expected([], "Grüße aus Köln 🚲.", reason="stop"),
    "tools": Expected([("call_Ab12", "get_weather", CITY), ("call_Cd34", "get_time", ZONE)]),
    "tools-interleaved": Expected([("x0", "f", OK[0]), ("x1", "g", OK[1])]),
    "tools-same-twice": Expected([("r1", "draw_card", "{}"), ("r2", "draw_card", "{}")]),
    "tools-index-from-one": Expected([("tooluse_9", "f", OK[0]), ("tooluse_10", "g", OK[1])], "I look it up."),
    "tools-trailing-empty": Expected([("s1", "send", '{"to":"x"} ')]),
    "tools-blank-arguments": Expected([("z1", "list_beds", "{}")]),
    "tools-finish-stop": Expected([("k1", "f", OK[0])]),
    "tools-odd-ids": Expected([("functions.f:0/" + "x" * 120 + "|é", "f", OK[0])]),
    "dashscope-empty-ids": Expected([("call_9", "bash", '{"command": "ls"}')]),
    "groq-whole-calls": Expected([("9w1p", "f", OK[0]), ("z7qe", "g", OK[1])]),
    "deepseek-thinking-tools": Expected([("call_00_a", "get_date", "{}")], reasoning="I need the date."),
    "openrouter-details": Expected([("toolu_1", "f", OK[0])], reasoning="Let me look."),
    "think-tags": Expected([], "So p < q holds", "weigh it", "stop"),
    "harmony": Expected([], "It is 4 <.", "Weigh it.", "stop"),
    "think-then-tools": Expected([("h1", "f", OK[0])], reasoning="I need f."),
    "legacy-function-call": Expected([(None, "f", OK[0])]),
    "null-fields": Expected([("n1", "f", OK[0])]),
    "text-call-quoted": Expected([], QUOTED, reason="stop"),
}
# What no vendor's client puts together rightly: our own tolerance for servers that are near the wire.
NEAR: dict[str, Expected] = {
    "gemini-no-index": Expected([("a1", "get_weather", CITY), ("b2", "get_time", ZONE)]),
    "near-no-index-pieces": Expected([("a1", "get_weather", CITY), ("b2", "get_time", ZONE)]),
    "near-no-index-no-id": Expected([(None, "f", OK[0]), (None, "f", OK[0]), (None, "g", OK[1])]),
    "ollama-index-zero": Expected([("call_a1", "f", OK[0]), ("call_a2", "f", '{"a":2}'), ("call_a3", "g", OK[1])]),
    "near-name-repeated": Expected([("t1", "read_file", '{"p":"x"}')]),
    "near-name-in-pieces": Expected([("t2", "read_file", '{"p":"y"}')]),
    "vllm-new-id-each-piece": Expected([("chatcmpl-tool-1", "f", OK[0])]),
    "near-object-arguments": Expected([("o1", "f", '{"a":1,"ü":[null,true]}')]),
    "near-duplicate-ids": Expected([("same", "f", OK[0]), ("same-2", "g", OK[1]), ("same-3", "f", '{"a":3}')]),
    "near-late-id": Expected([("late", "f", OK[0])]),
    "near-halves-of-a-pair": Expected([("p1", "f", '{"a":"🚲"}')]),
    "text-call-tagged": Expected([(None, "read_file", '{"path": "t.txt"}'), (None, "f", OK[0])], "I look it up.\n"),
}
OTHERS = ("broken-early-end-in-tool", "broken-error-in-tool", "broken-tools-without-any", "tools-bad-arguments")
CUT = ("length-in-tool", "length-before-arguments")


def test_every_wire_file_is_played() -> None:
    played = {f"openai-{name}.sse" for name in (*GOOD, *NEAR, *OTHERS, *CUT)}
    assert {name for name in wire_names("openai-") if not name.startswith("openai-responses")} == played


@asynccontextmanager
async def provider_at(upstream: Upstream, **more: Any) -> AsyncIterator[OpenAIProvider]:
    provider = OpenAIProvider(EndpointConfig(id="lan", kind="openai", base_url=upstream.base_url, **more))
    try:
        yield provider
    finally:
        await provider.close()


@asynccontextmanager
async def asking(upstream: Upstream, **more: Any) -> AsyncIterator[Asking]:
    async with provider_at(upstream, **more) as provider:
        yield Asking(provider)


@dataclass(frozen=True)
class Asking:
    """The provider, asked with all tools whatever the request."""

    provider: OpenAIProvider

    def stream(self, request: ChatRequest) -> Any:
        return self.provider.stream(ASK)

    async def models(self) -> Any:
        return await self.provider.models()

    async def count(self, model: str, texts: Any) -> Any:
        return await self.provider.count(model, texts)

    def state(self) -> str:
        return self.provider.state()

    async def preload(self) -> None: ...

    async def close(self) -> None: ...


async def by_vendor(upstream: Upstream, name: str) -> Expected:
    """What the vendor's own client reads."""
    upstream.reply(wire(f"openai-{name}.sse"))
    text, reasoning, reason = "", "", ""
    calls: dict[int, list[str]] = {}
    async with openai.AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], stream=True
        )
        async for part in stream:
            for choice in part.choices:
                more = choice.delta.model_extra or {}
                text += choice.delta.content or ""
                reasoning += more.get("reasoning_content") or more.get("reasoning") or ""
                reason = choice.finish_reason or reason
                for call in choice.delta.tool_calls or ():
                    slot = calls.setdefault(call.index, ["", "", ""])
                    pieces = (call.id, call.function and call.function.name, call.function and call.function.arguments)
                    for at, piece in enumerate(pieces):
                        slot[at] += piece or ""
                if choice.delta.function_call:
                    slot = calls.setdefault(0, ["", "", ""])
                    slot[1] += choice.delta.function_call.name or ""
                    slot[2] += choice.delta.function_call.arguments or ""
    return Expected([(slot[0] or None, slot[1], slot[2]) for slot in calls.values()], text, reasoning, reason)


@pytest.mark.parametrize("name", GOOD)
async def test_the_vendors_client_reads_the_good_files_as_we_do(upstream: Upstream, name: str) -> None:
    theirs, ours = await by_vendor(upstream, name), GOOD[name]
    assert theirs.calls == [
        (id, tool, "" if name == "tools-blank-arguments" else text) for id, tool, text in ours.calls
    ]
    if name not in ("think-tags", "harmony", "think-then-tools"):
        assert (theirs.text, theirs.reasoning) == (ours.text, ours.reasoning)
    assert (theirs.reason == ours.reason) == (name not in ("tools-finish-stop", "legacy-function-call"))


@pytest.mark.parametrize("name", [*GOOD, *NEAR])
async def test_every_file_gives_its_calls_in_every_cut(upstream: Upstream, name: str) -> None:
    expected = GOOD.get(name) or NEAR[name]
    made = [call for call in expected.calls if call[0] is None]
    async with asking(upstream) as asked:
        if made:  # made ids differ from play to play
            upstream.reply(wire(f"openai-{name}.sse"))
            played = await collect(asked, ASK)
        else:
            played = await play_file(upstream, asked, f"openai-{name}.sse")
    assert played.failure is None
    assert (played.text, played.reasoning) == (expected.text, expected.reasoning)
    assert [(call.name, call.arguments) for call in played.calls] == [call[1:] for call in expected.calls]
    assert all(call.id == wanted[0] for call, wanted in zip(played.calls, expected.calls, strict=True) if wanted[0])
    assert len({call.id for call in played.calls}) == len(played.calls)
    assert all(call.problem is None for call in played.calls)
    assert [end.reason for end in played.finished] == [expected.reason]
    for number, call in enumerate(played.calls):
        own = [fragment for fragment in played.fragments if fragment.index == number]
        assert {(fragment.id, fragment.name) for fragment in own} <= {(call.id, call.name)}
        assert "".join(fragment.arguments for fragment in own) in (call.arguments, "")


async def test_usage_is_found_where_each_vendor_puts_it(upstream: Upstream) -> None:
    wanted = {
        "text": UsageReport(21, 7, 16, 0),
        "groq-whole-calls": UsageReport(40, 9),
        "deepseek-thinking-tools": UsageReport(60, 20, 48, 11),
        "openrouter-details": UsageReport(11, 22, cost=0.0025),
    }
    async with asking(upstream) as asked:
        for name, usage in wanted.items():
            upstream.reply(wire(f"openai-{name}.sse"))
            assert (await collect(asked, ASK)).usage == [usage], name
        counts = {"prompt_tokens": 3, "completion_tokens": 4}
        choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop", "usage": counts}
        upstream.reply(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n", DONE)
        assert (await collect(asked, ASK)).usage == [UsageReport(3, 4)]


async def test_bad_arguments_are_told_and_kept(upstream: Upstream) -> None:
    async with asking(upstream) as asked:
        played = await play_file(upstream, asked, "openai-tools-bad-arguments.sse")
    problems = ["not valid JSON at character 20", "not a list", "not a text", "not a number", None]
    for call, words in zip(played.calls, problems, strict=True):
        assert (call.problem is None) == (words is None)
        assert (words or "") in (call.problem or "")
    assert played.calls[2].arguments == '"{\\"q\\":1}"'


async def test_of_an_answer_that_broke_off_no_call_is_given(upstream: Upstream) -> None:
    async with asking(upstream) as asked:
        early = await play_file(upstream, asked, "openai-broken-early-end-in-tool.sse")
        error = await play_file(upstream, asked, "openai-broken-error-in-tool.sse")
        empty = await play_file(upstream, asked, "openai-broken-tools-without-any.sse")
    assert (early.calls, early.finished, "ended early" in str(early.failure)) == ([], [], True)
    assert (error.calls, error.text, error.failure, error.status) == ([], "I try.", "upstream overloaded", 529)
    assert (empty.calls, "empty answer" in str(empty.failure)) == ([], True)


async def test_a_call_cut_by_the_length_limit_is_not_fit_to_run(upstream: Upstream) -> None:
    async with asking(upstream) as asked:
        cut = await play_file(upstream, asked, "openai-length-in-tool.sse")
        blank = await play_file(upstream, asked, "openai-length-before-arguments.sse")
    assert [call.problem is None for call in cut.calls] == [True, False]
    assert [end.reason for end in cut.finished] == ["length"]
    assert "length limit" in str(blank.calls[0].problem)


def test_a_whole_document_gives_its_calls() -> None:
    calls = [{"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "f", "arguments": ""}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls, "reasoning": "hm"}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "model": "m"}
    reading = OpenAIReading()
    chunks = [*reading.take_whole(json.dumps(body).encode()), *reading.end()]
    found = [chunk for chunk in chunks if isinstance(chunk, ToolCall)]
    assert [(call.name, call.arguments) for call in found] == [("f", "{}")] * 2
    assert reading.failure is None


odd = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "{", "}", "\ud83d", "\0"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["index", "id", "function", "name", "arguments", "extra_content"]), inner)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(odd, max_size=4))
def test_no_shape_of_calls_breaks_the_reading(shapes: list[Any]) -> None:
    deltas = [{"tool_calls": shape, "reasoning_details": shape, "content": "x"} for shape in shapes]
    body = b"".join(b"data: %b\n\n" % json.dumps({"choices": [{"delta": delta}]}).encode() for delta in deltas)
    reading = OpenAIReading(tools=NAMES)
    chunks = [*reading.take(reading.decoder.feed(body + finish() + DONE)), *reading.end()]
    assert reading.failure is None or not shapes
    orjson.dumps([(call.arguments, call.state) for call in chunks if isinstance(call, ToolCall)])


# What is kept for the vendor goes back to it, and to nobody else.


async def follow_up(upstream: Upstream, name: str, again: ChatRequest, **more: Any) -> Any:
    """The assistant's message as it is sent back after the file was the answer."""
    upstream.reply(wire(f"openai-{name}.sse"))
    async with provider_at(upstream, **more) as provider:
        played = await collect(provider, ASK)
        state = next((chunk.data for chunk in played.chunks if isinstance(chunk, ProviderState)), None)
        stored = json.loads(json.dumps([state, [call.state for call in played.calls]]))
        calls = tuple(
            ToolCall(call.id, call.name, call.arguments, state=kept)
            for call, kept in zip(played.calls, stored[1], strict=True)
        )
        message = ChatMessage("assistant", "", tool_calls=calls, reasoning=played.reasoning, state=stored[0])
        result = ChatMessage("tool", "1", tool_call_id=calls[0].id)
        await collect(provider, ChatRequest(again.model, (USER, message, result), tools=TOOLS))
    return upstream.requests[-1].json["messages"][1]


async def test_signatures_of_calls_and_messages_go_back_where_they_came_from(upstream: Upstream) -> None:
    sent = await follow_up(upstream, "gemini-no-index", ASK)
    assert sent["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "QUJD"}}
    assert "extra_content" not in sent["tool_calls"][1]
    assert sent["extra_content"] == {"google": {"thought_signature": "REVG"}}
    assert "source" not in json.dumps(sent)


async def test_signatures_are_not_shown_to_another_model(upstream: Upstream) -> None:
    sent = await follow_up(upstream, "gemini-no-index", ChatRequest("another", (USER,)))
    assert "extra_content" not in json.dumps(sent)


async def test_reasoning_details_go_back_joined(upstream: Upstream) -> None:
    sent = await follow_up(upstream, "openrouter-details", ASK)
    assert sent["reasoning_details"] == [
        {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, "text": "Let me look.",
         "signature": "c2ln"}
    ]  # fmt: skip
    assert "reasoning_content" not in sent


async def test_reasoning_goes_back_to_the_vendors_that_want_it(upstream: Upstream) -> None:
    sent = await follow_up(upstream, "deepseek-thinking-tools", ASK, profile="deepseek")
    assert sent["reasoning_content"] == "I need the date."
    other = await follow_up(upstream, "deepseek-thinking-tools", ASK)
    assert "reasoning_content" not in other
    plain = to_body(ChatRequest("m", (USER, ChatMessage("assistant", "x"), USER)), PROFILE["deepseek"])
    assert [message.get("reasoning_content") for message in plain["messages"]] == [None, "", None]


# Requests.


def test_a_request_offers_tools_and_replays_calls() -> None:
    calls = (ToolCall("c1", "f", '{"a":1}'), ToolCall("c2", "now", '{"a', problem="cut"))
    messages = (
        USER,
        ChatMessage("assistant", "", tool_calls=calls),
        ChatMessage("tool", "one", tool_call_id="c1"),
        ChatMessage("tool", "not run", tool_call_id="c2"),
    )
    body = to_body(ChatRequest("m", messages, tools=(ToolSpec("f", "Does f.", SCHEMA), ToolSpec("now", "Time.", {}))))
    assert [tool["function"]["parameters"] for tool in body["tools"]] == [SCHEMA, {"type": "object", "properties": {}}]
    assert body["messages"][1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
            {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
        ],
    }
    assert body["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "one"}
    assert "tools" not in to_body(ChatRequest("m", messages))
    assert "tools" not in to_body(ChatRequest("m", messages, tools=TOOLS), PROFILE["perplexity"])


def test_a_later_round_maps_only_its_new_messages_and_says_the_same() -> None:
    calls = (ToolCall("c1", "f", OK[0]),)
    first = ChatRequest("m", (USER, ChatMessage("assistant", "", tool_calls=calls)))
    later = replace(first, messages=(*first.messages, ChatMessage("tool", "one", tool_call_id="c1")))
    sent, after = to_body(first, source="up/m")["messages"], to_body(later, source="up/m")["messages"]
    assert [one is other for one, other in zip(sent, after, strict=False)] == [True, True]
    assert after == to_body(ChatRequest("m", later.messages), source="up/m")["messages"]
    shorter = replace(first, messages=later.messages[1:])
    assert to_body(shorter, source="up/m")["messages"] == after[1:]


def test_what_was_made_for_one_endpoint_is_not_sent_to_another() -> None:
    said = ChatMessage("assistant", "x", state={SOURCE: "up/m", "reasoning_details": ["sealed"]})
    request = ChatRequest("m", (USER, said))
    for source, there in (("up/m", True), ("other/m", False), ("up/m", True)):
        assert ("reasoning_details" in to_body(request, source=source)["messages"][1]) is there


def test_pictures_are_parts_and_text_alone_is_a_string() -> None:
    picture = Image("image/png", b"\x89PNG")
    body = to_body(
        ChatRequest("m", (ChatMessage("user", "What?", (picture,)), ChatMessage("user", "", (picture,)), USER))
    )
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    assert [message["content"] for message in body["messages"]] == [
        [{"type": "text", "text": "What?"}, part], [part], "Hi",
    ]  # fmt: skip
    blind = to_body(ChatRequest("m", (ChatMessage("user", "What?", (picture,)),)), PROFILE["deepseek"])
    assert blind["messages"][0]["content"] == f"What?\n\n{NO_PICTURES}"


def test_pictures_of_tools_follow_all_answers_as_the_users() -> None:
    picture = Image("image/png", b"\x89PNG")
    tool = ChatMessage("tool", "see", (picture,), tool_call_id="c1")
    calls = (ToolCall("c1", "f", "{}"), ToolCall("c2", "f", "{}"))
    messages = (ChatMessage("assistant", "", tool_calls=calls), tool, ChatMessage("tool", "no", tool_call_id="c2"))
    for more in ((), (USER,)):
        body = to_body(ChatRequest("m", (*messages, *more)))
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["assistant", "tool", "tool", "user", *(message.role for message in more)]
        assert body["messages"][1]["content"] == "see"


@pytest.mark.parametrize(("profile", "fits"), [("generic", ".*"), ("mistral", "[a-zA-Z0-9]{9}"), ("openai", ".{1,40}")])
def test_ids_of_other_vendors_are_made_to_fit(profile: str, fits: str) -> None:
    ids = ("call_" + "x" * 60, "call_" + "x" * 61, "abcDEF123")
    calls = tuple(ToolCall(call_id, "f", "{}") for call_id in ids)
    answers = tuple(ChatMessage("tool", "1", tool_call_id=call_id) for call_id in ids)
    messages = to_body(ChatRequest("m", (ChatMessage("assistant", "", tool_calls=calls), *answers)), PROFILE[profile])[
        "messages"
    ]
    sent = [call["id"] for call in messages[0]["tool_calls"]]
    assert sent == [message["tool_call_id"] for message in messages[1:]]
    assert len(set(sent)) == 3
    assert sent[2] == "abcDEF123"
    assert all(re.fullmatch(fits, call_id) for call_id in sent)


def test_a_schema_is_asked_for_as_the_vendor_wants_it() -> None:
    request = ChatRequest("m", (USER,), response_schema=SCHEMA)
    full = to_body(request)["response_format"]
    assert full == {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    assert to_body(request, PROFILE["deepseek"])["response_format"] == {"type": "json_object"}


# Refusals.

FULL = ChatRequest("m", (USER,), temperature=0.5, max_tokens=9, response_schema=SCHEMA)
REFUSALS: list[tuple[Any, str, str | None]] = [
    ({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead.", "param": "max_tokens"}}, "max_tokens", "max_completion_tokens"),
    ({"error": {"message": "Unsupported value: 'temperature' does not support 0.5 with this model."}},
     "temperature", None),
    ({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options", "include_usage"]}]},
     "stream_options", None),
    ({"error": {"message": "This response_format type is unavailable now"}}, "response_format", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "refused", "instead"), REFUSALS, ids=[refusal[1] for refusal in REFUSALS])
async def test_a_field_refused_by_name_is_left_out_and_this_is_remembered(
    upstream: Upstream, body: Any, refused: str, instead: str | None
) -> None:
    upstream.reply_json(body, status=400)
    async with provider_at(upstream) as provider:
        for _ in range(2):
            assert (await collect(provider, FULL)).text == "Hello from the upstream."
    first, *later = [received.json for received in upstream.requests]
    expected = {key: value for key, value in first.items() if key != refused}
    if instead:
        expected[instead] = first[refused]
    assert later == [expected] * 2


async def test_what_one_model_refuses_another_is_still_sent(upstream: Upstream) -> None:
    upstream.reply_json(REFUSALS[1][0], status=400)
    async with provider_at(upstream) as provider:
        await collect(provider, FULL)
        await collect(provider, ChatRequest("other", (USER,), temperature=0.5))
    assert ["temperature" in received.json for received in upstream.requests] == [True, False, True]


async def test_several_refusals_are_met_one_after_another_and_never_again(upstream: Upstream) -> None:
    for body, _, _ in REFUSALS:
        upstream.reply_json(body, status=422)
    async with provider_at(upstream) as provider:
        assert (await collect(provider, FULL)).text == "Hello from the upstream."
    assert len(upstream.requests) == 5
    assert set(upstream.requests[-1].json) == {"model", "messages", "stream", "max_completion_tokens"}


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 9. This model supports at most 4 completion tokens.",
        "This model's maximum context length is 8 tokens.",
        "temperature must be at most 0.4",
    ],
)
async def test_a_refused_value_is_not_a_refused_field(upstream: Upstream, words: str) -> None:
    upstream.reply_json({"error": {"message": words}}, status=400)
    async with provider_at(upstream) as provider:
        played = await collect(provider, FULL)
    assert played.failure == f"HTTP 400: {words}"
    assert len(upstream.requests) == 1


async def test_a_server_that_refuses_both_names_is_asked_twice(upstream: Upstream) -> None:
    for name in ("max_tokens", "max_completion_tokens", "max_tokens"):
        upstream.reply_json({"error": {"message": f"unknown field {name}"}}, status=400)
    async with provider_at(upstream) as provider:
        played = await collect(provider, FULL)
        assert played.failure == "HTTP 400: unknown field max_completion_tokens"
        await collect(provider, FULL)
    assert ["max_tokens" in received.json for received in upstream.requests] == [True, False, True, False]


# Profiles at work.


async def test_a_profile_shows_the_key_its_own_way_and_keeps_the_query(upstream: Upstream) -> None:
    config = EndpointConfig(
        id="az", kind="openai", base_url=f"{upstream.base_url}?api-version=7", profile="azure", api_key="secret-key"
    )
    provider = OpenAIProvider(config)
    await collect(provider, ASK)
    with pytest.raises(ProviderError, match="does not list its models: name them"):
        await provider.models()
    await provider.close()
    headers = upstream.requests[0].headers
    assert headers["api-key"] == "secret-key"
    assert "Authorization" not in headers


def test_an_unknown_profile_is_told_at_once() -> None:
    with pytest.raises(ConfigError, match="Setting profile"):
        OpenAIProvider(EndpointConfig(id="x", kind="openai", base_url="http://127.0.0.1:1/v1", profile="nope"))


async def test_the_profile_that_asks_for_no_usage_does_not(upstream: Upstream) -> None:
    upstream.reply(*answer("Hi."))
    async with provider_at(upstream, profile="mistral") as provider:
        await collect(provider, ASK)
    assert "stream_options" not in upstream.requests[0].json
