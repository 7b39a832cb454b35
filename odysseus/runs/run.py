"""One run: its task, its stop, its watchdog, its one terminal record.

    running ── turn ends ──────────────── closing ── completed
            ── turn raises ──────────────         ── failed
            ── stop(reason) cancels it ──         ── stopped, timeout, interrupted

The turn runs in a task of its own that a stop cancels. The life around it is never cancelled: whatever happens, it
counts, saves, and says how it ended. Requests only read the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from odysseus.clock import Clock, Timer
from odysseus.errors import OdysseusError, StoreError
from odysseus.events import (
    Event,
    MessageSaved,
    Metrics,
    ResearchDone,
    RunEnded,
    RunFailed,
    RunStatus,
    RunTimedOut,
    StopReason,
    StreamDone,
    UsageReport,
)
from odysseus.providers.base import Finished
from odysseus.runs.draft import Draft
from odysseus.runs.log import RunLog
from odysseus.runs.record import Ending, Failure, Identity, Timing, metrics, terminal_record
from odysseus.runs.trace import research_id

log = logging.getLogger(__name__)

STATUS_OF: Mapping[StopReason, RunStatus] = {
    "wall_clock_timeout": "timeout",
    "idle_timeout": "timeout",
    "server_shutdown": "interrupted",
}
OWN_FAULT = "The server met an error of its own. The log has the details; try again."
SHUT_DOWN = "The server is shutting down."


class Recorder(Protocol):
    """Keeps what a run leaves behind. Both raise StoreError."""

    def answer_id(self, run: Run, ending: Ending) -> str | None:
        """The id that the answer will be stored under; None when this run leaves no message."""
        ...

    async def save(self, run: Run, record: Mapping[str, Any]) -> None:
        """Commit the terminal record, and the answer when `record["message_id"]` names one."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds."""

    wall: float
    idle: float


@dataclass(frozen=True, slots=True)
class Work:
    """What a run does, and what it has probably used when no usage was told; None when no model was asked."""

    turn: Callable[[Callable[[Sequence[Event]], None]], Awaitable[Finished | None]]
    estimate: Callable[[Draft], UsageReport | None]


