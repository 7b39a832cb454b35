"""What the server weighs: at rest, with open runs that wait, with frames kept for a resume; and how soon it starts."""

from __future__ import annotations

from benchmarks.client import Reader, new_session, send
from benchmarks.plan import Plan
from benchmarks.processes import Program, model, odysseus
from benchmarks.report import Figure, middle

OPEN = 500
FRAMES = 100_000
STARTS = 7


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream:
        starts = [await start(upstream) for _ in range(STARTS + 1)][1:]  # the first may have to compile
        async with odysseus(upstream.port) as server:
            idle = await open_runs(server)
        async with odysseus(upstream.port) as server:
            buffered = await buffered_frames(server)
    seconds, cpu, rss = zip(*starts, strict=True)
    return [
        Figure("start to ready line", middle(seconds), "s", most=0.7),
        Figure("  CPU of the start", middle(cpu), "s"),
        Figure("memory at rest", middle(rss) / 1e6, "MB", most=80.0),
        Figure("an open run that waits, with its client", idle / 1000, "kB", most=64.0),
        Figure("10,000 frames kept", buffered / 1e6, "MB", most=3.0),
    ]


async def start(upstream: Program) -> tuple[float, float, int]:
    """Seconds to the ready line, seconds of CPU until then, and the memory after a first call."""
    async with odysseus(upstream.port) as server:
        cpu = server.cpu()
        await new_session(server.port)
        return server.start_seconds, cpu, server.rss()


async def open_runs(server: Program) -> float:
    """Bytes for each run that is open and waits for the model, with one client."""
    readers = [await waiting_run(server) for _ in range(20)]
    before = server.rss()
    readers += [await waiting_run(server) for _ in range(OPEN)]
    grown = server.rss() - before
    for reader in readers:
        reader.transport.abort()
    return grown / OPEN


async def buffered_frames(server: Program) -> float:
    """Bytes for 10,000 frames of runs that are over and can be resumed, the first of them not counted."""
    sessions = [await new_session(server.port) for _ in range(3)]
    await (await send(server.port, sessions[0], Plan(frames=FRAMES))).end()
    before = server.rss()
    for session in sessions[1:]:
        await (await send(server.port, session, Plan(frames=FRAMES))).end()
    return (server.rss() - before) / (2 * FRAMES / 10_000)


async def waiting_run(server: Program) -> Reader:
    """A run whose model has said nothing yet."""
    reader = await send(server.port, await new_session(server.port), Plan(frames=0, hang=True))
    await reader.until(b"model_info")
    return reader
