"""Who answers: one candidate after the other, asked again where that can help, left only before it has said anything.

The rules are the chat stream's (section 3, `fallback`): nothing substantive of a failed candidate is ever shown, and
what the user did wrong (400, 401, 403, 404) is told at once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from odysseus.config import Price
from odysseus.errors import ProviderError
from odysseus.events import ContextTrimmed, FellBack, ReasoningDelta, Retrying, TextDelta, UsageReport
from odysseus.providers.base import ChatRequest, Chunk, Provider, ToolCall, ToolCallFragment
from odysseus.providers.pricing import cost_of
from odysseus.text import clipped

FALLBACK_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 508, 529})
RETRIES = 2
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 20.0
REASON_LIMIT = 200
COOLDOWN_AFTER = 3
COOLDOWN_SECONDS = 30.0

Answer = Chunk | Retrying | FellBack | ContextTrimmed
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model at an endpoint. `host` is what a cooldown is kept for.

    `shows_tools` says whether the tools on offer take room in the prompt, as they do everywhere but in the embedded
    model, which chooses them in requests of their own. `pictures` says that it makes those, and no words.
    """

    endpoint_id: str
    endpoint_label: str
    model: str
    provider: Provider
    host: str = ""
    context_length: int | None = None
    vision: bool = False
    price: Price | None = None
    shows_tools: bool = True
    pictures: bool = False


Refit = Callable[[Candidate, ChatRequest], Awaitable[tuple[ChatRequest, Sequence[ContextTrimmed]]]]
"""Makes a request fit another candidate's window, and says what had to leave for it."""


class Cooldowns:
    """Hosts that could not be reached several times in a row, each left alone for a while."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failures: dict[str, tuple[int, float]] = {}

    def failed(self, host: str) -> None:
        """One more connection failure."""
        count, _ = self._failures.get(host, (0, 0.0))
        self._failures[host] = (count + 1, self._now())

    def answered(self, host: str) -> None:
        """The host is there."""
        self._failures.pop(host, None)

    def cooling(self, host: str) -> bool:
        """Whether it is better not to wait for this host just now."""
        count, since = self._failures.get(host, (0, 0.0))
        return count >= COOLDOWN_AFTER and self._now() - since < COOLDOWN_SECONDS


class Asker:
    """Asks the candidates of one run. The one that has answered is asked again for the run's next rounds."""

    def __init__(self, candidates: Sequence[Candidate], cooldowns: Cooldowns, sleep: Sleep = asyncio.sleep) -> None:
        self._candidates = candidates
        self._cooldowns = cooldowns
        self._sleep = sleep
        self.asked = False
        self._index = 0
        self._settled = False  # for the run: the candidate has answered, and stays
        self._begun = False  # of this request: output has been given

    @property
    def current(self) -> Candidate:
        """The candidate that answers, or is asked first."""
        return self._candidates[self._index]

    async def ask(self, request: ChatRequest, refit: Refit | None = None) -> AsyncIterator[Sequence[Answer]]:
        """Batches of the candidate that answers; before them what was tried. Raises ProviderError."""
        selected = self.current
        self.asked, self._begun = True, False
        while True:
            try:
                async with aclosing(self._ask_patiently(request)) as batches:
                    async for batch in batches:
                        yield batch
                return
            except ProviderError as error:
                following = self._next()
                if self._settled or following is None or not may_fall_back(error):
                    raise
                self._index = following
                request, told = await refit(self.current, request) if refit else (request, ())
                yield [self._fell_back(selected, error), *told]

    def _next(self) -> int | None:
        """The next candidate; one whose host is cooling down is passed over while another is left."""
        left = range(self._index + 1, len(self._candidates))
        ready = [index for index in left if not self._cooldowns.cooling(self._candidates[index].host)]
        return next(iter(ready or left), None)

    async def _ask_patiently(self, request: ChatRequest) -> AsyncGenerator[Sequence[Answer], None]:
        """One candidate, asked again after a pause when no other is left to ask."""
        for attempt in range(1, RETRIES + 2):
            try:
                async with aclosing(self._ask_once(request)) as batches:
                    async for batch in batches:
                        yield batch
                return
            except ProviderError as error:
                pause = pause_before(attempt, error)
                others = not self._settled and self._next() is not None
                if self._begun or pause is None or others or self._cooldowns.cooling(self.current.host):
                    raise
                yield [Retrying(attempt, RETRIES, round(pause, 1), reason_of(error))]
                await self._sleep(pause)

    async def _ask_once(self, request: ChatRequest) -> AsyncGenerator[Sequence[Answer], None]:
        """One request. What comes before the first substantive output is held back, and lost with a failure."""
        candidate = self.current
        held: list[Answer] = []
        stream = cast(Any, candidate.provider.stream(replace(request, model=candidate.model)))
        try:
            async with aclosing(stream) as batches:
                async for batch in batches:
                    if self._begun:
                        yield _priced(batch, candidate)
                        continue
                    held += _priced(batch, candidate)
                    if any(map(is_substantive, batch)):
                        self._settle(candidate)
                        yield held
        except ProviderError as error:
            if error.unreachable:
                self._cooldowns.failed(candidate.host)
            raise
        if not self._begun:
            self._settle(candidate)
            yield held

    def _settle(self, candidate: Candidate) -> None:
        self._settled = self._begun = True
        self._cooldowns.answered(candidate.host)

    def _fell_back(self, selected: Candidate, error: ProviderError) -> FellBack:
        answering = self.current
        return FellBack(
            selected_model=selected.model,
            answered_by=answering.model,
            reason=reason_of(error),
            candidate_index=self._index,
            selected_endpoint_id=selected.endpoint_id,
            answered_by_endpoint_id=answering.endpoint_id,
            answered_by_label=answering.endpoint_label,
            context_length=answering.context_length,
        )


def is_substantive(chunk: Chunk) -> bool:
    """Whether a reader has been given something that cannot be taken back."""
    if isinstance(chunk, TextDelta | ReasoningDelta):
        return bool(chunk.text.strip())
    return isinstance(chunk, ToolCall | ToolCallFragment)


def may_fall_back(error: ProviderError) -> bool:
    """Whether another candidate could do better."""
    return error.unreachable or error.status in FALLBACK_STATUSES


def pause_before(attempt: int, error: ProviderError) -> float | None:
    """Seconds to wait before asking again; None when it is no use. A provider's own Retry-After counts."""
    if attempt > RETRIES or not error.retryable or not (error.status == 429 or error.status >= 500):
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_PAUSE else None
    if error.status == 504:
        return None  # it was silent for minutes already
    return FIRST_PAUSE * float(2 ** (attempt - 1)) * random.uniform(0.8, 1.2)


def reason_of(error: ProviderError) -> str:
    """Like `HTTP 503: text`, at most 200 characters."""
    text = error.message if error.message.startswith("HTTP ") else f"HTTP {error.status}: {error.message}"
    return clipped(text, REASON_LIMIT)


def _priced(batch: Sequence[Chunk], candidate: Candidate) -> Sequence[Chunk]:
    """The batch with the cost in its usage, where the provider told none and the price is known."""
    if candidate.price is None or not any(isinstance(chunk, UsageReport) for chunk in batch):
        return batch
    price = candidate.price
    return [
        replace(chunk, cost=cost_of(chunk, price)) if isinstance(chunk, UsageReport) and chunk.cost is None else chunk
        for chunk in batch
    ]
