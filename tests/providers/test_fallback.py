"""Who answers when endpoints fail: retry, fallback and cooldown, against real upstreams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from serving import Server, config_of, serving
from upstream import DONE, Cut, Upstream, answer, chunk, finish, reasoning_chunk, text_chunk

from odysseus.config import EndpointConfig, Price
from odysseus.errors import ProviderError
from odysseus.events import FellBack, Retrying, TextDelta, UsageReport
from odysseus.providers.base import ChatMessage, ChatRequest
from odysseus.providers.fallback import COOLDOWN_SECONDS, FALLBACK_STATUSES, Asker, Candidate, Cooldowns, pause_before
from odysseus.providers.openai import OpenAIProvider
from odysseus.providers.pricing import cost_of, price_of

JSON = {"Content-Type": "application/json"}
REQUEST = ChatRequest("first", (ChatMessage("user", "hi"),))
REFUSALS = (400, 401, 403, 404, 422)


class Bench:
    """Candidates at real upstreams, with pauses that are only written down."""

    def __init__(self, *base_urls: str) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.cooldowns = Cooldowns(lambda: self.now)
        self.providers = [
            OpenAIProvider(EndpointConfig(id=f"e{i}", kind="openai", base_url=url)) for i, url in enumerate(base_urls)
        ]
        names = ("first", "second", "third")
        self.candidates = [
            Candidate(f"e{i}", f"Endpoint {i}", names[i], provider, host=base_urls[i])
            for i, provider in enumerate(self.providers)
        ]

    async def ask(self, asker: Asker | None = None) -> list[Any]:
        asker = asker or self.asker()
        return [chunk async for batch in asker.ask(REQUEST) for chunk in batch]

    def asker(self) -> Asker:
        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        return Asker(self.candidates, self.cooldowns, sleep)

    async def __aenter__(self) -> Bench:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self.providers:
            await provider.close()


def text(chunks: Sequence[Any]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


@pytest.mark.parametrize("status", sorted(FALLBACK_STATUSES))
async def test_the_next_candidate_answers_for_a_failure_that_may_pass(upstream: Upstream, status: int) -> None:
    upstream.reply(b'{"error": "busy"}', status=status, headers=JSON).reply(answer("from the second"))
    async with Bench(upstream.base_url, upstream.base_url) as bench:
        chunks = await bench.ask()
    assert chunks[0] == FellBack("first", "second", f"HTTP {status}: busy", 1, "e0", "e1", "Endpoint 1")
    assert text(chunks) == "from the second"
    assert bench.pauses == []
    assert [request.json["model"] for request in upstream.requests] == ["first", "second"]


@pytest.mark.parametrize("status", REFUSALS)
async def test_a_refusal_is_told_and_not_passed_on(upstream: Upstream, status: int) -> None:
    upstream.reply(b'{"error": "no"}', status=status, headers=JSON)
    async with Bench(upstream.base_url, upstream.base_url) as bench:
        with pytest.raises(ProviderError, match="no"):
            await bench.ask()
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("shown", [text_chunk("half"), reasoning_chunk("a thought")], ids=["text", "reasoning"])
async def test_nothing_is_tried_again_after_output(upstream: Upstream, shown: bytes) -> None:
    upstream.reply(shown, Cut())
    async with Bench(upstream.base_url, upstream.base_url) as bench:
        with pytest.raises(ProviderError):
            await bench.ask()
    assert len(upstream.requests) == 1


async def test_blanks_of_a_failed_candidate_are_dropped(upstream: Upstream) -> None:
    upstream.reply(chunk({"role": "assistant", "content": ""}), text_chunk("\n\n"), Cut()).reply(answer("clean"))
    async with Bench(upstream.base_url, upstream.base_url) as bench:
        chunks = await bench.ask()
    assert isinstance(chunks[0], FellBack)
    assert text(chunks) == "clean"


async def test_an_endpoint_that_is_not_there_is_left_for_the_next(upstream: Upstream) -> None:
    async with Bench("http://127.0.0.1:9", upstream.base_url) as bench:
        chunks = await bench.ask()
    assert isinstance(chunks[0], FellBack)
    assert text(chunks) == "Hello from the upstream."


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_the_last_candidate_is_asked_again_and_the_user_told(upstream: Upstream, status: int) -> None:
    for _ in range(2):
        upstream.reply(b'{"error": "busy"}', status=status, headers=JSON | {"Retry-After": "3"})
    async with Bench(upstream.base_url) as bench:
        chunks = await bench.ask()
    assert chunks[:2] == [Retrying(n, 2, 3.0, f"HTTP {status}: busy") for n in (1, 2)]
    assert bench.pauses == [3.0, 3.0]
    assert text(chunks) == "Hello from the upstream."


async def test_retries_come_to_an_end(upstream: Upstream) -> None:
    for _ in range(9):
        upstream.reply(b'{"error": "busy"}', status=503, headers=JSON)
    async with Bench(upstream.base_url) as bench:
        with pytest.raises(ProviderError, match="busy"):
            await bench.ask()
    assert len(upstream.requests) == 3
    assert bench.pauses == sorted(bench.pauses)


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (ProviderError("x", status=429, retryable=True, retry_after=7), 7),
        (ProviderError("x", status=429, retryable=True, retry_after=3600), None),
        (ProviderError("x", status=504, retryable=True), None),
        (ProviderError("x", status=409, retryable=True), None),
        (ProviderError("x", status=500), None),
    ],
)
def test_a_pause_is_only_made_where_it_can_help(error: ProviderError, pause: float | None) -> None:
    assert pause_before(1, error) == pause


async def test_an_unreachable_host_is_passed_over_for_a_while(upstream: Upstream) -> None:
    async with Bench("http://127.0.0.1:9", "http://127.0.0.1:10", upstream.base_url) as bench:
        for _ in range(3):
            await bench.ask()
        assert bench.cooldowns.cooling("http://127.0.0.1:10")
        chunks = await bench.ask()
        assert [c.candidate_index for c in chunks if isinstance(c, FellBack)] == [2]
        bench.now += COOLDOWN_SECONDS
        assert not bench.cooldowns.cooling("http://127.0.0.1:10")


async def test_a_cooling_host_alone_is_asked_once_without_retries() -> None:
    async with Bench("http://127.0.0.1:9") as bench:
        with pytest.raises(ProviderError):
            await bench.ask()
        assert len(bench.pauses) == 2
        with pytest.raises(ProviderError):
            await bench.ask()
        assert len(bench.pauses) == 2


async def test_the_candidate_that_answered_stays_for_the_next_round(upstream: Upstream) -> None:
    upstream.reply(b'{"error": "busy"}', status=503, headers=JSON)
    async with Bench(upstream.base_url, upstream.base_url) as bench:
        asker = bench.asker()
        await bench.ask(asker)
        again = await bench.ask(asker)
    assert not any(isinstance(chunk, FellBack) for chunk in again)
    assert [request.json["model"] for request in upstream.requests] == ["first", "second", "second"]


@pytest.fixture
async def pair(upstream: Upstream, tmp_path: Path) -> AsyncIterator[Server]:
    config = config_of(f"""
        [chat]
        endpoint = "a"
        model = "first"
        [prices."second"]
        input = 10
        output = 100
        [[endpoints]]
        id = "a"
        kind = "openai"
        base_url = "http://127.0.0.1:9/v1"
        fallback = ["added-gone", "b/second"]
        [[endpoints]]
        id = "b"
        label = "The other"
        kind = "openai"
        base_url = "{upstream.base_url}"
    """)
    async with serving(config, tmp_path) as server:
        yield server


async def test_the_stream_tells_the_fallback_before_the_answer(pair: Server, upstream: Upstream) -> None:
    upstream.reply(
        text_chunk("x"), chunk({}, "stop", usage={"prompt_tokens": 1000, "completion_tokens": 100}), finish(), DONE
    )
    stream = await (await pair.send(await pair.session())).rest()
    assert stream.kinds[:3] == ["model_info", "fallback", "delta"]
    told = stream.one("fallback")
    assert (told["selected_model"], told["answered_by"], told["candidate_index"]) == ("first", "second", 1)
    assert (told["selected_endpoint_id"], told["answered_by_endpoint_id"]) == ("a", "b")
    assert told["reason"].startswith("HTTP 502: ")
    assert stream.record["endpoint_label"] == "The other"
    assert stream.record["requested_model"] == "first"
    assert stream.one("metrics")["data"]["cost"] == pytest.approx(0.02)


async def test_a_sessions_own_candidates_come_first(pair: Server, upstream: Upstream) -> None:
    session = await pair.session()
    changed = await pair.call("PATCH", f"/api/session/{session}", json={"fallback": ["b/third"]})
    assert changed["fallback"] == ["b/third"]
    stream = await (await pair.send(session)).rest()
    assert stream.one("fallback")["answered_by"] == "third"
    kept = (await pair.history(session))[1]["metadata"]["fallback"]
    assert (kept["selected_model"], kept["answered_by"]) == ("first", "third")


def test_a_price_is_the_users_then_the_listed_then_unknown() -> None:
    own = {"gpt-4o": Price(input=1, output=2)}
    assert price_of("api.openai.com", "gpt-4o-2024-08-06", own) == Price(input=1, output=2)
    assert price_of("api.openai.com", "gpt-4o-2024-08-06", {}) == Price(input=2.5, output=10.0, cached=1.25)
    assert price_of("api.openai.com", "unheard-of", {}) is None
    assert price_of("127.0.0.1", "gpt-4o", {}) is None
    assert price_of("dated", "x", {}) is None


def test_cached_input_has_its_own_price() -> None:
    usage = UsageReport(1_000_000, 500_000, cached_input_tokens=400_000)
    assert cost_of(usage, Price(input=10, output=20, cached=1)) == pytest.approx(6 + 0.4 + 10)
    assert cost_of(usage, Price(input=10, output=20)) == pytest.approx(20)