class Run:
    """A run from its start to its record."""

    def __init__(
        self, identity: Identity, query: str, run_log: RunLog, clock: Clock, limits: Limits, *, detached: bool
    ) -> None:
        self.identity = identity
        self.query = query
        self.log = run_log
        self.draft = Draft()
        self.detached = detached
        self.discarded = False
        self.is_research = False
        self.ending: Ending | None = None
        self.record: Mapping[str, Any] = {}
        self._clock = clock
        self._limits = limits
        self._started = clock.monotonic()
        self._stop_reason: StopReason | None = None
        self._failure: OdysseusError | None = None
        self._work: asyncio.Task[Finished | None] | None = None
        self._life: asyncio.Task[None] | None = None
        self._timers: list[Timer] = []

    @property
    def id(self) -> str:
        """32 hex digits."""
        return self.identity.run_id

    @property
    def running(self) -> bool:
        """Whether the turn still goes on, so that a stop would change something."""
        return self._work is not None and not self._work.done()

    @property
    def over(self) -> bool:
        """Whether the record is written and the log closed."""
        return self.log.closed

    def start(self, work: Work, recorder: Recorder) -> None:
        """Begin. The life holds itself; nobody has to wait for it."""
        self._work = asyncio.create_task(self._turn(work), name=f"turn-{self.id}")
        self._life = asyncio.create_task(self._live(work, recorder), name=f"run-{self.id}")
        self._watch()

    def publish(self, events: Sequence[Event]) -> None:
        """Show events to everybody, and remember what they said."""
        self.log.publish(events)  # raises when the run is over
        self.draft.absorb(events, self._clock.monotonic())

    def stop(self, reason: StopReason) -> bool:
        """End the turn for this reason; False when it had ended already. The first reason stands."""
        if not self.running or self._work is None:
            return False
        if self._stop_reason is None:
            self._stop_reason = reason
            self._work.cancel()
        return True

    def fail(self, error: OdysseusError) -> None:
        """End the turn as failed, for a fault that lies outside it."""
        self._failure = self._failure or error
        self.stop("error")

    async def finished(self) -> None:
        """Return when the record is written and the log closed."""
        if self._life is not None:
            await asyncio.shield(self._life)

    async def _turn(self, work: Work) -> Finished | None:
        return await work.turn(self.publish)

    async def _live(self, work: Work, recorder: Recorder) -> None:
        assert self._work is not None
        await asyncio.wait([self._work])
        for timer in self._timers:
            timer.cancel()
        self.ending = self._ending_of(self._work)
        try:
            self.publish(self._figures(work, self.ending))
            self.publish(await self._record(recorder, self.ending))
        finally:
            self.log.close()

    def _ending_of(self, work: asyncio.Task[Finished | None]) -> Ending:
        if self._failure is not None:
            return Ending("failed", "error", failure=Failure(self._failure.status, self._failure.message))
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if self._stop_reason is not None:  # whatever the turn makes of being stopped
            return Ending(STATUS_OF.get(self._stop_reason, "stopped"), self._stop_reason)
        if isinstance(error, OdysseusError):
            log.info("run %s failed: %s %s", self.id, error.status, error.message)
            return Ending("failed", "error", failure=Failure(error.status, error.message))
        if error is not None:
            log.error("run %s met an unexpected error", self.id, exc_info=error)
            return Ending("failed", "error", failure=Failure(500, OWN_FAULT))
        finished = work.result() or Finished(None)
        return Ending("completed", finish_reason=finished.reason, finish_word=finished.raw)

    def _figures(self, work: Work, ending: Ending) -> list[Event]:
        """What comes between the last delta and the record; nothing for a failure without output."""
        events: list[Event] = []
        if ending.stop_reason in {"wall_clock_timeout", "idle_timeout"}:
            events.append(self._timed_out(ending.stop_reason))
        if ending.status in {"failed", "interrupted"} and not self.draft.has_output:
            return events
        produced = self.draft.produced
        if not produced.usage and (usage := work.estimate(self.draft)):
            produced = replace(produced, usage=[usage])
            events.append(usage)
        return [*events, Metrics(metrics(self.identity, produced, self._timing()))]

    async def _record(self, recorder: Recorder, ending: Ending) -> list[Event]:
        message_id = recorder.answer_id(self, ending)
        record = self._terminal(ending, message_id)
        try:
            await recorder.save(self, record)
        except Exception as error:  # noqa: BLE001 - a run always says how it ended
            self.ending = ending = self._lost(error)
            message_id, record = None, self._terminal(ending, None)
        self.record = record
        saved: list[Event] = [MessageSaved(message_id)] if message_id else []
        saved += self._researched(ending)
        return [*saved, RunEnded(self.identity.mode, record), self._last(ending)]

    def _lost(self, error: Exception) -> Ending:
        """The ending of a run whose record could not be stored. Its checkpoints stay for the next start."""
        log.error("run %s could not be saved", self.id, exc_info=error)
        failure = Failure(error.status, error.message) if isinstance(error, StoreError) else Failure(500, OWN_FAULT)
        return Ending("failed", "error", failure=failure)

    def _terminal(self, ending: Ending, message_id: str | None) -> dict[str, Any]:
        frames = self.log.end + (3 if message_id else 2) + len(self._researched(ending))
        return terminal_record(
            self.identity, ending, self.draft.produced, self._timing(), message_id=message_id, frames=frames
        )

    def _researched(self, ending: Ending) -> list[Event]:
        """What tells that the answer came from a research job."""
        job = research_id(self.draft.steps) if ending.status == "completed" else ""
        return [ResearchDone(self.identity.session_id, job)] if job else []

    def _last(self, ending: Ending) -> Event:
        if ending.failure is not None:
            return RunFailed(ending.failure.message, ending.failure.status or 500)
        return RunFailed(SHUT_DOWN, 503) if ending.status == "interrupted" else StreamDone()

    def _timing(self) -> Timing:
        first = self.draft.first_output_at
        return Timing(self._clock.monotonic() - self._started, None if first is None else first - self._started)

    def _watch(self) -> None:
        self._timers = [
            self._clock.call_later(self._limits.wall, lambda: void(self.stop("wall_clock_timeout"))),
            self._clock.call_later(self._limits.idle, self._check_idle),
        ]

    def _check_idle(self) -> None:
        """Stop when nothing came for the whole limit, else look again when it could have passed."""
        left = (self.draft.last_event_at or self._started) + self._limits.idle - self._clock.monotonic()
        if left <= 0:
            self.stop("idle_timeout")
        elif self.running:
            self._timers[1] = self._clock.call_later(left, self._check_idle)

    def _timed_out(self, reason: Any) -> RunTimedOut:
        idle = reason == "idle_timeout"
        seconds = self._limits.idle if idle else self._limits.wall
        words = "No output came" if idle else "The answer was not finished"
        return RunTimedOut(reason, f"{words} within {seconds:g} seconds.", self._limits.wall, self._limits.idle)


def void(_: object) -> None:
    """Throw a result away, where a callback must give none."""
