"""Research jobs of the server: starts, resumes, cancels and ends them, each with one log for any number of readers.

A job belongs to the server and not to a client or a chat: what it has done is stored step by step, and a job that was
going when the process ended goes on with the next. Knows no request; how a frame is written is given in.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from odysseus.clock import Clock, Timer, iso
from odysseus.context.web import Fetch, Search
from odysseus.errors import Conflict, OdysseusError, ShuttingDown, StoreError
from odysseus.events import Event, ResearchEnded, ResearchProgressed, ResearchStatus, UsageReport
from odysseus.providers.base import ChatRequest
from odysseus.providers.router import Route
from odysseus.research.asking import Asker
from odysseus.research.hands import Hands
from odysseus.research.job import research
from odysseus.research.values import Budget, Report, report_json, report_of
from odysseus.runs.briefing import whole_answer
from odysseus.runs.log import Encode, RunLog
from odysseus.runs.run import OWN_FAULT
from odysseus.store.research import ResearchRow, ResearchStore

log = logging.getLogger(__name__)
T = TypeVar("T")

REPORT = "report of the job"
"""The key of the step that the whole report is."""

FindRoute = Callable[[str, str], Awaitable[Route]]
"""The route to a model at an endpoint. Raises BadRequest."""


@dataclass(frozen=True, slots=True)
class ResearchSettings:
    """What a job may do, how long its log is kept once it is over, and how many bytes of it."""

    budget: Budget
    replay_seconds: float
    replay_bytes: int


AT_ONCE = 4
"""Jobs that work side by side; more wait, in the order they were started."""

WAITS = "Waits for other research to end"


class ResearchJob:
    """A job in memory: its row as it began, its log, how far it is, and what it came to."""

    def __init__(self, row: ResearchRow, run_log: RunLog, now: float) -> None:
        self.row = row
        self.log = run_log
        self.status: ResearchStatus = "running"
        self.failure: OdysseusError | None = None
        self.report: Report | None = None
        self.asker: Asker | None = None
        self.progress: dict[str, Any] = {}
        self.pages: dict[str, dict[str, str]] = {}
        self.findings: list[dict[str, Any]] = []
        self.cancelled = False
        self.work: asyncio.Task[Report] | None = None
        self.life: asyncio.Task[None] | None = None
        self._began = now

    def begin(self, now: float) -> None:
        """The work begins; what came before was waiting."""
        self._began = now

    def spent(self, now: float) -> float:
        """Seconds of work, those of earlier lives included."""
        return self.row.seconds + now - self._began

    def publish(self, events: Sequence[Event]) -> None:
        """Show progress to everybody, and remember how far it is."""
        for event in events:
            if isinstance(event, ResearchProgressed):
                self._absorb(event.data)
        self.log.publish(events)

    def _absorb(self, data: Any) -> None:
        self.progress = {key: value for key, value in data.items() if key != "findings"}
        if data["phase"] == "reading":
            self.pages.setdefault(data["url"], {"url": data["url"], "title": data["title"]})
        self.findings += data.get("findings", ())


class ResearchDesk:
    """Owns every job from its start to its end."""

    def __init__(
        self,
        store: ResearchStore,
        find_route: FindRoute,
        web: tuple[Search, Fetch],
        clock: Clock,
        settings: ResearchSettings,
        *,
        encode: Encode,
    ) -> None:
        self.store = store
        self._find_route = find_route
        self._search, self._fetch = web
        self._clock = clock
        self._settings = settings
        self._encode = encode
        self._jobs: dict[str, ResearchJob] = {}
        self._timers: dict[str, Timer] = {}
        self._room = asyncio.Semaphore(AT_ONCE)
        self.closing = False

    def get(self, job_id: str) -> ResearchJob | None:
        """The job while it is in memory."""
        return self._jobs.get(job_id)

    def active(self) -> Sequence[ResearchJob]:
        """The jobs that are not over, the newest first."""
        return [job for job in reversed(self._jobs.values()) if job.status == "running"]

    async def start(self, question: str, route: Route, session_id: str | None = None) -> ResearchJob:
        """Begin a job. Raises NotFound when its chat is gone, ShuttingDown, StoreError."""
        if self.closing:
            raise ShuttingDown("The server is shutting down. Start the research again when it is back.")
        chosen = route.first
        row = ResearchRow(
            uuid.uuid4().hex,
            session_id,
            question,
            chosen.endpoint_id,
            chosen.model,
            asdict(self._settings.budget),
            "running",
            "",
            0.0,
            self._clock.wall(),
            None,
        )
        await self.store.begin(row)
        return self._begin(row, route)

    async def resume(self) -> int:
        """Go on with the jobs that a process before this one left. Gives their number. Raises StoreError."""
        rows = await self.store.list(running=True)
        for row in reversed(rows):
            self._begin(row, None)
        return len(rows)

    async def cancel(self, job_id: str) -> bool:
        """End a job for good; True when it was going. Returns when that is stored."""
        job = self._jobs.get(job_id)
        if job is None or job.work is None or job.work.done():
            return False
        job.cancelled = True
        job.work.cancel()
        await _ended(job)
        return True

    async def delete(self, job_id: str) -> None:
        """End a job and remove all that is stored of it. Raises NotFound, StoreError."""
        await self.cancel(job_id)
        await self.store.delete(job_id)
        self._drop(job_id)

    async def forget(self, session_id: str) -> None:
        """A chat is deleted, and the database removes its jobs with it: end them and let go of them."""
        for job in [job for job in self._jobs.values() if job.row.session_id == session_id]:
            await self.cancel(job.row.id)
            self._drop(job.row.id)

    async def report(self, job_id: str) -> Report:
        """What the job came to. Raises NotFound, and Conflict while there is no report."""
        row = await self.store.get(job_id)
        value = await self.store.step(job_id, REPORT)
        if value is not None:
            return report_of(value)
        if row.status == "running":
            raise Conflict("The research still goes on. Its report comes when it is done.")
        how = f"it failed. {row.message}" if row.message else "it was cancelled."
        raise Conflict(f"The research ended without a report: {how} Start a new one.")

    def quit(self) -> None:
        """The server stops: no new jobs, and what goes is left for the next start."""
        self.closing = True

    async def close(self) -> None:
        """Leave the jobs where they are."""
        self.closing = True
        going = self.active()
        for job in going:
            if job.work:
                job.work.cancel()
        for job in going:
            await _ended(job)
        for timer in self._timers.values():
            timer.cancel()

    def _begin(self, row: ResearchRow, route: Route | None) -> ResearchJob:
        job = ResearchJob(row, RunLog(self._encode, self._settings.replay_bytes), self._clock.monotonic())
        self._jobs[row.id] = job
        job.work = asyncio.create_task(self._work(job, route), name=f"research-work-{row.id}")
        job.life = asyncio.create_task(self._live(job, job.work), name=f"research-{row.id}")
        return job

    async def _work(self, job: ResearchJob, route: Route | None) -> Report:
        row = job.row
        job.publish([ResearchProgressed(_first(row))])
        if self._room.locked():
            job.publish([ResearchProgressed({**_first(row), "message": WAITS})])
        async with self._room:
            job.begin(self._clock.monotonic())
            return await self._written(job, route)

    async def _written(self, job: ResearchJob, route: Route | None) -> Report:
        row = job.row
        route = route or await self._find_route(row.endpoint_id, row.model)
        hands = await self._hands(job, route)
        job.asker = Asker(hands)
        report = await research(hands, job.asker)

        async def written() -> dict[str, Any]:
            return report_json(report)

        return report_of(await hands.once(REPORT, written))

    async def _hands(self, job: ResearchJob, route: Route) -> Hands:
        row, done = job.row, await self.store.steps(job.row.id)

        def spent() -> float:
            return job.spent(self._clock.monotonic())

        async def once(key: str, make: Callable[[], Awaitable[Any]]) -> Any:
            if key not in done:
                done[key] = await make()
                await self.store.add_step(row.id, key, done[key], spent())
            return done[key]

        async def in_time(make: Callable[[], Awaitable[T]]) -> T | None:
            left = row.budget["minutes"] * 60 - spent()
            return await self._within(left, make)

        return Hands(
            question=row.question,
            budget=Budget(**row.budget),
            model=row.model,
            window=await route.window(),
            today=datetime.fromtimestamp(row.started_at, UTC).date().isoformat(),
            ask=lambda request: _answer(route, request),
            search=self._search,
            fetch=self._fetch,
            once=once,
            in_time=in_time,
            publish=job.publish,
            spent=spent,
        )

    async def _within(self, seconds: float, make: Callable[[], Awaitable[T]]) -> T | None:
        """What `make` gives, or None when it has not come to its end in so many seconds."""
        if seconds <= 0:
            return None
        limit = asyncio.timeout(None)
        try:
            async with limit:
                timer = self._clock.call_later(seconds, lambda: limit.reschedule(0.0))
                try:
                    return await make()
                finally:
                    timer.cancel()
        except TimeoutError:
            if not limit.expired():
                raise
            return None

    async def _live(self, job: ResearchJob, work: asyncio.Task[Report]) -> None:
        """Wait for the work, and say how it ended whatever happens."""
        await asyncio.wait([work])
        try:
            error = asyncio.CancelledError() if work.cancelled() else work.exception()
            if error is None:
                job.report = work.result()
                await self._end(job, "done")
            elif job.cancelled:
                await self._end(job, "cancelled")
            elif not (self.closing and work.cancelled()):
                await self._end(job, "error", _failure(job, error))
        finally:
            job.log.close()
            self._timers[job.row.id] = self._clock.call_later(
                self._settings.replay_seconds, lambda: self._drop(job.row.id)
            )

    async def _end(self, job: ResearchJob, status: ResearchStatus, failure: OdysseusError | None = None) -> None:
        """Store the end, then tell of it."""
        try:
            await self.store.finish(job.row.id, status, failure.message if failure else "")
        except StoreError as error:
            log.exception("the end of research %s could not be stored", job.row.id)
            status, failure = "error", error  # as stored it still goes on, so the next start takes it up
        message = failure.message if failure else ""
        job.status, job.failure = status, failure
        if failure:
            job.publish([ResearchProgressed({"phase": "error", "message": message})])
        job.log.publish([ResearchEnded(status, message)])

    def _drop(self, job_id: str) -> None:
        self._jobs.pop(job_id, None)
        if timer := self._timers.pop(job_id, None):
            timer.cancel()


async def _ended(job: ResearchJob) -> None:
    if job.life is not None:
        await asyncio.shield(job.life)


async def _answer(route: Route, request: ChatRequest) -> dict[str, Any]:
    """The answer to a request that no reader sees, with what it used. Raises ProviderError."""
    asker = route.asker()
    usage: list[UsageReport] = []
    text = await whole_answer(asker, request, usage)
    named = [{**asdict(one), "model": one.model or asker.current.model} for one in usage]
    return {"text": text, "usage": named}


def _first(row: ResearchRow) -> dict[str, Any]:
    return {"phase": "probing", "model": row.model, "started_at": iso(row.started_at), "research_id": row.id}


def _failure(job: ResearchJob, error: BaseException) -> OdysseusError:
    if isinstance(error, OdysseusError):
        log.info("research %s failed: %s", job.row.id, error.message)
        return error
    log.error("research %s met an unexpected error", job.row.id, exc_info=error)
    return OdysseusError(OWN_FAULT)
