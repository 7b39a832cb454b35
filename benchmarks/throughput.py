"""One unthrottled stream through the whole path, beside a bare handler that writes the same frames from memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.client import connect, new_session, request, send
from benchmarks.plan import Plan
from benchmarks.processes import Program, bare, model, odysseus
from benchmarks.report import Figure, middle

FRAMES = 100_000
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream as figures: frames a second, microseconds of the server's CPU a frame."""

    rate: float
    cpu: float


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream, odysseus(upstream.port) as server, bare() as reference:
        await through(server, 50), await alone(reference)
        rounds = [(await alone(reference), await through(server, 50), await through(server, 1)) for _ in range(ROUNDS)]
    plain, ours, single = (list(column) for column in zip(*rounds, strict=True))
    return [
        Figure("frames a second, bare handler", _rate(plain)),
        Figure("frames a second, whole path", _rate(ours)),
        Figure("  times the bare handler", middle([b.rate / a.rate for a, b, _ in rounds]), "x", least=0.8),
        Figure("CPU a frame, bare handler", _cpu(plain), "us"),
        Figure("CPU a frame, whole path", _cpu(ours), "us"),
        Figure("  more than the bare handler", middle([b.cpu - a.cpu for a, b, _ in rounds]), "us", most=2.0),
        Figure("frames a second, upstream writes frame by frame", _rate(single)),
        Figure("  times the bare handler", middle([c.rate / a.rate for a, _, c in rounds]), "x"),
        Figure("  CPU more than the bare handler", middle([c.cpu - a.cpu for a, _, c in rounds]), "us"),
    ]


async def through(server: Program, per_write: int, frames: int = FRAMES) -> Stream:
    """A flood from the model through Odysseus."""
    session = await new_session(server.port)
    before = server.cpu()
    reader = await (await send(server.port, session, Plan(frames=frames, per_write=per_write))).end()
    cpu = server.cpu() - before
    assert frames < reader.frames < frames + 20, reader.body[-500:]
    return Stream(frames / reader.seconds, cpu / frames * 1e6)


async def alone(reference: Program, frames: int = FRAMES) -> Stream:
    """The bare handler's flood."""
    before = reference.cpu()
    reader = await (await connect(reference.port, request("GET", f"/flood?frames={frames}"))).end()
    assert reader.frames == frames
    return Stream(frames / reader.seconds, (reference.cpu() - before) / frames * 1e6)


def _rate(streams: Sequence[Stream]) -> float:
    return middle([stream.rate for stream in streams])


def _cpu(streams: Sequence[Stream]) -> float:
    return middle([stream.cpu for stream in streams])
