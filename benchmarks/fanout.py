"""One run to a thousand subscribers, beside a bare loop that writes each frame to each of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from benchmarks.client import DELTA, call, new_session, request, run_id, send_request
from benchmarks.crowd import Crowd
from benchmarks.plan import Plan
from benchmarks.processes import Program, bare, model, odysseus
from benchmarks.report import Figure, high, middle

SUBSCRIBERS = 1000
RATE = 20.0
FRAMES = 100
SILENCE = 1.0
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Delays in seconds, microseconds of the server's CPU a delivered frame, seconds a frame it waited for its core."""

    median: float
    p99: float
    cpu: float
    waited: float


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream, odysseus(upstream.port) as server, bare() as reference:
        rounds = [(await plain(reference), await ours(upstream, server, f"fan{n}")) for n in range(ROUNDS)]
    loops, runs = zip(*rounds, strict=True)
    return [
        Figure("delivery, p50", middle([run.median for run in runs]) * 1e3, "ms"),
        Figure("delivery, p99", middle([run.p99 for run in runs]) * 1e3, "ms", most=30.0),
        Figure("  of the bare loop, p99", middle([loop.p99 for loop in loops]) * 1e3, "ms"),
        Figure(
            "  the server waited for a core that others had", middle([run.waited for run in runs]) * 1e3, "ms a frame"
        ),
        Figure("CPU a delivered frame", middle([run.cpu for run in runs]), "us"),
        Figure("  of the bare loop", middle([loop.cpu for loop in loops]), "us"),
        Figure("  times the bare loop", middle([run.cpu / loop.cpu for loop, run in rounds]), "x", most=1.5),
    ]


async def ours(upstream: Program, server: Program, key: str) -> Broadcast:
    """A run whose frames come at a steady rate, resumed by all but the one that began it."""
    session = await new_session(server.port)
    crowd = Crowd(server.port)
    first = send_request(session, Plan(frames=FRAMES, rate=RATE, key=key, hang=True))
    head = await asyncio.to_thread(crowd.join, [first], b"model_info")
    resume = request("GET", f"/api/chat/resume/{session}")
    await asyncio.to_thread(crowd.join, [resume] * (SUBSCRIBERS - 1), b"model_info")
    told = await heard(server, crowd, upstream.port, f"/go/{key}/1")
    await call(server.port, "POST", f"/api/chat/stop/{session}", X_Odysseus_Run_Id=run_id(head))
    crowd.close()
    return told


async def plain(reference: Program) -> Broadcast:
    """The bare loop."""
    crowd = Crowd(reference.port)
    await asyncio.to_thread(crowd.join, [request("GET", "/subscribe")] * SUBSCRIBERS, b"\r\n\r\n")
    told = await heard(reference, crowd, reference.port, f"/broadcast?frames={FRAMES}&rate={RATE}")
    await call(reference.port, "GET", "/end")
    crowd.close()
    return told


async def heard(program: Program, crowd: Crowd, port: int, begin: str) -> Broadcast:
    """What the crowd hears of the emission that a call begins."""
    before, waited = program.cpu(), program.waited()
    begun = asyncio.create_task(call(port, "GET", begin))
    await asyncio.to_thread(crowd.read, SILENCE)
    cpu, waited = program.cpu() - before, program.waited() - waited
    await begun
    delays = [at - float(text) for at, text in crowd.arrivals(DELTA)]
    assert len(delays) == FRAMES * SUBSCRIBERS, len(delays)
    return Broadcast(middle(delays), high(delays), cpu / len(delays) * 1e6, waited / FRAMES)
