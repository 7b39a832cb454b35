"""Readers that stop reading, and stops: what they cost the others, and how soon the model is let go."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.client import DELTA, Reader, call, connect, new_session, request, run_id, send
from benchmarks.plan import Plan
from benchmarks.processes import Program, model, odysseus
from benchmarks.report import Figure, middle

FRAMES = 60_000
SIZE = 250  # characters a frame: together far more than the kernel keeps for a socket that nobody reads
STALLED = 50
ROUNDS = 4
STOPS = 40
RECEIVE_BUFFER = 4096


@dataclass(frozen=True, slots=True)
class Flood:
    """Seconds, seconds of the server's CPU, and the bytes by which its memory grew, the frames' own among them."""

    seconds: float
    cpu: float
    grown: int


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream, odysseus(upstream.port) as server:
        await stream(upstream, server, "warm", 0)
        rounds = []
        for number in range(ROUNDS):
            free = await stream(upstream, server, f"free{number}", 0)
            rounds.append((free, await stream(upstream, server, f"held{number}", STALLED)))
        stops = [await stop(upstream, server, f"stop{number}") for number in range(STOPS)]
    slower = [held.seconds / free.seconds for free, held in rounds]
    more = [(held.grown - free.grown) / STALLED for free, held in rounds]
    return [
        Figure(f"time of a good reader beside {STALLED} stalled ones", middle(slower), "x", most=4 / 3),
        Figure("memory for each stalled one", middle(more) / 1000, "kB", most=200.0),
        Figure("stop to upstream closed, median", middle(stops) * 1e3, "ms", most=5.0),
        Figure("stop to upstream closed, worst", max(stops) * 1e3, "ms"),
    ]


async def stream(upstream: Program, server: Program, key: str, stalled: int) -> Flood:
    """A flood to its good reader beside `stalled` others."""
    session = await new_session(server.port)
    before = server.rss()
    good = await send(server.port, session, Plan(frames=FRAMES, size=SIZE, key=key))
    await good.until(b"model_info")
    held = [await stall(server, session) for _ in range(stalled)]
    begun, cpu = time.monotonic(), server.cpu()
    await call(upstream.port, "GET", f"/go/{key}/1")
    await good.end()
    told = Flood(time.monotonic() - begun, server.cpu() - cpu, server.rss() - before)
    assert len(good.arrivals(DELTA)) == FRAMES
    for reader in held:
        reader.transport.abort()
    await call(server.port, "DELETE", f"/api/session/{session}")
    return told


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
    answer = await connect(server.port, request("POST", f"/api/chat/stop/{session}", X_Odysseus_Run_Id=run_id(reader)))
    assert b'{"stopped":true}' in (await answer.end()).body
    await reader.end()
    closed = await call(upstream.port, "GET", f"/closed/{key}")
    return float(closed["at"]) - answer.begun_at
