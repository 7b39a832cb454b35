"""What the tests of the embedded model share: a real model file, a clock moved by hand, and ways to read a stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from odysseus.events import TextDelta
from odysseus.models import catalogue
from odysseus.providers.base import ChatMessage, ChatRequest, Chunk
from odysseus.providers.local import LocalProvider

GUARD_SECONDS = 60.0


def real_model(least: int = 0) -> Path:
    """The smallest installed model of at least so many bytes.

    Without one the test is skipped, or fails when everything is required.
    """
    default = Path(__file__).parents[2] / "data" / "models"
    folder = Path(os.environ.get("ODYSSEUS_TEST_MODELS") or default)
    here = [model for model in catalogue.installed(folder) if model.size >= least]
    if here:
        return min(here, key=lambda model: model.size).path.resolve()
    reason = "no embedded model is installed; run `python server.py model install` or set ODYSSEUS_TEST_MODELS"
    if os.environ.get("ODYSSEUS_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass
class Pending:
    """A timer of the ManualClock."""

    due: float
    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass
class ManualClock:
    """Time that moves only by `advance`."""

    now: float = 0.0
    pending: list[Pending] = field(default_factory=list)

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Pending:
        self.pending.append(Pending(self.now + seconds, callback))
        return self.pending[-1]

    def advance(self, seconds: float) -> None:
        """Move on, and fire what is due."""
        self.now += seconds
        due = [timer for timer in self.pending if timer.due <= self.now]
        self.pending = [timer for timer in self.pending if timer.due > self.now]
        for timer in due:
            if not timer.cancelled:
                timer.callback()


def ask(words: str = "Write a long story about the sea.", *, model: str = "", max_tokens: int = 12) -> ChatRequest:
    """A request with one message."""
    return ChatRequest(model, (ChatMessage("user", words),), temperature=0, max_tokens=max_tokens)


async def answer(provider: LocalProvider, request: ChatRequest) -> list[Chunk]:
    """The whole answer."""
    async with aclosing(provider.stream(request)) as stream:
        return [chunk async for batch in stream for chunk in batch]


def text(chunks: Sequence[Chunk]) -> str:
    """The text of an answer."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
