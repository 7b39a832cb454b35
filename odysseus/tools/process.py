"""One program, run apart from the server: its own session, clean surroundings, limits, and nothing of it left behind.

Knows bytes and exit codes, not what they mean. process_keeper.py stands between the server and the program.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import signal
import sys
import tempfile
from asyncio.subprocess import STDOUT, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from odysseus.tools.base import ToolError
from odysseus.tools.environment import clean_environment
from odysseus.tools.removing import remove_folder

OFFERED = os.name == "posix"
"""Whether programs can be run here: the limits and process groups are those of Linux and macOS."""

SETTLE_SECONDS = 5.0
"""How long the end of a program may take after its time is over, at the most."""

_KEEPER = "import os, sys; sys.path.append(sys.argv[1]); from process_keeper import main; os._exit(main(sys.argv[2:]))"
"""As an import, so that it is compiled only once; last on the path, so that the names beside it hide no others."""

_KEEPER_SECONDS = 3.5
_DRAIN_SECONDS = 1.0
_READ = 65_536
_SCRIPT = "program"
_KILL_ROUNDS = 50

Why = Literal["ended", "time", "output", "cancelled"]
Take = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` by the clock; `cpu_seconds`, `memory_mb` and `file_bytes` for each process; `output_bytes` in all."""

    seconds: float
    cpu_seconds: float
    memory_mb: int
    file_bytes: int = 4 << 30
    output_bytes: int = 100_000_000


@dataclass(frozen=True, slots=True)
class Program:
    """What is run, and where. `script` is put into a file whose path becomes the last argument."""

    arguments: Sequence[str]
    folder: Path
    limits: Limits
    keep_env: Sequence[str] = ()
    script: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. `code` is the program's own, 128+n by signal n; `why` says which limit ended it, if one did."""

    code: int
    why: Why


class _Leash:
    """The pipe whose end ends the program. The first reason given for pulling it stands."""

    def __init__(self) -> None:
        self.why: Why = "ended"
        self.pulled = asyncio.Event()
        self._end: int | None = None

    def fasten(self) -> int:
        """The end that the keeper holds, to be closed once it has it."""
        control, self._end = os.pipe()
        return control

    def pull(self, why: Why) -> None:
        if self.pulled.is_set():
            return
        self.why = why
        self.pulled.set()
        if self._end is not None:
            with suppress(BrokenPipeError):  # the keeper has ended already
                os.write(self._end, b".")  # a word as well: the program could hold the pipe open through /proc
            os.close(self._end)


_living: set[asyncio.Task[Ended]] = set()


async def run_program(program: Program, take: Take) -> Ended:
    """Run a program to its end; `take` gets what it writes, both streams in order. Raises ToolError if it cannot start.

    It has no input and no terminal, and HOME and TMPDIR are a folder that is gone afterwards. When this returns, or
    raises since it was cancelled, nothing of the program runs any more.
    """
    leash = _Leash()
    life = asyncio.create_task(_live(program, take, leash))
    _living.add(life)
    life.add_done_callback(_living.discard)
    try:
        return await asyncio.shield(life)
    except asyncio.CancelledError:
        leash.pull("cancelled")
        await asyncio.wait({life})
        raise


async def _live(program: Program, take: Take, leash: _Leash) -> Ended:
    """A program's whole life. Is not cancelled with the call, so that its end is always an orderly one."""
    scratch = await asyncio.to_thread(_scratch, program.script)
    try:
        if leash.pulled.is_set():
            return Ended(128 + signal.SIGKILL, leash.why)
        return await _run(program, scratch, take, leash)
    finally:
        leash.pull("cancelled")
        await asyncio.to_thread(remove_folder, scratch)


def _scratch(script: str | None) -> Path:
    """The program's own folder for its HOME, its TMPDIR and its script."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="odysseus-call-"))
        if script is not None:
            (folder / _SCRIPT).write_text(script, "utf-8", errors="replace")
    except OSError as error:
        raise ToolError(f"The program's own folder cannot be made: {error.strerror}.") from error
    return folder


async def _run(program: Program, scratch: Path, take: Take, leash: _Leash) -> Ended:
    control = leash.fasten()
    output, written = os.pipe()
    stream = asyncio.StreamReader(limit=_READ)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(output, "rb", buffering=0)
    )
    try:
        try:
            keeper = await _start(program, scratch, control, written)
        finally:
            os.close(control)
            os.close(written)
        reading = asyncio.create_task(_read(stream, take, program.limits.output_bytes, leash))
        code = await _wait(keeper, program.limits.seconds, leash)
        await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
    finally:
        transport.close()
    await reading
    return Ended(code, leash.why)


async def _start(program: Program, scratch: Path, control: int, written: int) -> Process:
    limits = program.limits
    arguments = [*program.arguments, *([str(scratch / _SCRIPT)] if program.script is not None else ())]
    numbers = (math.ceil(limits.cpu_seconds), limits.memory_mb << 20, limits.file_bytes)
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _KEEPER, os.path.dirname(__file__), *map(str, numbers), *arguments),
            stdin=control,
            stdout=written,
            stderr=STDOUT,
            cwd=program.folder,
            env=clean_environment(scratch, program.keep_env, os.environ),
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise ToolError("The workspace folder cannot be entered. Choose another workspace.") from error
    except ValueError as error:
        raise ToolError(
            "The command holds characters that no program can be given, like NUL. Leave them out."
        ) from error
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise ToolError("The command is too long. Put it into a file with write_file and run that.") from error
        raise ToolError(f"The program could not be started: {error.strerror}. Try again later.") from error


async def _read(stream: asyncio.StreamReader, take: Take, most: int, leash: _Leash) -> None:
    """Hand on the output up to `most` bytes; then pull the leash, and read on so that nothing waits for a full pipe."""
    try:
        while data := await stream.read(_READ):
            most -= len(data)
            if most < 0:
                leash.pull("output")
            else:
                await take(data)
    finally:
        leash.pull("ended")


async def _wait(keeper: Process, seconds: float, leash: _Leash) -> int:
    """The exit code, once all has ended: by itself, by the leash, or by its time limit."""
    gone = asyncio.ensure_future(keeper.wait())
    pulled = asyncio.ensure_future(leash.pulled.wait())
    await asyncio.wait({gone, pulled}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    pulled.cancel()
    if not gone.done():
        leash.pull("time")
        await asyncio.wait({gone}, timeout=_KEEPER_SECONDS)
    if not gone.done() or gone.result() < 0:  # the program has stopped or killed its keeper
        await asyncio.to_thread(_kill_session, keeper.pid)
        if not gone.done():
            keeper.kill()
    code = await gone
    return code if code >= 0 else 128 - code


def _kill_session(leader: int) -> None:
    """Kill the keeper's session, itself last. Without a /proc nobody can tell who is in it."""
    for _ in range(_KILL_ROUNDS):
        members = [pid for pid in _processes() if pid != leader and _session(pid) == leader]
        if not members:
            return
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0
