"""Event streams on raw sockets: framing for every kind of client, heartbeats, clients that do not read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from raw import Answer, connected, get, post
from serving import GUARD, Server, serving, upstream_config
from upstream import DONE, Hang, Pause, Upstream, answer, finish, text_chunk

from odysseus.runs.run import Run


def frames(body: bytes) -> list[bytes]:
    """The frames of a body, comments left out."""
    *whole, rest = body.split(b"\n\n")
    assert rest == b""
    return [frame for frame in whole if not frame.startswith(b":")]


CLIENTS = [
    ("1.1", (), True, None),
    ("1.1", ("Connection: keep-alive",), True, None),
    ("1.1", ("Connection: close",), True, "close"),
    ("1.1", ("Accept-Encoding: gzip, br, zstd",), True, None),
    ("1.0", (), False, None),
    ("1.0", ("Connection: keep-alive",), False, None),
]


@pytest.mark.parametrize(("version", "headers", "chunked", "connection"), CLIENTS)
async def test_every_client_can_tell_where_the_stream_ends(
    server: Server, version: str, headers: tuple[str, ...], chunked: bool, connection: str | None
) -> None:
    session = await server.session()
    async with connected(server) as socket:
        socket.write(post("/api/chat_stream", {"session": session, "message": "m"}, *headers, version=version))
        live = await socket.answer()
        if connection or not chunked:
            assert await socket.rest() == b""
    async with connected(server) as socket:
        socket.write(get(f"/api/chat/resume/{session}", *headers, version=version))
        replay = await socket.answer()
    for told in (live, replay):
        assert (told.version, told.status) == (f"HTTP/{version}", 200)
        assert ("transfer-encoding" in told.headers) == chunked
        assert told.headers.get("connection") == connection
        assert "content-encoding" not in told.headers
        assert "content-length" not in told.headers
        assert frames(told.body)[-1] == b"data: [DONE]"
    assert frames(live.body) == frames(replay.body)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_a_live_stream_comes_frame_by_frame(server: Server, upstream: Upstream, version: str) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    steps = [step for number, gate in enumerate(gates) for step in (text_chunk(f"piece{number}"), Pause(gate))]
    upstream.reply(steps, finish(), DONE)
    session = await server.session()
    async with connected(server) as socket:
        socket.write(post("/api/chat_stream", {"session": session, "message": "m"}, version=version))
        await socket.head()
        for number, gate in enumerate(gates):
            assert await socket.until(b"piece%d" % number)
            gate.set()
        assert await socket.until(b"data: [DONE]\n\n")


async def test_a_connection_is_used_again_after_a_stream(server: Server) -> None:
    session = await server.session()
    async with connected(server) as socket:
        for number in range(3):
            socket.write(post("/api/chat_stream", {"session": session, "message": f"m{number}"}))
            assert frames((await socket.answer()).body)[-1] == b"data: [DONE]"
        socket.write(get("/api/health"))
        assert (await socket.answer()).status == 200


async def test_pipelined_streams_are_answered_in_order_and_apart(server: Server, upstream: Upstream) -> None:
    sessions = [await server.session() for _ in range(3)]
    for number in range(3):
        upstream.reply(answer(f"answer {number} " * 50, pieces=50))
    async with connected(server) as socket:
        socket.write(b"".join(post("/api/chat_stream", {"session": one, "message": "m"}) for one in sessions))
        socket.write(get("/api/health", "Connection: close"))
        bodies = [(await socket.answer()).body for _ in range(3)]
        assert (await socket.answer()).status == 200
        assert await socket.rest() == b""
    for number, body in enumerate(bodies):
        others = {0, 1, 2} - {number}
        assert f"r {number} ".encode() in body
        assert not any(f"r {other} ".encode() in body for other in others)


async def test_a_stream_cannot_be_asked_for_its_head_alone(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("going"), Hang())
    session = await server.session()
    await (await server.send(session)).until_text("going")
    async with connected(server) as socket:
        socket.write(get(f"/api/chat/resume/{session}", method="HEAD"))
        told: Answer = await socket.head()
        assert (told.status, told.headers["allow"]) == (405, "GET")
        socket.write(get("/api/health"))
        assert (await socket.answer()).status == 200


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_heartbeats_fill_the_silence_of_every_client(upstream: Upstream, tmp_path: Path, version: str) -> None:
    upstream.reply(before=[Hang()])
    async with serving(upstream_config(upstream.base_url, server={"heartbeat": 0.02}), tmp_path) as server:
        session = await server.session()
        async with connected(server) as socket:
            socket.write(post("/api/chat_stream", {"session": session, "message": "m"}, version=version))
            for number in range(1, 4):
                assert await socket.until(b": heartbeat %d\n\n" % number)


async def test_a_client_that_does_not_read_is_cut_off_and_can_resume(upstream: Upstream, tmp_path: Path) -> None:
    upstream.reply([text_chunk("x" * 10_000)] * 1000, finish(), DONE)
    config = upstream_config(upstream.base_url, server={"send_timeout": 0.2, "replay_bytes": 2**27})
    async with serving(config, tmp_path) as server:
        session = await server.session()
        async with connected(server) as socket:
            socket.write(post("/api/chat_stream", {"session": session, "message": "m"}))
            await socket.until(b"model_info")
            socket.writer.transport.pause_reading()  # type: ignore[attr-defined]
            run = server.services.runs.get(session)
            assert run
            await run.finished()
            await cut_off(run)
        stream = await (await server.resume(session)).rest()
        assert len(stream.text) == 10_000_000
        assert stream.record["status"] == "completed"


async def cut_off(run: Run) -> None:
    """Wait until the server has given up on every reader of this run."""
    async with asyncio.timeout(GUARD):
        while True:
            if not run.log.subscribers:
                return
            await asyncio.sleep(0)
