"""Named agents: short turns of one without tools, what a session weighs, and how soon a client that leaves is noticed.

Beside it two bare aiohttp handlers: one writes the same frames from memory, one asks the model first. Neither keeps
anything.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.client import Reader, call, connect, request
from benchmarks.plan import Plan
from benchmarks.processes import Program, bare, model, odysseus
from benchmarks.report import Figure, middle

WORDS = 20
FRAMES = WORDS + 2
CLIENTS = 16
TURNS = 20
ROUNDS = 5
SESSIONS, SESSION_TURNS = 1000, 3
LEAVERS = 40
SETTINGS = '[agents.short]\nendpoint = "up"\nmodel = "fake-model"\nmax_sessions = 100_000\n'
STREAM = "/agent/short/chat/stream"
SESSION = re.compile(rb"X-Session-Id: (\w{26})", re.IGNORECASE)

Client = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Speed:
    """Requests a second, and milliseconds of the server's CPU a request."""

    rate: float
    cpu: float


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream:
        async with odysseus(upstream.port, SETTINGS) as server, bare() as reference:
            plain = _bare(reference, f"/turn?frames={WORDS}")
            asking = _bare(reference, f"/turn?frames={WORDS}&model={upstream.port}")
            runs = [(reference, plain), (reference, asking), (server, _new(server)), (server, _same(server))]
            rounds = [[await speed(program, client) for program, client in runs] for _ in range(ROUNDS + 1)]
            left = [await leave(upstream, server, f"left{number}") for number in range(LEAVERS)]
        async with odysseus(upstream.port, SETTINGS) as server:
            weight = await sessions(server)
    # The first round is to warm up.
    return [*_speeds(*(list(column) for column in zip(*rounds[1:], strict=True))), *_rest(left, weight)]


def _speeds(plain: list[Speed], asking: list[Speed], new: list[Speed], same: list[Speed]) -> list[Figure]:
    def times(ours: list[Speed], theirs: list[Speed]) -> float:
        return middle([one.cpu / other.cpu for one, other in zip(ours, theirs, strict=True)])

    named = {
        "a bare handler": plain,
        "a bare handler that asks the model": asking,
        "each in a new session": new,
        f"{TURNS} in a session": same,
    }
    return [
        *(Figure(f"requests a second, {name}", middle([one.rate for one in runs])) for name, runs in named.items()),
        *(Figure(f"CPU a request, {name}", middle([one.cpu for one in runs]), "ms") for name, runs in named.items()),
        Figure("  a new session, times the bare handler", times(new, plain), "x"),
        Figure("  a new session, times the one that asks", times(new, asking), "x"),
    ]


def _rest(left: list[float], weight: float) -> list[Figure]:
    return [
        Figure(f"memory for each of {SESSIONS:,} sessions of {SESSION_TURNS} turns", weight / 1000, "kB"),
        Figure("client gone to upstream closed, median", middle(left) * 1e3, "ms", most=100.0),
        Figure("client gone to upstream closed, worst", max(left) * 1e3, "ms", most=100.0),
    ]


async def speed(program: Program, client: Client) -> Speed:
    """So many clients at once, each with its turns one after the other."""
    before, begun = program.cpu(), time.monotonic()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    count = CLIENTS * TURNS
    return Speed(count / (time.monotonic() - begun), (program.cpu() - before) / count * 1e3)


async def sessions(server: Program) -> float:
    """Bytes that a session leaves in memory when its turns are over, the first 100 not counted."""

    async def some(count: int) -> None:
        for _ in range(count):
            await _turns(server, SESSION_TURNS)

    await some(100)
    before = server.rss()
    await asyncio.gather(*(some(SESSIONS // CLIENTS) for _ in range(CLIENTS)))
    return (server.rss() - before) / (SESSIONS // CLIENTS * CLIENTS)


async def leave(upstream: Program, server: Program, key: str) -> float:
    """Seconds from a client's disconnect in mid-answer to the end of the connection at the model."""
    plan = Plan(frames=1, rate=1, key=key, hang=True)
    reader = await connect(server.port, request("POST", STREAM, {"message": plan.message}))
    await call(upstream.port, "GET", f"/go/{key}/1")
    await reader.until(b"message_delta")
    gone = time.monotonic()
    reader.transport.abort()
    closed = await call(upstream.port, "GET", f"/closed/{key}")
    return float(closed["at"]) - gone


def _bare(reference: Program, path: str) -> Client:
    body = {"message": Plan(frames=WORDS).message}

    async def client() -> None:
        for _ in range(TURNS):
            _counted(await (await connect(reference.port, request("POST", path, body))).end())

    return client


def _new(server: Program) -> Client:
    async def client() -> None:
        for _ in range(TURNS):
            await _turns(server, 1)

    return client


def _same(server: Program) -> Client:
    return lambda: _turns(server, TURNS)


async def _turns(server: Program, count: int) -> None:
    """So many turns of a new session."""
    body = {"message": Plan(frames=WORDS).message}
    for _ in range(count):
        reader = _counted(await (await connect(server.port, request("POST", STREAM, body))).end())
        found = SESSION.search(reader.body)
        assert found
        assert body.setdefault("session_id", found[1].decode()) == found[1].decode()


def _counted(reader: Reader) -> Reader:
    assert reader.frames == FRAMES, reader.body[-500:]
    return reader
