"""Beside a peer that resumes too: AgentOS of the `agno` package, in an environment of its own, asked for the same."""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.client import CONTENT, DELTA, Reader, ask_model, call, connect, new_session, request, send
from benchmarks.plan import Plan
from benchmarks.processes import CACHE, ROOT, SERVER_CORE, Program, model, odysseus, running
from benchmarks.report import Figure, high, middle

HERE = ROOT / "benchmarks" / "peer"
INSTALL_SECONDS = 600
FRAMES = 4000
STREAMS = 10
RATE = 25.0
PACED = 75
ROUNDS = 3
RUNS = "/agents/bench/runs"
PEER_DELTA = re.compile(rb'event: RunContent\ndata: [^\n]*?"content":"([^"]+)","workflow_agent"')
PEER_INDEX = re.compile(rb'"event_index":(\d+)')
PEER_RUN = re.compile(rb'"run_id":"([\w-]+)"')


class NotInstalled(Exception):
    """The peer cannot be had here. The message says why."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: how it is asked, what its text frames look like, how it is resumed after a cut."""

    program: Program
    ask: Callable[[Plan], Coroutine[Any, Any, Reader]]
    delta: re.Pattern[bytes]
    resume: Callable[[Reader], Coroutine[Any, Any, Reader]]


@dataclass(frozen=True, slots=True)
class Score:
    """Frames a second, CPU microseconds a frame, added seconds (p50 and p99), frames repeated and lost by a resume."""

    rate: float
    cpu: float
    added: float
    added_p99: float
    repeated: int
    lost: int


async def measure() -> list[Figure]:
    """The table's lines; a single one that says why when the peer cannot be installed."""
    try:
        python = await asyncio.to_thread(installed)
    except NotInstalled as error:
        return [Figure("skipped: the peer could not be installed", 0, detail=str(error))]
    async with model() as upstream, odysseus(upstream.port) as server, peer(python, upstream) as other:
        sides = [await our_side(server), peer_side(other)]
        for side in sides:
            await flood(side)
        rounds = [[await score(upstream, side, f"{n}.{s}") for s, side in enumerate(sides)] for n in range(ROUNDS)]
    ours, theirs = zip(*rounds, strict=True)
    return [
        *figures("Odysseus", ours),
        *figures("AgentOS", theirs),
        Figure("frames a second, times AgentOS", middle([a.rate / b.rate for a, b in rounds]), "x", least=30.0),
        Figure("added delay, share of AgentOS's", middle([a.added / b.added for a, b in rounds]), "x", most=0.05),
        Figure("CPU a frame, share of AgentOS's", middle([a.cpu / b.cpu for a, b in rounds]), "x"),
    ]


def figures(name: str, scores: tuple[Score, ...]) -> list[Figure]:
    """The lines of one side."""
    return [
        Figure(f"{name}: frames a second", middle([score.rate for score in scores])),
        Figure(f"{name}: CPU a frame", middle([score.cpu for score in scores]), "us"),
        Figure(f"{name}: added delay, p50 of {STREAMS} streams", middle([score.added for score in scores]) * 1e3, "ms"),
        Figure(f"{name}: added delay, p99", middle([score.added_p99 for score in scores]) * 1e3, "ms"),
        Figure(f"{name}: frames repeated by a resume", sum(score.repeated for score in scores)),
        Figure(f"{name}: frames lost by a resume", sum(score.lost for score in scores)),
    ]


async def score(upstream: Program, side: Side, name: str) -> Score:
    """One round of one side."""
    rate, cpu = await flood(side)
    added = await delays(upstream, side, name)
    return Score(rate, cpu, middle(added), high(added), *await cut_and_resumed(side))


async def flood(side: Side) -> tuple[float, float]:
    """Frames a second, and CPU microseconds a frame, of one unthrottled stream."""
    before = side.program.cpu()
    reader = await (await side.ask(Plan(frames=FRAMES))).end()
    assert len(reader.arrivals(side.delta)) == FRAMES, reader.body[-500:]
    return FRAMES / reader.seconds, (side.program.cpu() - before) / FRAMES * 1e6


