"""All runs of the server, by session: starts, replaces, stops, evicts and ends them.

One session has one run at a time; a second send stops the first and begins when its partial answer is stored. Knows
no request and no dialect: who starts a run brings the encoder and says whether the run outlives its client.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from odysseus.agent.approvals import Sealed
from odysseus.agent.loop import run_chat
from odysseus.agent.request import Publish, estimated_usage
from odysseus.clock import Clock, Timer
from odysseus.context.builder import system_text
from odysseus.context.turns import Turn
from odysseus.errors import Conflict, ShuttingDown
from odysseus.events import Mode, StopReason, UsageReport
from odysseus.providers.base import ChatRequest, Finished
from odysseus.providers.pricing import cost_of
from odysseus.runs.afterwards import Afterwards, Said
from odysseus.runs.agent_work import AgentDesk, Job, wish_of
from odysseus.runs.approvals import STATE_OF
from odysseus.runs.ask import Ask
from odysseus.runs.briefing import Question
from odysseus.runs.checkpoint import Checkpointer
from odysseus.runs.draft import Draft
from odysseus.runs.log import Encode, RunLog
from odysseus.runs.picture_turn import Draw, check_picture, picture_turn
from odysseus.runs.record import Identity
from odysseus.runs.recorder import IncognitoRecorder, StoreRecorder
from odysseus.runs.research import ResearchDesk
from odysseus.runs.research_turn import research_turn
from odysseus.runs.run import Limits, Recorder, Run, Work
from odysseus.runs.trace import given_of
from odysseus.store.placing import Place
from odysseus.store.runs import Begun, Decided, RunStart, RunStore
from odysseus.store.uploads import Upload

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Limits in seconds and bytes."""

    limits: Limits
    replay_seconds: float
    replay_bytes: int
    checkpoint_seconds: float


