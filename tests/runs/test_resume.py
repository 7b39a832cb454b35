"""Detach and resume over real sockets (chat stream, section 6)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from serving import HandClock, Server, serving, upstream_config
from upstream import DONE, Hang, Pause, Upstream, answer, finish, text_chunk


async def test_every_client_gets_every_frame_once_in_order(server: Server, upstream: Upstream) -> None:
    gates = [asyncio.Event() for _ in range(4)]
    steps = [step for number, gate in enumerate(gates) for step in (text_chunk(f"{number} "), Pause(gate))]
    upstream.reply(steps, finish(), DONE)
    session = await server.session()
    streams = [await server.send(session, query="?ids=1")]
    for gate in gates:
        streams.append(await server.resume(session, "?ids=1"))
        gate.set()
    first = (await streams[0].rest()).frames
    for stream in streams[1:]:
        assert (await stream.rest()).frames == first
    assert [frame.number for frame in first] == list(range(1, len(first) + 1))


async def test_a_resume_goes_on_after_its_cursor(server: Server, upstream: Upstream) -> None:
    upstream.reply(answer("one two three four", pieces=8))
    session = await server.session()
    whole = (await (await server.send(session)).rest()).frames
    for after in range(len(whole) + 1):
        by_query = await (await server.resume(session, f"?after={after}")).rest()
        by_header = await (await server.resume(session, headers={"Last-Event-ID": str(after)})).rest()
        assert by_query.frames == by_header.frames == whole[after:]


@pytest.mark.parametrize("after", ["999", "-1", "x", "1.5", "²", "9" * 30])
async def test_a_cursor_that_cannot_be_is_refused(server: Server, after: str) -> None:
    session = await server.session()
    await (await server.send(session)).rest()
    assert (await server.get(f"/api/chat/resume/{session}?after={after}", 400))["status"] == 400


@pytest.mark.parametrize("path", ["resume", "stream_status"])
@pytest.mark.parametrize("session", ["unknown", "..%2f..", "%00", "%ed%a0%80", "a%20b", "é"])
async def test_a_session_without_a_run_is_a_404(server: Server, path: str, session: str) -> None:
    assert (await server.get(f"/api/chat/{path}/{session}", 404))["status"] == 404


async def test_the_status_tells_the_runs_state(server: Server, upstream: Upstream) -> None:
    more = asyncio.Event()
    upstream.reply(text_chunk("so far"), Pause(more), finish(), DONE)
    session = await server.session()
    stream = await (await server.send(session, "the query")).until_text("so far")
    status = await server.get(f"/api/chat/stream_status/{session}")
    expected = {"status": "streaming", "detached": True, "partial": "so far", "query": "the query", "mode": "chat"}
    assert {key: status[key] for key in expected} == expected
    assert status["run_id"] == stream.run_id
    assert status["is_research"] is False
    more.set()
    await stream.rest()
    assert (await server.get(f"/api/chat/stream_status/{session}"))["status"] == "done"


@pytest.mark.parametrize("run_id", [None, "", "0" * 32, "x"])
async def test_a_stop_never_touches_another_run(server: Server, upstream: Upstream, run_id: str | None) -> None:
    upstream.reply(text_chunk("going"), Hang())
    session = await server.session()
    stream = await (await server.send(session)).until_text("going")
    headers = {} if run_id is None else {"X-Odysseus-Run-Id": run_id}
    answer = await server.call("POST", f"/api/chat/stop/{session}", headers=headers)
    assert answer == {"stopped": False}
    assert (await server.get(f"/api/chat/stream_status/{session}"))["status"] == "streaming"
    assert await server.stop(session, stream.run_id)
    assert not await server.stop(session, stream.run_id)


async def test_a_finished_run_is_replayed_until_its_time_is_over(upstream: Upstream, tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(upstream_config(upstream.base_url), tmp_path, clock) as server:
        session = await server.session()
        whole = await (await server.send(session)).rest()
        await unread(server, session)
        clock.advance(179)
        assert (await (await server.resume(session)).rest()).frames == whole.frames
        await unread(server, session)
        clock.advance(179)
        assert (await (await server.resume(session)).rest()).frames == whole.frames
        await unread(server, session)
        clock.advance(180)
        await server.get(f"/api/chat/resume/{session}", 404)
        assert len(await server.history(session)) == 2


async def test_a_reader_keeps_a_finished_run_alive(upstream: Upstream, tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(upstream_config(upstream.base_url), tmp_path, clock) as server:
        session = await server.session()
        await (await server.send(session)).rest()
        await unread(server, session)
        run = server.services.runs.get(session)
        assert run
        reader = run.log.subscribe()
        clock.advance(1000)
        assert server.services.runs.get(session) is run
        reader.close()
        clock.advance(179)
        assert server.services.runs.get(session) is run
        clock.advance(1)
        assert server.services.runs.get(session) is None


async def test_frames_that_left_the_buffer_are_told_as_a_gap(upstream: Upstream, tmp_path: Path) -> None:
    upstream.reply([text_chunk(f"{number:05} ") for number in range(2000)], finish(), DONE)
    config = upstream_config(upstream.base_url, server={"replay_bytes": 65_536})
    async with serving(config, tmp_path) as server:
        session = await server.session()
        record = (await (await server.send(session)).rest()).record
        replay = await (await server.resume(session, "?after=3&ids=1")).rest()
        gap = replay.frames[0].data
        assert (gap["type"], gap["from"]) == ("replay_gap", 4)
        numbers = [frame.number for frame in replay.frames[1:]]
        assert numbers == list(range(gap["to"] + 1, record["frames"] + 1))
        assert replay.frames[-1].kind == "[DONE]"
        saved = (await server.history(session))[1]["content"]
        assert saved == "".join(f"{number:05} " for number in range(2000))
        assert saved.endswith(replay.text)
        page = await (await server.resume(session, "?after=3&dialect=page")).rest()
        assert page.one("page_text")["text"] + page.text == saved


async def test_a_thousand_resumes_of_one_run(server: Server, upstream: Upstream) -> None:
    more = asyncio.Event()
    upstream.reply(text_chunk("a"), Pause(more), text_chunk("b"), finish(), DONE)
    session = await server.session()
    first = await (await server.send(session)).until_text("a")
    others = await asyncio.gather(*(server.resume(session) for _ in range(1000)))
    more.set()
    await first.rest()
    for stream in others:
        assert (await stream.rest()).frames == first.frames


async def test_the_page_gets_the_same_answer_as_blocks(server: Server, upstream: Upstream) -> None:
    text = "# Title\n\nA *short* paragraph.\n\n```python\nprint('x')\n```\n\n- one\n- two\n"
    more = asyncio.Event()
    upstream.reply(answer(text[:30], pieces=10)[:-3], Pause(more), text_chunk(text[30:]), finish(), DONE)
    session = await server.session()
    live = await (await server.send(session, query="?dialect=page")).until_text(text[:20])
    middle = await server.resume(session, "?dialect=page&after=3")
    more.set()
    await live.rest()
    await middle.rest()
    late = await (await server.resume(session, "?dialect=page")).rest()
    html = (await server.history(session))[1]["html"]
    for stream in (live, middle, late):
        blocks: dict[int, str] = {}
        finished: set[int] = set()
        for frame in stream.frames:
            if frame.kind == "block":
                assert frame.data["index"] not in finished, "a finished block was sent again"
                blocks[frame.data["index"]] = frame.data["html"]
                if not frame.data["open"]:
                    finished.add(frame.data["index"])
        assert "".join(f'<div class="block">{blocks[index]}</div>' for index in sorted(blocks)) == html
        assert finished == set(blocks)
        kinds = [frame.kind for frame in stream.frames]
        assert max(i for i, kind in enumerate(kinds) if kind == "block") < kinds.index("metrics")
    assert live.text == late.text == text


async def unread(server: Server, session: str) -> None:
    """Wait until the server has noticed that nobody reads the session's run any more."""
    run = server.services.runs.get(session)
    assert run
    async with asyncio.timeout(5):
        while run.log.subscribers:
            await asyncio.sleep(0)
