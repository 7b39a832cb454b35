"""What a round of an agent costs: from a model's last byte to the next request, with a tool that does next to nothing.

Beside it a bare aiohttp client with the same requests, turn by turn on the same core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from benchmarks.client import call, connect, new_session, request
from benchmarks.plan import Plan
from benchmarks.processes import Program, bare, model, odysseus
from benchmarks.report import Figure, high, middle

ROUNDS = 300
RUNS = 3
PART = 50
SETTINGS = "[agent]\nmax_rounds = 1000\n"
RESULT = "Monday, 2030-01-07T12:00:00+00:00 (UTC, UTC+00:00)"


@dataclass(frozen=True, slots=True)
class Pair:
    """One run of each: seconds a round, and Odysseus's CPU seconds and seconds of waiting for its core in all."""

    ours: Sequence[float]
    plain: Sequence[float]
    cpu: float = 0.0
    waited: float = 0.0


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream, odysseus(upstream.port, SETTINGS) as server, bare() as reference:
        await pair(upstream, server, reference, "warm", 20)
        pairs = [await pair(upstream, server, reference, f"round{number}", ROUNDS) for number in range(RUNS)]
    ours, plain = [one.ours for one in pairs], [one.plain for one in pairs]
    return [
        Figure("a round, p50", _middle(ours), "ms", most=5.0),
        Figure("a round, p99", middle([high(gaps) for gaps in ours]) * 1e3, "ms", most=5.0),
        Figure(f"  the first {PART}, p50", _middle([gaps[:PART] for gaps in ours]), "ms"),
        Figure(f"  the last {PART} of {ROUNDS}, p50", _middle([gaps[-PART:] for gaps in ours]), "ms"),
        Figure("a bare client, p50", _middle(plain), "ms"),
        Figure("a bare client, p99", middle([high(gaps) for gaps in plain]) * 1e3, "ms"),
        Figure("  times the bare client, p50", middle([middle(one.ours) / middle(one.plain) for one in pairs]), "x"),
        Figure("CPU a round", middle([one.cpu for one in pairs]) / ROUNDS * 1e3, "ms"),
        Figure(
            "  the server waited for a core that others had",
            middle([one.waited for one in pairs]) / ROUNDS * 1e3,
            "ms a round",
        ),
    ]


async def pair(upstream: Program, server: Program, reference: Program, key: str, rounds: int) -> Pair:
    """A run of so many rounds, and a bare client's, in turns."""
    plan = Plan(calls=rounds, key=key, side=f"{key}.ours", sides=2)
    before, waited = server.cpu(), server.waited()
    body = {"session": await new_session(server.port), "message": plan.message, "mode": "agent"}
    reader = await connect(server.port, request("POST", "/api/chat_stream", body))
    asked = await call(upstream.port, "GET", f"/first/{plan.side}")
    other = structs.replace(plan, side=f"{key}.bare")
    asked["messages"][-1]["content"] = other.message
    given = {"port": upstream.port, "request": asked, "result": RESULT}
    done, _ = await asyncio.gather(call(reference.port, "POST", "/rounds", given), reader.end())
    spent = Pair((), (), server.cpu() - before, server.waited() - waited)
    ours, plain = [await call(upstream.port, "GET", f"/gaps/{side}") for side in (plan.side, other.side)]
    assert done["rounds"] == len(plain) == len(ours) == rounds, (len(ours), reader.body[-500:])
    return replace(spent, ours=ours, plain=plain)


def _middle(runs: Sequence[Sequence[float]]) -> float:
    """The median of the runs' medians, in milliseconds."""
    return middle([middle(gaps) for gaps in runs]) * 1e3
