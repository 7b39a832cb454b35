"""Races around a run: stops, replacements, deletions and shutdowns at every moment, and turns that break."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from serving import GUARD, Server, serving, upstream_config
from store.databases import Gate
from upstream import DONE, Hang, Pause, Upstream, answer, finish, text_chunk

from odysseus.agent.toolbox import Wishes
from odysseus.dialects import chat
from odysseus.errors import NotFound, ShuttingDown
from odysseus.events import TextDelta
from odysseus.providers.base import ChatRequest, Chunk, ModelListing
from odysseus.providers.fallback import Candidate, Cooldowns
from odysseus.providers.router import Route
from odysseus.runs.agent_work import AgentWish
from odysseus.runs.ask import Ask
from odysseus.runs.run import Run

Steps = Callable[[], AsyncIterator[Sequence[Chunk]]]


class ScriptedProvider:
    """A provider whose answer is an async generator of the test's own: it can do what no server can."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def stream(self, request: ChatRequest) -> AsyncIterator[Sequence[Chunk]]:
        return self._steps()

    async def models(self) -> Sequence[ModelListing]:
        return ()

    async def count(self, model: str, texts: Sequence[str]) -> Sequence[int] | None:
        return None

    def state(self) -> str:
        return "ready"

    async def preload(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""


async def start(server: Server, session: str, steps: Steps, **more: Any) -> Run:
    """Begin a run of these steps."""
    route = Route([Candidate("up", "Upstream", "m", ScriptedProvider(steps))], Cooldowns(time.monotonic))
    return await server.services.runs.start(Ask(session, "question", "chat", route, **more), chat.encode)


async def frames_of(run: Run) -> list[bytes]:
    """All frames of a run, once it is over."""
    async with asyncio.timeout(GUARD):
        await run.finished()
    return run.log.frames_after(0, 10**9)


async def hangs() -> AsyncIterator[Sequence[Chunk]]:
    yield [TextDelta("so far")]
    await asyncio.Future()


async def says_and_ends() -> AsyncIterator[Sequence[Chunk]]:
    yield [TextDelta("whole")]


async def test_a_turn_that_breaks_is_a_500_without_internals(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    async def breaks() -> AsyncIterator[Sequence[Chunk]]:
        yield [TextDelta("half")]
        raise KeyError("secret-internal /etc/path")

    session = await server.session()
    run = await start(server, session, breaks)
    frames = await frames_of(run)
    assert frames[-1].startswith(b'event: error\ndata: {"error":')
    assert frames[-1].endswith(b',"status":500}\n\n')
    assert not any(word in b"".join(frames) for word in (b"secret", b"KeyError", b"/etc", b"Traceback"))
    assert "secret-internal" in caplog.text
    assert [message["content"] for message in await server.history(session)] == ["question", "half"]
    assert run.ending
    assert (run.ending.status, run.ending.stop_reason) == ("failed", "error")


async def test_a_turn_that_breaks_at_once_leaves_the_question_marked(server: Server) -> None:
    async def breaks() -> AsyncIterator[Sequence[Chunk]]:
        raise RecursionError
        yield []

    session = await server.session()
    await frames_of(await start(server, session, breaks))
    (question,) = await server.history(session)
    assert question["metadata"]["failure"]["status"] == 500


async def test_a_turn_that_cancels_itself_has_failed_and_nobody_is_told_of_a_shutdown(server: Server) -> None:
    async def cancels() -> AsyncIterator[Sequence[Chunk]]:
        yield [TextDelta("half")]
        raise asyncio.CancelledError

    run = await start(server, await server.session(), cancels)
    frames = await frames_of(run)
    assert run.ending
    assert (run.ending.status, run.ending.stop_reason) == ("failed", "error")
    assert b"shutting down" not in frames[-1]
    assert frames[-1].endswith(b',"status":500}\n\n')


async def swallows_the_stop() -> AsyncIterator[Sequence[Chunk]]:
    yield [TextDelta("so far")]
    try:
        await asyncio.Future()
    except asyncio.CancelledError:
        yield [TextDelta(" and a last word")]


async def breaks_when_stopped() -> AsyncIterator[Sequence[Chunk]]:
    yield [TextDelta("so far")]
    try:
        await asyncio.Future()
    finally:
        raise ValueError("in the clean-up")


@pytest.mark.parametrize("steps", [hangs, swallows_the_stop, breaks_when_stopped])
async def test_a_stopped_run_is_stopped_whatever_its_turn_makes_of_it(server: Server, steps: Steps) -> None:
    session = await server.session()
    run = await start(server, session, steps)
    await run.log.subscribe(1).wait()
    assert await server.services.runs.stop(session, run.id)
    frames = await frames_of(run)
    assert frames[-1] == chat.DONE
    assert run.ending
    assert (run.ending.status, run.ending.stop_reason) == ("stopped", "user_stop")
    reply = (await server.history(session))[1]
    assert reply["content"].startswith("so far")
    assert reply["metadata"]["stopped"] is True


@pytest.mark.parametrize("turns", range(12))
async def test_a_stop_at_any_moment_leaves_one_consistent_end(server: Server, turns: int) -> None:
    session = await server.session()
    run = await start(server, session, says_and_ends)
    for _ in range(turns):
        await asyncio.sleep(0)
    stopped = await server.services.runs.stop(session, run.id)
    frames = await frames_of(run)
    assert run.ending
    assert stopped == (run.ending.status == "stopped")
    assert frames[-1] == chat.DONE
    assert sum(b'"chat_terminal"' in frame for frame in frames) == 1
    roles = [message["role"] for message in await server.history(session)]
    assert roles == ["user", "assistant"]


async def test_many_stops_at_once_are_one_stop(server: Server) -> None:
    session = await server.session()
    run = await start(server, session, hangs)
    await run.log.subscribe(1).wait()
    assert all(await asyncio.gather(*(server.services.runs.stop(session, run.id) for _ in range(20))))
    assert not await server.services.runs.stop(session, run.id)
    assert sum(b'"chat_terminal"' in frame for frame in await frames_of(run)) == 1
    assert len(await server.history(session)) == 2


async def test_a_stop_during_a_replacement_hits_the_old_run_only(server: Server) -> None:
    session = await server.session()
    first = await start(server, session, hangs)
    await first.log.subscribe(1).wait()
    second, _ = await asyncio.gather(
        start(server, session, says_and_ends), server.services.runs.stop(session, first.id)
    )
    await frames_of(second)
    assert first.ending
    assert second.ending
    assert (first.ending.status, second.ending.status) == ("stopped", "completed")
    contents = [message["content"] for message in await server.history(session)]
    assert contents == ["question", "so far", "question", "whole"]


@pytest.mark.parametrize("turns", range(8))
async def test_a_deletion_at_any_moment_of_a_start_leaves_no_row(server: Server, turns: int) -> None:
    session = await server.session()
    starting = asyncio.create_task(start(server, session, hangs))
    for _ in range(turns):
        await asyncio.sleep(0)
    await server.call("DELETE", f"/api/session/{session}")
    try:
        await frames_of(await starting)
    except NotFound:
        assert server.services.runs.get(session) is None
    for table in ("messages", "runs", "run_pieces"):
        assert await server.services.db.read(f"SELECT * FROM {table}") == []
    assert server.services.runs.count() == 0


async def test_nothing_begins_in_a_session_that_is_kept_quiet(server: Server) -> None:
    session = await server.session()
    first = await start(server, session, hangs)
    async with server.services.runs.quiet(session):
        assert first.over
        waiting = asyncio.create_task(start(server, session, says_and_ends))
        other = await start(server, await server.session(), says_and_ends)
        await frames_of(other)
        assert not waiting.done()
    await frames_of(await waiting)
    assert len(await server.history(session)) == 4


async def test_a_client_that_leaves_before_its_run_began_leaves_a_detached_run_going(server: Server) -> None:
    session = await server.session()
    for detached, ends in ((True, ("completed", None)), (False, ("stopped", "client_disconnected"))):
        more = asyncio.Event()

        async def waits(more: asyncio.Event = more) -> AsyncIterator[Sequence[Chunk]]:
            await more.wait()
            yield [TextDelta("late")]

        async with server.services.runs.quiet(session):
            caller = asyncio.create_task(start(server, session, waits, detached=detached))
            await asyncio.sleep(0)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
        if detached:
            more.set()
        await settled(server, session, "completed" if detached else "stopped")
        rows = await server.services.db.read("SELECT status, stop_reason FROM runs ORDER BY record_id DESC LIMIT 1")
        assert tuple(rows[0]) == ends


async def settled(server: Server, session: str, status: str) -> None:
    """Wait until the session's newest run has this status."""
    async with asyncio.timeout(GUARD):
        while True:
            rows = await server.services.db.read(
                "SELECT status FROM runs WHERE session_id = ? ORDER BY record_id DESC LIMIT 1", (session,)
            )
            if rows and rows[0][0] == status:
                return
            await asyncio.sleep(0)


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 21, 34])
async def test_a_shutdown_at_any_moment_of_a_start_ends_it_in_order(
    upstream: Upstream, tmp_path: Path, turns: int
) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        sessions = [await server.session() for _ in range(3)]
        starting = [asyncio.create_task(start(server, session, hangs)) for session in sessions]
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.wait_for(server.services.runs.close(), GUARD)
        for run in await asyncio.gather(*starting, return_exceptions=True):
            if isinstance(run, ShuttingDown):
                continue
            assert isinstance(run, Run)
            frames = await frames_of(run)
            assert frames[-1].endswith(b'"status":503}\n\n')
        with pytest.raises(ShuttingDown):
            await start(server, sessions[0], hangs)
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        rows = await server.services.db.read("SELECT status, stop_reason FROM runs")
        assert {tuple(row) for row in rows} <= {("interrupted", "server_shutdown")}


