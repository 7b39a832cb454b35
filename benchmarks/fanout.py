"""One run to a thousand subscribers, beside a bare loop that writes each frame to each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.client import DELTA, Reader, call, connect, new_session, request, run_id, send
from benchmarks.plan import Plan
from benchmarks.processes import Program, bare, model, odysseus
from benchmarks.report import Figure, high, middle

SUBSCRIBERS = 1000
RATE = 20.0
FRAMES = 100
ROUNDS = 3
AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Delays in seconds, and microseconds of the server's CPU a delivered frame."""

    median: float
    p99: float
    cpu: float


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream, odysseus(upstream.port) as server, bare() as reference:
        rounds = [(await plain(reference), await ours(upstream, server, f"fan{n}")) for n in range(ROUNDS)]
    loops, runs = zip(*rounds, strict=True)
    return [
        Figure("delivery, p50", middle([run.median for run in runs]) * 1e3, "ms"),
        Figure("delivery, p99", middle([run.p99 for run in runs]) * 1e3, "ms", most=30.0),
        Figure("  of the bare loop, p99", middle([loop.p99 for loop in loops]) * 1e3, "ms"),
        Figure("CPU a delivered frame", middle([run.cpu for run in runs]), "us"),
        Figure("  of the bare loop", middle([loop.cpu for loop in loops]), "us"),
        Figure("  times the bare loop", middle([run.cpu / loop.cpu for loop, run in rounds]), "x", most=1.5),
    ]


async def ours(upstream: Program, server: Program, key: str) -> Broadcast:
    """A run whose frames come at a steady rate, resumed by all but the one that began it."""
    session = await new_session(server.port)
    first = await send(server.port, session, Plan(frames=FRAMES, rate=RATE, key=key, hang=True))
    await first.until(b"model_info")
    resume = request("GET", f"/api/chat/resume/{session}")
    readers = [first, *await subscribe(server, resume, SUBSCRIBERS - 1, b"model_info")]
    before = server.cpu()
    await call(upstream.port, "GET", f"/go/{key}/1")
    await asyncio.sleep(FRAMES / RATE + 0.5)
    cpu = server.cpu() - before
    await call(server.port, "POST", f"/api/chat/stop/{session}", X_Odysseus_Run_Id=run_id(first))
    return await told(readers, cpu)


async def plain(reference: Program) -> Broadcast:
    """The bare loop."""
    readers = await subscribe(reference, request("GET", "/subscribe"), SUBSCRIBERS, b"\r\n\r\n")
    before = reference.cpu()
    await call(reference.port, "GET", f"/broadcast?frames={FRAMES}&rate={RATE}")
    cpu = reference.cpu() - before
    await call(reference.port, "GET", "/end")
    return await told(readers, cpu)


async def subscribe(program: Program, data: bytes, count: int, marker: bytes) -> list[Reader]:
    """So many clients, each of which has read `marker`."""
    readers: list[Reader] = []
    while len(readers) < count:
        some = [await connect(program.port, data) for _ in range(min(AT_ONCE, count - len(readers)))]
        for reader in some:
            await reader.until(marker)
        readers += some
    return readers


async def told(readers: Sequence[Reader], cpu: float) -> Broadcast:
    """What the clients saw, once all have come to their end."""
    delays: list[float] = []
    for reader in readers:
        await reader.end()
        delays += [at - float(text) for at, text in reader.arrivals(DELTA)]
    assert len(delays) == FRAMES * SUBSCRIBERS
    return Broadcast(middle(delays), high(delays), cpu / len(delays) * 1e6)