class RunRegistry:
    """Owns every run from its start to its eviction."""

    def __init__(
        self,
        runs: RunStore,
        desk: AgentDesk,
        afterwards: Afterwards,
        clock: Clock,
        settings: RunSettings,
        *,
        research: ResearchDesk,
        draw: Draw,
    ) -> None:
        self._store = runs
        self._briefing = desk.briefing
        self._desk = desk
        self._afterwards = afterwards
        self._research = research
        self._draw = draw
        self._clock = clock
        self._settings = settings
        self._runs: dict[str, Run] = {}
        self._evictions: dict[str, Timer] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._queues: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._incognito: dict[str, list[Turn]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._checkpointer = Checkpointer(runs, self.going, settings.checkpoint_seconds)

    def going(self) -> list[Run]:
        """The runs that are not over and may be stored."""
        return [run for run in self._runs.values() if not run.over and run.identity.record_id is not None]

    def count(self) -> int:
        """How many runs are not over."""
        return sum(not run.over for run in self._runs.values())

    def get(self, session_id: str) -> Run | None:
        """The session's run that can be resumed: going, or over and not yet evicted."""
        run = self._runs.get(session_id)
        return run if run and run.detached else None

    def is_running(self, session_id: str) -> bool:
        """Whether the session has a run that is not over."""
        run = self._runs.get(session_id)
        return run is not None and not run.over

    async def start(self, ask: Ask, encode: Encode) -> Run:
        """Begin a run. A caller that goes away in the meantime leaves a detached run, and stops another.

        Raises ShuttingDown, NotFound, Conflict for an approval, StoreError; then nothing is stored.
        """
        self._check_open()
        task = self._own(self._start_patiently(ask, encode) if ask.patient else self._start(ask, encode))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not ask.detached:
                task.add_done_callback(_stop_abandoned)
            raise

    async def stop(self, session_id: str, run_id: str) -> bool:
        """Stop this very run; True when it was running. Returns when its partial answer is stored."""
        run = self._runs.get(session_id)
        if run is None or run.id != run_id or not run.stop("user_stop"):
            return False
        await run.finished()
        return True

    @asynccontextmanager
    async def quiet(self, session_id: str, *, discard: bool = False) -> AsyncIterator[None]:
        """Stop what runs in the session and let nothing begin meanwhile. With `discard` it leaves nothing behind."""
        async with self._lock(session_id):
            await self._retire(session_id, "user_stop", discard=discard)
            await self._store.retire_approvals(session_id)
            self._desk.approvals.forget(session_id)
            yield
            if discard:
                self._forget(session_id)
                await self._research.forget(session_id)
                await self._desk.forget(session_id)

    @asynccontextmanager
    async def still(self, session_id: str) -> AsyncIterator[None]:
        """Let nothing begin in the session meanwhile, and nothing wait for the user. Raises Conflict during a run."""
        async with self._lock(session_id):
            if self.is_running(session_id):
                raise Conflict("A run goes on in this session. Wait for its end, or stop it.")
            await self._store.retire_approvals(session_id)
            self._desk.approvals.forget(session_id)
            yield

    async def close(self) -> None:
        """Take no more runs, end those that go, and let them store their records."""
        self._closing = True
        self._research.quit()
        for run in self._runs.values():
            run.stop("server_shutdown")
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        for run in self._runs.values():
            run.stop("server_shutdown")
        for run in list(self._runs.values()):
            await run.finished()
        for timer in self._evictions.values():
            timer.cancel()
        await self._checkpointer.close()
        await self._afterwards.close()
        await self._desk.close()

    def _own(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _lock(self, session_id: str) -> asyncio.Lock:
        lock = self._locks.get(session_id)
        if lock is None:
            lock = self._locks[session_id] = asyncio.Lock()
        return lock

    async def _start_patiently(self, ask: Ask, encode: Encode) -> Run:
        """One after the other, in the order they came."""
        async with self._queues.setdefault(ask.session_id, asyncio.Lock()):
            while (run := self._runs.get(ask.session_id)) and not run.over:
                await run.finished()
            self._check_open()
            return await self._start(ask, encode)

    def _check_open(self) -> None:
        if self._closing:
            raise ShuttingDown("The server is shutting down. Send the message again when it is back.")

    async def _start(self, ask: Ask, encode: Encode) -> Run:
        async with self._lock(ask.session_id):
            ask, sealed = await self._decided(await self._placed(ask))  # a refused one leaves a run that goes alone
            uploads = await self._briefing.sources.attached(ask.context)
            if ask.route.first.pictures:
                check_picture(files=bool(uploads), incognito=ask.incognito, research=ask.research)
            await self._retire(ask.session_id, "replaced")
            await self._afterwards.make_way(ask.route)
            run_id = uuid.uuid4().hex
            question = replace(await self._question(ask), uploads=uploads)
            if ask.incognito:  # it stores nothing of its own, but what waits for the user waits no longer
                await self._store.retire_approvals(ask.session_id)
            begun = None if ask.incognito else await self._store.begin(_run_start(run_id, ask, sealed, uploads))
            self._desk.approvals.forget(ask.session_id)
            run = self._make(_identity(run_id, ask, begun, self._clock.wall()), ask, encode)
            self._runs[ask.session_id] = run
            job = Job(run.identity, ask.agent, ask.route.asker(), question, sealed)
            run.start(self._work_of(ask, job), self._recorder(ask))
            if self._afterwards.on and ask.detached and not (ask.research or ask.route.first.pictures):
                self._own(self._see_out(run, ask))
            self._checkpointer.begin()
            return run

    async def _see_out(self, run: Run, ask: Ask) -> None:
        """When the user's own chat has an answer, something of it may be worth remembering."""
        await run.finished()
        if run.record.get("status") != "completed" or ask.incognito or ask.agent.profile or self._closing:
            return
        if ask.place.again:  # its words were looked at with the first answer
            return
        outside = bool(given_of(run.draft.steps).get("given_outside")) or run.record["tool_calls"] > 0
        self._afterwards.begin(ask.route, Said(ask.session_id, ask.message, run.draft.text, outside))

    async def _placed(self, ask: Ask) -> Ask:
        """The ask with the question that it names, if any, and what that stands behind."""
        if not ask.place.again:
            if ask.place.behind:
                await self._store.check(ask.session_id, ask.place.behind)
            return ask
        question = await self._store.question(ask.session_id, ask.place.again)
        return replace(
            ask,
            message=question.text,
            place=Place(question.behind, question.id),
            context=replace(ask.context, attachments=tuple(file["id"] for file in question.files), told=question.files),
        )

    async def _decided(self, ask: Ask) -> tuple[Ask, Sealed | None]:
        """The sealed call that the user has decided on, and the ask with the wishes it was sealed under."""
        if ask.agent.decision is None:
            return ask, None
        sealed = await self._desk.approvals.pending(ask.agent.approval_id, ask.session_id)
        return replace(ask, mode="agent", agent=wish_of(sealed, ask.agent)), sealed

    def _make(self, identity: Identity, ask: Ask, encode: Encode) -> Run:
        def unread() -> None:
            self._settle(run)

        log = RunLog(encode, self._settings.replay_bytes, unread)
        run = Run(identity, ask.message, log, self._clock, self._settings.limits, detached=ask.detached)
        run.is_research = ask.research
        return run

    async def _question(self, ask: Ask) -> Question:
        system = self._desk.system_prompt(ask.system_prompt, ask.agent) if ask.mode == "agent" else ask.system_prompt
        return Question(
            ask.route,
            system_text(system, ask.user_clock, self._clock.wall()),
            await self._briefing.keeper.past(ask.session_id, ask.place.behind),
            "" if ask.agent.decision else ask.message,
            ask.given,
            tuple(self._incognito.get(ask.session_id, ())) if ask.incognito else (),
            ask.context,
            temperature=ask.temperature,
            max_tokens=ask.max_tokens,
            incognito=ask.incognito,
        )

    def _work_of(self, ask: Ask, job: Job) -> Work:
        if ask.research:
            return self._researching(ask)
        draws = ask.route.first.pictures and not ask.agent.decision
        return self._picturing(ask) if draws else self._work(job, ask.mode)

    def _work(self, job: Job, mode: Mode) -> Work:
        first: list[ChatRequest] = []

        async def turn(publish: Publish) -> Finished | None:
            if mode == "agent":
                return await self._desk.run(job, publish, first.append)
            briefed = await self._briefing.brief(job.asked)
            first.append(briefed.request)
            return await run_chat(
                job.asker, briefed.request, publish, briefed.refit, before=briefed.events, usage=briefed.usage
            )

        def estimate(draft: Draft) -> UsageReport | None:
            if not job.asker.asked or not first:
                return None
            usage = estimated_usage(first[0], draft.text, draft.thinking)
            price = job.asker.current.price
            return replace(usage, cost=cost_of(usage, price)) if price else usage

        return Work(turn, estimate)

    def _researching(self, ask: Ask) -> Work:
        async def turn(publish: Publish) -> Finished | None:
            return await research_turn(self._research, ask.message, ask.route, ask.session_id, publish)

        return Work(turn, lambda _: None)

    def _picturing(self, ask: Ask) -> Work:
        async def turn(publish: Publish) -> Finished | None:
            return await picture_turn(self._draw, ask.route, ask.message, publish)

        return Work(turn, lambda _: None)

    def _recorder(self, ask: Ask) -> Recorder:
        if ask.incognito:
            return IncognitoRecorder(self._incognito.setdefault(ask.session_id, []))
        return StoreRecorder(self._store, self._clock, ask.answer_id)

    async def _retire(self, session_id: str, reason: StopReason, *, discard: bool = False) -> None:
        """End the session's run, if it has one, and wait until it is stored."""
        run = self._runs.get(session_id)
        if run is None:
            return
        run.discarded = run.discarded or discard
        run.stop(reason)
        await run.finished()

    def _settle(self, run: Run) -> None:
        """Nobody reads this finished run: count its time down anew, or drop it when nobody can come back to it."""
        session_id = run.identity.session_id
        if self._runs.get(session_id) is not run:
            return
        if (pending := self._evictions.pop(session_id, None)) is not None:
            pending.cancel()
        if not run.detached:
            del self._runs[session_id]
            return
        self._evictions[session_id] = self._clock.call_later(self._settings.replay_seconds, lambda: self._evict(run))

    def _evict(self, run: Run) -> None:
        if not run.log.subscribers and self._runs.get(run.identity.session_id) is run:
            self._forget(run.identity.session_id, keep_incognito=True)

    def _forget(self, session_id: str, *, keep_incognito: bool = False) -> None:
        self._runs.pop(session_id, None)
        if (timer := self._evictions.pop(session_id, None)) is not None:
            timer.cancel()
        if not keep_incognito:
            self._incognito.pop(session_id, None)


def _run_start(run_id: str, ask: Ask, sealed: Sealed | None, uploads: Sequence[Upload]) -> RunStart:
    route = ask.route.first
    decided = None
    if sealed and ask.agent.decision:
        decided = Decided(sealed.approval_id, STATE_OF[ask.agent.decision], sealed.user_message_id or "")
    files = [{"id": one.id, "name": one.name, "mime": one.mime, "size": one.size} for one in uploads]
    return RunStart(
        run_id, ask.session_id, ask.mode, ask.message, route.endpoint_id, route.model, decided, files, ask.place
    )


def _identity(run_id: str, ask: Ask, begun: Begun | None, now: float) -> Identity:
    route = ask.route.first
    return Identity(
        run_id,
        ask.session_id,
        ask.mode,
        route.model,
        route.endpoint_id,
        route.endpoint_label,
        begun.started_at if begun else now,
        begun.record_id if begun else None,
        begun.user_message_id if begun else None,
    )


def _stop_abandoned(task: asyncio.Task[Run]) -> None:
    """A run without a reader, whose client left before it began."""
    if not task.cancelled() and task.exception() is None:
        task.result().stop("client_disconnected")
