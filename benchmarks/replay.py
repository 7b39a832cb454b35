"""A finished run of 100,000 frames resumed from the first, beside the bare handler that writes as many one by one."""

from __future__ import annotations

from benchmarks.client import DELTA, Reader, connect, new_session, request, send
from benchmarks.plan import Plan
from benchmarks.processes import Program, bare, model, odysseus
from benchmarks.report import Figure, middle
from benchmarks.throughput import alone

FRAMES = 100_000
ROUNDS = 7


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream, odysseus(upstream.port) as server, bare() as reference:
        session = await new_session(server.port)
        whole = await (await send(server.port, session, Plan(frames=FRAMES))).end()
        await resumed(server, session)
        rounds = []
        for _ in range(ROUNDS):
            stream, before = await alone(reference, FRAMES), server.cpu()
            rounds.append((stream, await resumed(server, session), (server.cpu() - before) / FRAMES * 1e6))
        numbered = [await resumed(server, session, "?ids=1") for _ in range(3)]
    rates = [replay.frames / replay.seconds for _, replay, _ in rounds]
    assert all(len(replay.arrivals(DELTA)) == FRAMES for _, replay, _ in rounds)
    assert all(replay.frames == whole.frames for _, replay, _ in rounds)
    return [
        Figure("frames a second, bare handler", middle([stream.rate for stream, *_ in rounds])),
        Figure("frames a second, replay", middle(rates)),
        Figure(
            "  times the bare handler", middle([b.frames / b.seconds / a.rate for a, b, _ in rounds]), "x", least=20.0
        ),
        Figure("  bare handler's CPU, times the replay's", middle([a.cpu / cpu for a, _, cpu in rounds]), "x"),
        Figure(f"{FRAMES:,} frames replayed in", middle([replay.seconds for _, replay, _ in rounds]) * 1e3, "ms"),
        Figure("  with their numbers (?ids=1)", middle([replay.seconds for replay in numbered]) * 1e3, "ms"),
    ]


async def resumed(server: Program, session: str, query: str = "") -> Reader:
    """A resume from the first frame to the end."""
    return await (await connect(server.port, request("GET", f"/api/chat/resume/{session}{query}"))).end()
