"""The programs under test, each a real process pinned to a core: starting them, their CPU and their memory. Linux."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER_CORE, LOAD_CORE = 0, 1
START_SECONDS = 60.0
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "odysseus-benchmarks"
COMPILED = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(CACHE / "bytecode")}
"""Modules are compiled once, as they are for a user, whatever this shell is set to."""
CONFIG = """
[chat]
endpoint = "up"
model = "fake-model"

[[endpoints]]
id = "up"
kind = "openai"
label = "Model"
base_url = "http://127.0.0.1:{port}/v1"
context_length = 1000000
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A running process that listens on `port`. `start_seconds` is the time to its ready line."""

    pid: int
    port: int
    start_seconds: float

    def cpu(self) -> float:
        """Seconds of CPU so far, all its threads together, to the nanosecond."""
        return time.clock_gettime((~self.pid << 3) | 2)  # what clock_getcpuclockid(3) gives for a process

    def waited(self) -> float:
        """Seconds in which its main thread could run but its core was taken by others: the machine's noise."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text("ascii").split()[1]) / 1e9

    def rss(self) -> int:
        """Bytes of memory that are its own or shared, now."""
        pages = Path(f"/proc/{self.pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def pin(core: int, pid: int = 0) -> None:
    """Keep a process on one core; where there is only one, that."""
    cores = sorted(os.sched_getaffinity(pid)) if pid else list(range(os.cpu_count() or 1))
    os.sched_setaffinity(pid, {cores[min(core, len(cores) - 1)]})


@asynccontextmanager
async def running(
    command: Sequence[str], core: int, *, ready: str = "READY ", environment: Mapping[str, str] | None = None
) -> AsyncIterator[Program]:
    """A process, once a line of its output begins with `ready`; the rest of that line is the port, or JSON with it."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths, **COMPILED, **(environment or {})},
        cwd=ROOT,
        preexec_fn=lambda: pin(core),
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            told = await _ready_line(process, ready)
        seconds = time.monotonic() - started
        port = int(told) if told.isdigit() else int(json.loads(told)["port"])
        yield Program(process.pid, port, seconds)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _ready_line(process: asyncio.subprocess.Process, ready: str) -> str:
    assert process.stdout is not None
    while line := (await process.stdout.readline()).decode():
        if line.startswith(ready):
            return line.removeprefix(ready).strip()
    raise RuntimeError(f"the process ended with {await process.wait()} before it was ready")


def model() -> AbstractAsyncContextManager[Program]:
    """The model server, on the core of the load."""
    return running([sys.executable, "-m", "benchmarks.model_process"], LOAD_CORE)


def bare() -> AbstractAsyncContextManager[Program]:
    """The references, on the server's core."""
    return running([sys.executable, "-m", "benchmarks.bare_process"], SERVER_CORE)


@asynccontextmanager
async def odysseus(model_port: int, more: str = "") -> AsyncIterator[Program]:
    """Odysseus with a new data folder and default settings but `more`, its one endpoint the model server."""
    with tempfile.TemporaryDirectory(prefix="odysseus-bench-") as folder:
        config = Path(folder) / "config.toml"
        config.write_text(CONFIG.format(port=model_port) + more, "utf-8")
        command = [sys.executable, "server.py", "--port", "0", "--config", str(config), "--data", f"{folder}/data"]
        async with running([*command, "--log-level", "warning"], SERVER_CORE, ready="ODYSSEUS_READY ") as program:
            yield program