async def test_what_is_said_after_the_end_reaches_nobody(server: Server) -> None:
    session = await server.session()
    run = await start(server, session, says_and_ends)
    frames = await frames_of(run)
    with pytest.raises(RuntimeError):
        run.publish([TextDelta("too late")])
    assert await frames_of(run) == frames
    assert (await server.get(f"/api/chat/stream_status/{session}"))["partial"] == "whole"


async def test_an_incognito_run_leaves_nothing_in_any_table(server: Server) -> None:
    session = await server.session()
    before = [
        list(await server.services.db.read(f"SELECT * FROM {table}")) for table in ("sessions", "messages", "runs")
    ]
    run = await start(server, session, hangs, agent=AgentWish(Wishes(incognito=True)))
    await run.log.subscribe(1).wait()
    await server.services.runs.stop(session, run.id)
    await frames_of(run)
    after = [
        list(await server.services.db.read(f"SELECT * FROM {table}")) for table in ("sessions", "messages", "runs")
    ]
    assert before == after
    assert await server.services.db.read("SELECT * FROM run_pieces") == []


async def test_compare_panes_of_two_sessions_do_not_touch_each_other(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("one"), Hang())
    left, right = await server.session(), await server.session()
    pane = await (await server.send(left, compare_mode=True)).until_text("one")
    more = asyncio.Event()
    upstream.reply(text_chunk("two"), Pause(more), finish(), DONE)
    other = await (await server.send(right, compare_mode=True)).until_text("two")
    pane.response.close()
    await upstream.disconnected()
    more.set()
    await other.rest()
    assert other.record["status"] == "completed"
    await settled(server, left, "stopped")
    assert (await server.history(left))[1]["metadata"]["stop_reason"] == "client_disconnected"


async def test_a_send_replaces_a_compare_pane_too(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("pane"), Hang()).reply(answer("whole"))
    session = await server.session()
    pane = await (await server.send(session, "a", compare_mode=True)).until_text("pane")
    await (await server.send(session, "b")).rest()
    await pane.rest()
    assert pane.record["stop_reason"] == "replaced"
    assert [message["content"] for message in await server.history(session)] == ["a", "pane", "b", "whole"]


async def test_a_database_that_is_locked_fails_the_start_and_not_the_next(tmp_path: Path, upstream: Upstream) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        session = await server.session()
        gate = Gate()
        holding = asyncio.create_task(server.services.db.write(lambda _: gate.wait()))
        await gate.inside.wait()
        starting = asyncio.create_task(start(server, session, says_and_ends))
        await asyncio.sleep(0)
        assert not starting.done()
        gate.go.set()
        await holding
        await frames_of(await starting)
        assert len(await server.history(session)) == 2


async def test_usage_is_estimated_when_nobody_told_it(server: Server) -> None:
    frames = await frames_of(await start(server, await server.session(), says_and_ends))
    (usage,) = [frame for frame in frames if b'"type":"usage"' in frame]
    assert b'"estimated":true' in usage
