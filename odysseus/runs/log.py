"""The run's log: events in order, each with its frame, and any number of readers at their own pace.

A frame is encoded once. Its number is its place in the log, from 1, without holes. A subscription is a cursor and a
wake-up; one that has read everything and has a free socket gets new frames pushed straight to it. Between replay and
live there is no seam: both are "the frames after the cursor". Knows no dialect and no socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from odysseus.events import Event

Encode = Callable[[Event], bytes | None]
"""An event as its frame's bytes; None when the run's dialect has no frame for it."""

Sink = Callable[[bytes], bool]
"""Takes whole frames at once; False when it cannot just now."""

FRAME_OVERHEAD = 240
"""Bytes of memory that a short event and its frame take besides the frame's own text twice."""


class RunLog:
    """Append-only while the run goes on; past `limit` bytes the oldest frames leave."""

    def __init__(self, encode: Encode, limit: int, on_unread: Callable[[], None] = lambda: None) -> None:
        self._encode = encode
        self._limit = limit
        self._on_unread = on_unread
        self._events: list[Event] = []
        self._frames: list[bytes] = []
        self._dropped = 0
        self._bytes = 0
        self._subscriptions: set[Subscription] = set()
        self.closed = False

    @property
    def end(self) -> int:
        """The number of the newest frame, 0 before the first."""
        return self._dropped + len(self._frames)

    @property
    def dropped(self) -> int:
        """The number of the newest frame that has left the buffer, 0 when all are there."""
        return self._dropped

    @property
    def subscribers(self) -> int:
        """How many read it now."""
        return len(self._subscriptions)

    def publish(self, events: Sequence[Event]) -> None:
        """Append events and wake or feed every subscriber once for all of them."""
        if self.closed:
            raise RuntimeError("the run is over")
        before = self.end
        encode, frames, kept = self._encode, self._frames, self._events
        first = len(frames)
        for event in events:
            frame = encode(event)
            if frame is not None:
                frames.append(frame)
                kept.append(event)
        if len(frames) == first:
            return
        fresh = frames[first] if len(frames) == first + 1 else b"".join(frames[first:])
        for subscription in self._subscriptions:
            subscription.offer(before, self.end, fresh)
        self._bytes += 2 * len(fresh) + FRAME_OVERHEAD * (len(frames) - first)
        if self._bytes > self._limit:
            self._shrink()

    def close(self) -> None:
        """Nothing more will come; subscribers end when they have read what there is."""
        self.closed = True
        for subscription in self._subscriptions:
            subscription.wake()
        self._tell_unread()

    def subscribe(self, after: int = 0, sink: Sink | None = None) -> Subscription:
        """Read the frames after number `after`, which must not be beyond the end."""
        subscription = Subscription(self, after, sink)
        self._subscriptions.add(subscription)
        return subscription

    def frames_after(self, cursor: int, most_bytes: int) -> list[bytes]:
        """Frames that follow `cursor`, at least one if there is any, until `most_bytes` are full."""
        frames: list[bytes] = []
        size = 0
        for index in range(cursor - self._dropped, len(self._frames)):
            size += len(self._frames[index])
            if frames and size > most_bytes:
                break
            frames.append(self._frames[index])
        return frames

    def events_after(self, cursor: int, most: int) -> Sequence[Event]:
        """The same as values, at most so many."""
        start = cursor - self._dropped
        return self._events[start : start + most]

    def forget(self, subscription: Subscription) -> None:
        """A subscriber has left."""
        self._subscriptions.discard(subscription)
        self._tell_unread()

    def _tell_unread(self) -> None:
        """Say that the run is over and nobody reads it."""
        if self.closed and not self._subscriptions:
            self._on_unread()

    def _shrink(self) -> None:
        """Drop the oldest frames down to seven eighths of the limit, so that it seldom has to be done."""
        target, count = self._limit * 7 // 8, 0
        while self._bytes > target and count < len(self._frames) - 1:
            self._bytes -= 2 * len(self._frames[count]) + FRAME_OVERHEAD
            count += 1
        del self._frames[:count]
        del self._events[:count]
        self._dropped += count


class Subscription:
    """One reader. `cursor` is the number of the last frame it has taken."""

    def __init__(self, log: RunLog, after: int, sink: Sink | None) -> None:
        self._log = log
        self._sink = sink
        self._waker: asyncio.Future[None] | None = None
        self.cursor = after

    @property
    def ended(self) -> bool:
        """The run is over and all of it has been taken."""
        return self._log.closed and self.cursor >= self._log.end

    def offer(self, before: int, end: int, fresh: bytes) -> None:
        """New frames `before + 1` to `end`: push them when nothing stands before them, else wake the reader."""
        if self._sink is not None and self.cursor == before and self._sink(fresh):
            self.cursor = end
        else:
            self.wake()

    def wake(self) -> None:
        """Let `wait` return."""
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    async def wait(self) -> None:
        """Return when there is something to take or the run is over."""
        if self.cursor < self._log.end or self._log.closed:
            return
        self._waker = asyncio.get_running_loop().create_future()
        try:
            await self._waker
        finally:
            self._waker = None

    @property
    def gap(self) -> bool:
        """Whether frames after the cursor have left the buffer."""
        return self.cursor < self._log.dropped

    def skip_gap(self) -> tuple[int, int] | None:
        """The first and last number of the frames that left the buffer unread, if any; the cursor moves past them."""
        if not self.gap:
            return None
        gap = (self.cursor + 1, self._log.dropped)
        self.cursor = self._log.dropped
        return gap

    def take_frames(self, most_bytes: int) -> list[bytes]:
        """The next frames. Call `skip_gap` first."""
        frames = self._log.frames_after(self.cursor, most_bytes)
        self.cursor += len(frames)
        return frames

    def take_events(self, most: int) -> Sequence[Event]:
        """The next events. Call `skip_gap` first."""
        events = self._log.events_after(self.cursor, most)
        self.cursor += len(events)
        return events

    def coming_events(self) -> Sequence[Event]:
        """All events after the cursor, left where they are."""
        return self._log.events_after(self.cursor, self._log.end - self.cursor)

    def close(self) -> None:
        """Stop reading."""
        self._log.forget(self)
