"""What a research job is given to work with: a model, the web, steps that are done once, and ears for its progress.

All are functions, so that the job knows neither who answers nor where its steps are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from odysseus.context.web import Fetch, Search
from odysseus.events import Event, ResearchProgressed
from odysseus.providers.base import ChatRequest
from odysseus.research.values import Budget

T = TypeVar("T")
S = TypeVar("S")

FETCHES = 4
"""Pages that are fetched side by side, and searches."""
TIME_IS_UP = "The time for the research was up."
READINGS = 3
"""Requests to the model side by side; the embedded one takes them in turn."""


class Once(Protocol):
    """Does a step, or gives what it came to when it was done before, also by a process that has died since."""

    async def __call__(self, key: str, make: Callable[[], Awaitable[Any]], /) -> Any:
        """A JSON value. What `make` raises passes, and the step is not done then."""
        ...


class Ask(Protocol):
    """Who answers."""

    async def __call__(self, request: ChatRequest, /) -> dict[str, Any]:
        """`{"text", "usage": [...]}`. Raises ProviderError."""
        ...


class InTime(Protocol):
    """Does something within the time that is left for reading, and ends it when that is over."""

    async def __call__(self, make: Callable[[], Awaitable[T]], /) -> T | None:
        """None when the time was up before."""
        ...


@dataclass(frozen=True, slots=True)
class Hands:
    """Of one job. `window` is the model's in tokens, `spent` the seconds of work so far, `today` a date."""

    question: str
    budget: Budget
    model: str
    window: int
    today: str
    ask: Ask
    search: Search
    fetch: Fetch
    once: Once
    in_time: InTime
    publish: Callable[[Sequence[Event]], None]
    spent: Callable[[], float]

    def progress(self, phase: str, **fields: Any) -> None:
        """Tell how far it is (chat stream, section 3)."""
        self.publish([ResearchProgressed({"phase": phase, **fields})])


async def side_by_side(most: int, work: Callable[[S], Awaitable[T]], items: Sequence[S]) -> list[T]:
    """The results in the order of the items, at most so many at once. The first failure ends the others."""
    gate = asyncio.Semaphore(most)

    async def one(item: S) -> T:
        async with gate:
            return await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in items]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return [task.result() for task in tasks]
