"""Readers that stop reading, and stops: what they cost the others, and how soon the model is let go."""

from __future__ import annotations

import time

from benchmarks.client import Reader, call, connect, new_session, request, run_id, send
from benchmarks.plan import Plan
from benchmarks.processes import Program, model, odysseus
from benchmarks.report import Figure, middle

FRAMES = 60_000
SIZE = 250  # characters a frame: together far more than the kernel keeps for a socket that nobody reads
STALLED = 50
HELD = 200
ROUNDS = 4
STOPS = 40
RECEIVE_BUFFER = 4096


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream:
        async with odysseus(upstream.port) as server:
            await flood(upstream, server, "warm", 0)
            slower = [await slowdown(upstream, server, str(number)) for number in range(ROUNDS)]
            stops = [await stop(upstream, server, f"stop{number}") for number in range(STOPS)]
        more = [await memory(upstream, HELD) - await memory(upstream, 0) for _ in range(2)]
    return [
        Figure(f"time of a good reader beside {STALLED} stalled ones", middle(slower), "x", most=4 / 3),
        Figure(f"memory for each of {HELD} stalled ones", middle(more) / HELD / 1000, "kB", most=200.0),
        Figure("stop to upstream closed, median", middle(stops) * 1e3, "ms", most=5.0),
        Figure("stop to upstream closed, worst", max(stops) * 1e3, "ms"),
    ]


async def slowdown(upstream: Program, server: Program, name: str) -> float:
    """How many times longer a good reader takes beside stalled ones than alone."""
    free = await flood(upstream, server, f"free{name}", 0)
    return await flood(upstream, server, f"held{name}", STALLED) / free


async def memory(upstream: Program, stalled: int) -> int:
    """Bytes by which a new server grows in a flood with so many stalled readers, before the run ends."""
    async with odysseus(upstream.port) as server:
        before = server.rss()
        await flood(upstream, server, f"memory{stalled}", stalled)
        return server.rss() - before


async def flood(upstream: Program, server: Program, key: str, stalled: int) -> float:
    """Seconds until the good one of a run's readers has all frames. The run is left open, so that nothing is freed."""
    session = await new_session(server.port)
    good = await send(server.port, session, Plan(frames=FRAMES, size=SIZE, key=key, hang=True))
    await good.until(b"model_info")
    held = [await stall(server, session) for _ in range(stalled)]
    begun = time.monotonic()
    await call(upstream.port, "GET", f"/go/{key}/1")
    await good.until(b"\n\n", FRAMES)
    seconds = time.monotonic() - begun
    assert all(len(reader.body) < 10_000 for reader in held)
    return seconds


async def stall(server: Program, session: str) -> Reader:
    """A client that reads the first frame and no further."""
    reader = await connect(server.port, request("GET", f"/api/chat/resume/{session}"), RECEIVE_BUFFER)
    await reader.until(b"model_info")
    reader.transport.pause_reading()
    return reader


async def stop(upstream: Program, server: Program, key: str) -> float:
    """Seconds from the stop's request to the end of the connection at the model."""
    session = await new_session(server.port)
    reader = await send(server.port, session, Plan(frames=1, rate=1, key=key, hang=True))
    await reader.until(b"model_info")
    await call(upstream.port, "GET", f"/go/{key}/1")
    await reader.until(b"delta")
    answer = await connect(
        server.port, request("POST", f"/api/chat/stop/{session}", X_Odysseus_Run_Id=run_id(reader.body))
    )
    assert b'{"stopped":true}' in (await answer.end()).body
    await reader.end()
    closed = await call(upstream.port, "GET", f"/closed/{key}")
    return float(closed["at"]) - answer.begun_at
