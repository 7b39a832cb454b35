"""Time as a seam: everything that waits or stamps takes a Clock, so that tests can move it by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    """A pending call that can be taken back."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Where the time comes from."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back once on the event loop after so many seconds."""
        ...


class SystemClock:
    """The real time."""

    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)


def iso(wall: float) -> str:
    """Epoch seconds as ISO 8601 in UTC with milliseconds, like `2026-01-31T09:05:00.250Z`."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
