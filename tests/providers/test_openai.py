"""OpenAI-compatible endpoints: the mapping at every split, and the provider over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from upstream import DONE, Cut, Hang, Upstream, answer, chunk, finish, frame, reasoning_chunk, text_chunk, usage

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.events import ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.base import AnsweredBy, ChatMessage, ChatRequest, Chunk, Finished, ModelListing
from odysseus.providers.openai import OpenAIProvider, OpenAIReading
from odysseus.providers.openai_mapping import to_chunks, to_listings
from odysseus.providers.openai_request import to_body
from odysseus.providers.profiles import PROFILES

REQUEST = ChatRequest("fake-model", (ChatMessage("user", "Hi"),))


@dataclass
class Played:
    """What a reader of the answer has at its end."""

    text: str = ""
    reasoning: str = ""
    usage: list[UsageReport] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    finished: list[Finished] = field(default_factory=list)
    failure: str | None = None
    status: int | None = None

    def add(self, chunks: Iterable[Chunk]) -> None:
        for piece in chunks:
            assert not self.finished, "nothing may follow the end"
            match piece:
                case TextDelta(text):
                    assert text
                    self.text += text
                case ReasoningDelta(text):
                    assert text
                    self.reasoning += text
                case UsageReport():
                    self.usage.append(piece)
                case AnsweredBy(model):
                    self.models.append(model)
                case Finished():
                    self.finished.append(piece)


def play(reads: Iterable[bytes]) -> Played:
    """An answer whose body comes in these reads."""
    reading, played = OpenAIReading(), Played()
    for data in reads:
        played.add(reading.take(reading.decoder.feed(data)))
        if reading.done or reading.failure:
            break
    else:
        played.add(reading.take(reading.decoder.end(), last=True))
    played.add(reading.end())
    if reading.failure:
        played.failure, played.status = reading.failure.message, reading.failure.status
    return played


def splits(body: bytes) -> Iterator[list[bytes]]:
    yield [body]
    for size in (1, 2, 3, 7, 50):
        yield [body[at : at + size] for at in range(0, len(body), size)]
    # Every place in what is short; in long bodies every few bytes, by a step that meets all phases of a record.
    for at in range(0, len(body), 1 if len(body) < 200 else 7):
        yield [body[:at], body[at:]]


def play_all(body: bytes) -> Played:
    """The answer of this body, which must be the same at every split."""
    whole = play([body])
    for reads in splits(body):
        assert play(reads) == whole, reads
    return whole


def raw(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


STOP = finish("stop") + DONE
MISTRAL = next(profile for profile in PROFILES if profile.name == "mistral")
ENDED = [Finished("stop", "stop")]


def test_characters_cut_by_the_network_come_whole() -> None:
    played = play_all(text_chunk("ok 🚲 橋") + text_chunk("é\u0301 \ufeff👩‍👩‍👧") + STOP)
    assert (played.text, played.failure) == ("ok 🚲 橋é\u0301 \ufeff👩‍👩‍👧", None)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_any_line_end_and_a_byte_order_mark_give_the_same_answer(ending: bytes, mark: bytes) -> None:
    body = b"".join([b": WAIT\n\n:\n\ndata:\n\n", *answer("four words in here"), b": bye\n\n"])
    played = play_all(mark + body.replace(b"\n", ending))
    assert (played.text, played.finished, played.failure) == ("four words in here", ENDED, None)
    assert played.models == ["fake-model"]


def test_json_on_several_data_lines_is_read_as_one() -> None:
    body = b'data: {"choices":[{"index":0,\ndata:  "delta":{"content":" B"},\ndata: "finish_reason":null}]}\n\n'
    assert play_all(body + STOP).text == " B"


def test_the_sentinel_without_a_finish_reason_is_a_normal_end() -> None:
    played = play_all(text_chunk("all of it") + chunk({}) + DONE)
    assert (played.text, played.finished, played.failure) == ("all of it", [Finished(None)], None)


@pytest.mark.parametrize(
    "sentinel", [b"data: [DONE]\n\n", b"data:[DONE]\n\n", b"data: [DONE] \n\n", b"data: DONE\n\n", b"data: [DONE]"]
)
def test_nothing_counts_after_the_sentinel(sentinel: bytes) -> None:
    tail = b"" if sentinel == b"data: [DONE]" else text_chunk("GHOST") + frame({"error": "late"}) + usage(9, 9)
    played = play_all(text_chunk("hi") + finish() + sentinel + tail)
    assert (played.text, played.usage, played.failure) == ("hi", [], None)


@pytest.mark.parametrize("nothing", [
    {"choices": None}, {"choices": []}, {}, [], None, 7, "x", {"choices": [None]}, {"choices": {}}, {"choices": [{}]},
    {"choices": [{"delta": None}]}, {"choices": [{"delta": {}}]}, {"choices": [{"delta": {"content": None}}]},
    {"choices": [{"delta": {"content": "", "tool_calls": None}, "finish_reason": ""}]}, {"choices": [{"delta": "x"}]},
    {"choices": [{"delta": {"content": 7}}]}, {"choices": [{"delta": {"content": {}}}]}, {"error": None},
    {"choices": [{"delta": {"content": [None, 7, {"type": "image"}, {"type": "text"}]}, "finish_reason": None}]},
    {"usage": None, "model": None}, {"usage": {}, "model": ""}, {"usage": {"prompt_tokens": "x"}, "model": 7},
])  # fmt: skip
def test_a_record_that_says_nothing_changes_nothing(nothing: Any) -> None:
    assert to_chunks(nothing) == []
    played = play_all(frame(nothing) + text_chunk("a") + frame(nothing) + text_chunk("b") + frame(nothing) + STOP)
    assert (played.text, played.finished, played.failure) == ("ab", ENDED, None)


def test_only_the_choice_that_was_asked_for_is_read() -> None:
    two = frame({"choices": [{"index": 1, "delta": {"content": "other"}}, {"index": 0, "delta": {"content": "ok"}}]})
    assert play_all(two + two + STOP).text == "okok"


FINISHES: list[tuple[str | None, str | None]] = [
    ("stop", "stop"), ("length", "length"), ("max_tokens", "length"), ("tool_calls", "stop"), ("STOP", "stop"),
    ("function_call", "stop"), ("content_filter", "content_filter"), ("eos", None), ("abort", None),
]  # fmt: skip


@pytest.mark.parametrize(("word", "reason"), FINISHES)
def test_the_finish_reason_is_normalised_and_its_word_kept(word: str, reason: Any) -> None:
    played = play_all(text_chunk("ab") + finish(word))
    assert (played.text, played.finished, played.failure) == ("ab", [Finished(reason, word)], None)


ERRORS: list[tuple[Any, int, str]] = [
    ({"error": {"message": "quota", "code": 402}}, 402, "quota"),
    ({"error": {"code": "server_error", "message": "gone"}, "choices": [{"delta": {"content": "x"}}]}, 502, "gone"),
    ({"error": {"message": "busy", "code": "429"}}, 429, "busy"),
    ({"error": "in words"}, 502, "in words"),
    ({"object": "error", "message": "too long", "code": 400}, 400, "too long"),
    ({"choices": [{"delta": {}, "error": {"message": "inner", "code": 503}}]}, 503, "inner"),
    ({"choices": [{"delta": {}, "finish_reason": "error"}]}, 502, "The endpoint reported an error without a message."),
]


@pytest.mark.parametrize(("error", "status", "message"), ERRORS)
@pytest.mark.parametrize("before", ["", "half "])
def test_an_error_in_the_stream_fails_it_and_the_text_so_far_stands(
    error: Any, status: int, message: str, before: str
) -> None:
    head = text_chunk(before) if before else b""
    played = play_all(head + frame(error) + text_chunk("GHOST") + STOP)
    assert (played.text, played.failure, played.status, played.finished) == (before, message, status, [])


@pytest.mark.parametrize(
    "data", ['{"message":"overload"}', '{"error":{"message":"overload"}}', "overload", '"overload"']
)
def test_an_error_event_fails_the_stream(data: str) -> None:
    played = play_all(text_chunk("a") + f"event: error\ndata: {data}\n\n".encode() + STOP)
    assert (played.text, played.failure) == ("a", "overload")


@pytest.mark.parametrize("words", ["ping", "[1", "{bad", '{"choices":[{"delta":{"content":"lost"'])
def test_broken_json_fails_and_other_words_are_left_out(words: str) -> None:
    played = play_all(text_chunk("a") + raw(words) + text_chunk("b") + STOP)
    if words.startswith("{"):
        assert (played.text, played.failure) == ("a", "The endpoint sent a piece of its answer that is not valid JSON.")
    else:
        assert (played.text, played.failure) == ("ab", None)


def test_every_place_where_a_body_may_end_is_told_apart() -> None:
    head, end = text_chunk("all"), finish()
    body = head + end + DONE
    for at in range(len(body)):
        played = play([body[:at]])
        whole = at >= len(head + end) - 2
        assert (played.failure is None) == whole, body[:at]
        assert played.text == ("all" if at >= len(head) - 2 else "")
        assert whole or "ended early" in str(played.failure)


@pytest.mark.parametrize(
    ("tokens", "reason", "words"),
    [
        (41_000, "stop", "41,000 tokens"),
        (41_000, "stop", "context size"),
        (20, "length", "context size"),
        (20, "stop", "Try again or choose another model"),
        (20, "content_filter", "content filter"),
    ],
)
def test_an_answer_without_anything_is_an_error_with_a_hint(tokens: int, reason: str, words: str) -> None:
    body = chunk({"role": "assistant", "content": ""}) + finish(reason) + usage(tokens, 0) + DONE
    played = play_all(body)
    assert played.status == 502
    assert words in str(played.failure)
    assert [report.input_tokens for report in played.usage] == [tokens]
    assert played.finished == []


@pytest.mark.parametrize("blanks", [" ", "\n\n", "<think></think>", "<think>\n</think>\n"])
def test_an_answer_of_blanks_is_not_an_answer(blanks: str) -> None:
    played = play_all(text_chunk(blanks) + STOP)
    assert played.text == ""
    assert (played.failure is None) == ("think>\n" in blanks)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_read_under_every_name_it_has(name: str) -> None:
    body = chunk({"content": "", name: "hm"}) + chunk({"content": None, name: "m."}) + chunk({name: "", "content": "4"})
    played = play_all(body + chunk({name: "!", "content": "2"}) + STOP)
    assert (played.reasoning, played.text) == ("hmm.!", "42")


def test_reasoning_under_two_names_at_once_counts_once() -> None:
    body = chunk({"reasoning_content": "hm", "reasoning": "hm"}) * 3 + text_chunk("4")
    assert play_all(body + STOP).reasoning == "hmhmhm"


def test_reasoning_alone_is_an_answer_without_text() -> None:
    played = play_all(reasoning_chunk("The answer is 4.") + STOP)
    assert (played.reasoning, played.text, played.failure) == ("The answer is 4.", "", None)
    assert played.finished == ENDED


def test_typed_blocks_are_sorted_by_their_kind() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "pl"}, {"type": "text", "text": "an"}]}
    body = chunk({"content": [thinking]}) + chunk({"content": [{"type": "text", "text": "out"}, {"type": "odd"}]})
    played = play_all(body + text_chunk("!") + chunk({"content": [{"type": "thinking", "thinking": "."}]}) + STOP)
    assert (played.reasoning, played.text) == ("plan.", "out!")


THINKING: list[tuple[str, str, str]] = [
    ("<think>weigh it</think>\n\nSo p < q holds", "weigh it", "So p < q holds"),
    ("\n <think>\nweigh\n</think>So", "\nweigh\n", "So"),
    ("<thinking>weigh</think> it</thinking>So", "weigh</think> it", "So"),
    ("<think>never closed", "never closed", ""),
    ("<think>cut in the tag</thi", "cut in the tag</thi", ""),
    ("<think>a</think>b <think>c</think>", "a", "b <think>c</think>"),
    ("<th", "", "<th"),
    ("<thought>no tag", "", "<thought>no tag"),
    ("a <think>b</think>", "", "a <think>b</think>"),
    ("  indented", "", "  indented"),
    ("</think>So", "", "</think>So"),
    ("<think>a<</<b</</think> < ", "a<</<b</", "< "),
]


@pytest.mark.parametrize(("whole", "reasoning", "text"), THINKING)
def test_tags_at_the_start_are_reasoning_wherever_the_deltas_cut_them(whole: str, reasoning: str, text: str) -> None:
    for size in range(1, len(whole) + 1):
        pieces = [text_chunk(whole[at : at + size]) for at in range(0, len(whole), size)]
        played = play([*pieces, STOP])
        assert (played.reasoning, played.text, played.failure) == (reasoning, text, None), size


def test_only_what_may_become_a_tag_is_held_back() -> None:
    reading = OpenAIReading()

    def read(text: str) -> list[Chunk]:
        found = reading.take(reading.decoder.feed(text_chunk(text)))
        return [piece for piece in found if not isinstance(piece, AnsweredBy)]

    assert read("<th") == []
    assert read("ink>weigh <") == [ReasoningDelta("weigh ")]
    assert read("b</thi") == [ReasoningDelta("<b")]
    assert read("nk>\n") == []
    assert read("\nSo ") == [TextDelta("So ")]
    assert read("p <") == [TextDelta("p <")]


HALVES: list[tuple[list[str], str]] = [
    ([r"a\ud83d", r"\ude80b"], "a🚀b"),
    ([r"a\ud83d\ude80", "b"], "a🚀b"),
    ([r"a\ud83d", "b"], "a\ufffdb"),
    ([r"a\ude80", "b"], "a\ufffdb"),
    ([r"a\ud83d", ""], "a\ufffd"),
    ([r"a\ud83d", r"\ud83d", r"\ude80"], "a\ufffd🚀"),
    ([r"a\u0000b", r"\u0000"], "a\ufffdb\ufffd"),
    ([r"\ud83d", r"\ude80"], "🚀"),
]


@pytest.mark.parametrize(("pieces", "text"), HALVES)
@pytest.mark.parametrize("name", ["content", "reasoning_content"])
def test_halves_of_a_pair_are_joined_and_what_no_database_takes_is_replaced(
    pieces: list[str], text: str, name: str
) -> None:
    deltas = [raw(f'{{"model":"m","choices":[{{"delta":{{"{name}":"{piece}"}}}}]}}') for piece in pieces]
    played = play_all(b"".join(deltas) + STOP)
    assert (played.text if name == "content" else played.reasoning) == text
    after = play_all(text_chunk("x") + b"".join(deltas) + STOP)
    assert after.text + after.reasoning == "x" + text


def test_a_half_pair_does_not_cross_from_reasoning_to_the_answer() -> None:
    body = raw(r'{"choices":[{"delta":{"reasoning":"a\ud83d"}}]}') + raw(
        r'{"choices":[{"delta":{"content":"\ude80b"}}]}'
    )
    played = play_all(body + STOP)
    assert (played.reasoning, played.text) == ("a\ufffd", "\ufffdb")


def test_text_that_is_not_utf_8_is_replaced() -> None:
    played = play_all(text_chunk("x") + b'data: {"choices":[{"delta":{"content":"a\xff\xc3"}}]}\n\n' + STOP)
    assert played.text == "xa\ufffd\ufffd"


def test_usage_comes_once_and_the_last_report_counts() -> None:
    running = b"".join(chunk({"content": "x"}, usage={"prompt_tokens": 9, "completion_tokens": n}) for n in range(1, 6))
    details = {
        "prompt_tokens_details": {"cached_tokens": 7},
        "completion_tokens_details": {"reasoning_tokens": 2},
        "cost": 0.25,
    }
    played = play_all(running + finish() + usage(9, 5, **details) + DONE)
    assert played.text == "xxxxx"
    assert played.usage == [UsageReport(9, 5, cached_input_tokens=7, reasoning_tokens=2, cost=0.25)]


@pytest.mark.parametrize("tail", [b"", frame({"error": "broken"})])
def test_usage_that_came_is_told_of_a_failed_answer_too(tail: bytes) -> None:
    counts = {"prompt_tokens": 9, "completion_tokens": 1}
    played = play_all(text_chunk("x") + text_chunk("y") + chunk({"content": "z"}, usage=counts) + tail)
    assert (played.text, bool(played.failure)) == ("xyz", True)
    assert played.usage == [UsageReport(9, 1)]


def test_odd_counts_are_not_taken_for_numbers() -> None:
    counts = {"prompt_tokens": 5.0, "completion_tokens": True, "prompt_tokens_details": None, "cost": "free"}
    assert to_chunks({"usage": counts}) == [UsageReport(5, 0)]
    assert to_chunks({"usage": {"prompt_tokens": -1, "completion_tokens": None}}) == []
    assert to_chunks({"usage": {"prompt_tokens": 5, "prompt_cache_hit_tokens": 4}}) == [
        UsageReport(5, 0, cached_input_tokens=4)
    ]


def test_the_model_is_told_when_it_is_new() -> None:
    def piece(model: str | None) -> bytes:
        return frame({"model": model, "choices": [{"delta": {"content": "x"}, "finish_reason": None}]})

    played = play_all(piece("a") + piece("a") + piece(None) + piece("a") + piece("b") + piece("b") + STOP)
    assert played.models == ["a", "b", "fake-model"]
    assert played.text == "xxxxxx"


def test_a_refusal_is_the_answer() -> None:
    assert play_all(chunk({"content": None, "refusal": "I will not."}) + STOP).text == "I will not."


def test_a_request_holds_what_was_asked_and_no_more() -> None:
    messages = (ChatMessage("system", "Be brief."), ChatMessage("user", "Hi"))
    assert to_body(ChatRequest("m", messages), MISTRAL) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
    }
    full = to_body(ChatRequest("m", messages, temperature=0.0, max_tokens=5))
    assert (full["temperature"], full["max_tokens"]) == (0.0, 5)
    assert full["stream_options"] == {"include_usage": True}


LISTS: list[tuple[Any, list[ModelListing]]] = [
    ({"data": [{"id": "a"}, {"id": "b"}, {"id": "a"}, {}, None, 7]}, [ModelListing("a"), ModelListing("b")]),
    ({"models": [{"name": "a"}]}, [ModelListing("a")]),
    (["a", "b"], [ModelListing("a"), ModelListing("b")]),
    ({"data": []}, []),
    ({"data": [{"id": "v", "max_model_len": 4096}]}, [ModelListing("v", context_length=4096)]),
    (
        {
            "data": [
                {
                    "id": "o",
                    "context_length": 8192,
                    "supported_parameters": ["tools"],
                    "architecture": {"input_modalities": ["text"]},
                    "pricing": {"prompt": "0.000001", "completion": "0.000002"},
                }
            ]
        },
        [ModelListing("o", 8192, tools=True, vision=False, price=(1.0, 2.0))],
    ),
    ({"data": [{"id": "p", "pricing": {"prompt": "-1", "completion": "x"}}]}, [ModelListing("p")]),
]


@pytest.mark.parametrize(("body", "listings"), LISTS)
def test_lists_of_models_are_read_in_their_shapes(body: Any, listings: list[ModelListing]) -> None:
    assert to_listings(body) == listings


@pytest.mark.parametrize(("body", "words"), [({}, "did not list"), ({"error": "no"}, "no"), (7, "did not list")])
def test_anything_else_is_not_a_list_of_models(body: Any, words: str) -> None:
    with pytest.raises(ProviderError, match=words):
        to_listings(body)


@asynccontextmanager
async def provider_at(upstream: Upstream, **settings: Any) -> AsyncIterator[OpenAIProvider]:
    provider = OpenAIProvider(EndpointConfig(id="lan", kind="openai", base_url=upstream.base_url, **settings))
    try:
        yield provider
    finally:
        await provider.close()


async def ask(provider: OpenAIProvider) -> Played:
    played = Played()
    try:
        async with asyncio.timeout(5):
            async for batch in provider.stream(REQUEST):
                assert batch, "a batch is never empty"
                played.add(batch)
    except ProviderError as error:
        played.failure, played.status = error.message, error.status
    return played


async def test_an_answer_over_the_network(upstream: Upstream) -> None:
    async with provider_at(upstream) as provider:
        played = await ask(provider)
        assert provider.state() == "ready"
    assert played == Played("Hello from the upstream.", "", [UsageReport(12, 4)], ["fake-model"], ENDED)
    assert upstream.requests[0].json == to_body(REQUEST)


@pytest.mark.parametrize("status", [400, 422])
async def test_an_endpoint_that_refuses_stream_options_is_asked_without_them(upstream: Upstream, status: int) -> None:
    upstream.reply_json({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]}, status=status)
    async with provider_at(upstream) as provider:
        for _ in range(2):
            assert (await ask(provider)).text == "Hello from the upstream."
    assert ["stream_options" in received.json for received in upstream.requests] == [True, False, False]
    assert all(received.json["stream"] for received in upstream.requests)


@pytest.mark.parametrize(
    ("status", "words", "requests"),
    [(400, "context is too long", 1), (500, "stream_options", 1), (422, "stream_options", 2)],
)
async def test_no_other_failure_is_tried_again(upstream: Upstream, status: int, words: str, requests: int) -> None:
    for _ in range(3):
        upstream.reply_json({"error": {"message": f"unknown: {words}"}}, status=status)
    async with provider_at(upstream) as provider:
        played = await ask(provider)
    assert (played.status, played.failure) == (status, f"HTTP {status}: unknown: {words}")
    assert len(upstream.requests) == requests


@pytest.mark.parametrize(
    "tail", [[Cut()], [frame({"error": {"message": "stream_options", "code": 400}})], [b"data: {x\n\n"]]
)
async def test_nothing_is_asked_again_once_text_has_come(upstream: Upstream, tail: list[Any]) -> None:
    upstream.reply(text_chunk("Take the second le"), tail)
    async with provider_at(upstream) as provider:
        played = await ask(provider)
    assert played.text == "Take the second le"
    assert played.failure
    assert len(upstream.requests) == 1


async def test_a_document_gives_its_reasoning_usage_and_end_in_one_batch(upstream: Upstream) -> None:
    message = {"role": "assistant", "content": "<think>plan</think>\nout", "reasoning_content": None}
    counts = {"prompt_tokens": 3, "completion_tokens": 4}
    upstream.reply_json({"model": "m", "choices": [{"message": message, "finish_reason": "length"}], "usage": counts})
    async with provider_at(upstream) as provider:
        batches = [list(batch) async for batch in provider.stream(REQUEST)]
    assert batches == [
        [AnsweredBy("m"), ReasoningDelta("plan"), TextDelta("out"), UsageReport(3, 4), Finished("length", "length")]
    ]


async def test_one_read_is_one_batch(upstream: Upstream) -> None:
    upstream.reply(text_chunk("x") * 20 + STOP)
    async with provider_at(upstream) as provider:
        batches = [list(batch) async for batch in provider.stream(REQUEST)]
    assert [sum(isinstance(piece, TextDelta) for piece in batch) for batch in batches] == [20]


async def test_models_are_asked_for_unless_they_are_configured(upstream: Upstream) -> None:
    upstream.models = ("one", "two")
    async with provider_at(upstream) as provider:
        assert await provider.models() == [ModelListing("one"), ModelListing("two")]
    async with provider_at(upstream, models=("mine",)) as provider:
        assert await provider.models() == [ModelListing("mine")]
    assert len(upstream.model_requests) == 1


async def test_models_that_do_not_come_are_a_failure_with_a_reason(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odysseus.providers.openai.MODELS_SECONDS", 0.1)
    upstream.models_reply(before=[Hang()]).models_reply(b'{"data": [', Hang()).models_reply(b"<html>")
    upstream.models_reply(json.dumps({"error": {"message": "no"}}).encode(), status=403).models_reply(Cut())
    upstream.models_reply(b"[" * 100_000)
    async with provider_at(upstream) as provider:
        failures = [await models_failure(provider) for _ in range(6)]
    assert [error.status for error in failures] == [504, 504, 502, 403, 502, 502]
    assert failures[2].message == "The endpoint did not answer with JSON. Check its base URL."


async def models_failure(provider: OpenAIProvider) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await provider.models()
    return raised.value