async def delays(upstream: Program, side: Side, name: str) -> list[float]:
    """Seconds by which each frame of some paced streams comes later than to a direct reader."""
    plans = [Plan(frames=PACED, rate=RATE, key=f"peer{name}.{number}") for number in range(STREAMS)]
    pairs = [(await ask_model(upstream.port, plan), await side.ask(plan)) for plan in plans]
    for plan in plans:
        await call(upstream.port, "GET", f"/go/{plan.key}/2")
        await asyncio.sleep(1 / RATE / STREAMS)
    added: list[float] = []
    for direct, through in pairs:
        sooner, later = (await direct.end()).delays(CONTENT), (await through.end()).delays(side.delta)
        assert sooner.keys() == later.keys(), through.body[-500:]
        added += [later[stamp] - sooner[stamp] for stamp in sooner]
    return added


async def cut_and_resumed(side: Side) -> tuple[int, int]:
    """How many frames a client gets twice, and how many never, when it is cut off in mid-run and resumes."""
    plan = Plan(frames=200, rate=100)
    reader = await side.ask(plan)
    await reader.until(b"\n\n", 60)
    reader.transport.abort()
    await reader.end()
    rest = await (await side.resume(reader)).end()
    seen = Counter(text for part in (reader, rest) for _, text in part.arrivals(side.delta))
    return seen.total() - len(seen), plan.frames - len(seen)


async def our_side(server: Program) -> Side:
    """Odysseus. A resume names the number of the last whole frame."""
    sessions: dict[int, str] = {}

    async def ask(plan: Plan) -> Reader:
        session = await new_session(server.port)
        reader = await send(server.port, session, plan)
        sessions[id(reader)] = session
        return reader

    async def resume(reader: Reader) -> Reader:
        path = f"/api/chat/resume/{sessions[id(reader)]}?after={reader.frames}"
        return await connect(server.port, request("GET", path))

    return Side(server, ask, DELTA, resume)


def peer_side(other: Program) -> Side:
    """AgentOS, in its resumable mode. A resume names the index of the last event."""

    async def ask(plan: Plan) -> Reader:
        return await connect(other.port, form(RUNS, message=plan.message, stream="true", background="true"))

    async def resume(reader: Reader) -> Reader:
        run, last = PEER_RUN.search(reader.body), PEER_INDEX.findall(whole_frames(reader.body))[-1]
        assert run
        return await connect(other.port, form(f"{RUNS}/{run[1].decode()}/resume", last_event_index=last.decode()))

    return Side(other, ask, PEER_DELTA, resume)


def whole_frames(body: bytes) -> bytes:
    """Without the frame that was cut."""
    return body[: body.rfind(b"\n\n") + 2]


def form(path: str, **fields: str) -> bytes:
    """A POST of form fields."""
    content = urlencode(fields).encode()
    head = request("POST", path, Content_Type="application/x-www-form-urlencoded").partition(b"Content-Length: 0\r\n")
    return head[0] + b"Content-Length: %d\r\n" % len(content) + head[2] + content


def peer(python: Path, upstream: Program) -> AbstractAsyncContextManager[Program]:
    """AgentOS on the server's core."""
    command = [str(python), str(HERE / "agent_os.py"), str(upstream.port)]
    return running(command, SERVER_CORE, environment={"PYTHONPATH": "", "AGNO_TELEMETRY": "false"})


def installed() -> Path:
    """The Python of the peer's environment, which is made when it is not there. Raises NotInstalled."""
    requirements = HERE / "requirements.txt"
    folder = CACHE / f"peer-{hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    if (folder / "whole").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    print("installing the peer into its own environment, once ...", file=sys.stderr, flush=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)])
    (folder / "whole").touch()
    return python


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.CalledProcessError as error:
        raise NotInstalled((error.stderr.strip().splitlines() or [str(error)])[-1]) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)) from error
