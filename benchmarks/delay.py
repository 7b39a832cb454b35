"""What the way through Odysseus adds to a delta's delay: the same emission read directly and through it."""

from __future__ import annotations

import asyncio
import re

from benchmarks.client import CONTENT, DELTA, Reader, ask_model, call, new_session, send
from benchmarks.plan import Plan
from benchmarks.processes import Program, model, odysseus
from benchmarks.report import Figure, high, middle

FIRSTS = 60
STREAMS = 100
RATE = 25.0
SECONDS = 6


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream, odysseus(upstream.port) as server:
        await first_deltas(upstream, server, 5)
        firsts = await first_deltas(upstream, server, FIRSTS)
        asked = await answers(upstream, server, FIRSTS)
        before, waited = server.cpu(), server.waited()
        streams = await many(upstream, server)
        cpu, waited = server.cpu() - before, server.waited() - waited
    added = [through - direct for direct, through in streams]
    return [
        Figure("first delta after a direct read, median", middle(firsts) * 1e3, "ms", most=1.0),
        Figure("first delta after a direct read, p99", high(firsts) * 1e3, "ms"),
        Figure("request to first delta, more than direct, median", middle(asked) * 1e3, "ms"),
        Figure(f"{STREAMS} streams at {RATE:g} a second, added, p50", middle(added) * 1e3, "ms"),
        Figure(f"{STREAMS} streams at {RATE:g} a second, added, p99", high(added) * 1e3, "ms", most=5.0),
        Figure("  the direct read's own delay, p99", high([direct for direct, _ in streams]) * 1e3, "ms"),
        Figure("  the server waited for a core that others had", waited / len(streams) * 1e3, "ms a frame"),
        Figure("  CPU a frame, starts and ends of the runs included", cpu / len(streams) * 1e6, "us"),
    ]


async def first_deltas(upstream: Program, server: Program, rounds: int) -> list[float]:
    """Seconds by which the first delta comes later than to a direct reader, each of a new run."""
    delays = []
    for number in range(rounds):
        direct, through = await pair(upstream, server, Plan(frames=1, rate=RATE, key=f"first{number}"))
        await call(upstream.port, "GET", f"/go/first{number}/2")
        delays += [later - sooner for sooner, later in await delays_of(direct, through)]
    return delays


async def answers(upstream: Program, server: Program, rounds: int) -> list[float]:
    """Seconds from request to first delta, more than when the model is asked itself."""
    more = []
    plan = Plan(frames=1, rate=RATE)
    for _ in range(rounds):
        session = await new_session(server.port)
        direct = await (await ask_model(upstream.port, plan)).end()
        through = await (await send(server.port, session, plan)).end()
        more.append(wait(through, DELTA) - wait(direct, CONTENT))
    return more


async def many(upstream: Program, server: Program) -> list[tuple[float, float]]:
    """Delays of the frames of many streams at once, out of step, and over one after the other: direct and through."""
    frames = int(SECONDS * RATE) - STREAMS // 2
    plans = [Plan(frames=frames + number, rate=RATE, key=f"many{number}") for number in range(STREAMS)]
    pairs = [await pair(upstream, server, plan) for plan in plans]
    for plan in plans:
        await call(upstream.port, "GET", f"/go/{plan.key}/2")
        await asyncio.sleep(1 / RATE / STREAMS)
    return [delays for direct, through in pairs for delays in await delays_of(direct, through)]


async def pair(upstream: Program, server: Program, plan: Plan) -> tuple[Reader, Reader]:
    """Two clients of one emission."""
    through = await send(server.port, await new_session(server.port), plan)
    return await ask_model(upstream.port, plan), through


async def delays_of(direct: Reader, through: Reader) -> list[tuple[float, float]]:
    """Each frame's delay to both."""
    await direct.end()
    await through.end()
    sooner, later = direct.delays(CONTENT), through.delays()
    assert sooner.keys() == later.keys(), (direct.body[-500:], through.body[-500:])
    return [(sooner[stamp], later[stamp]) for stamp in sooner]


def wait(reader: Reader, pattern: re.Pattern[bytes]) -> float:
    """Seconds from the request to its first delta."""
    return reader.arrivals(pattern)[0][0] - reader.begun_at
