"""A handle on the embedded model's process: start it, feed it, stop it, kill it.

Knows the pipe's protocol (see local_worker.py), not what the chunks mean.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

logger = logging.getLogger(__name__)

_WORKER = Path(__file__).with_name("local_worker.py")
_READ = 65_536
_STOP_SECONDS = 0.8

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What a process loads. `n_ctx` is the window in tokens, `cache_mib` the memory for prompts of other chats."""

    name: str
    path: Path
    n_ctx: int
    threads: int
    cache_mib: int = 128


class EngineError(Exception):
    """The process did not load, or has ended.

    `reason`: no runtime (`missing`), it does not start here (`runtime`), it refuses the file (`model`), the process
    ended while it loaded (`load`) or later (`died`).
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason


class Engine:
    """One process with one model. Killing it is always safe, and gives all of its memory back."""

    def __init__(self, settings: EngineSettings, process: Process) -> None:
        self.settings = settings
        self.loaded = False
        self._process = process
        self._killed = False
        self._rest = b""
        self._reader: asyncio.Task[None] | None = None
        self._said: asyncio.Queue[list[Line]] = asyncio.Queue()  # of the generation; an empty list ends it
        self._counts: dict[int, asyncio.Future[Sequence[int] | None]] = {}
        self._asked = 0

    @classmethod
    async def start(cls, settings: EngineSettings) -> Engine:
        """Start the process; the model is not loaded yet. Raises OSError."""
        noise = None if logger.isEnabledFor(logging.DEBUG) else DEVNULL
        # -P: the folder of the worker holds names like `base` that must not hide other modules.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(_WORKER), stdin=PIPE, stdout=PIPE, stderr=noise
        )
        return cls(settings, process)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs and nobody has ended it, as far as is known."""
        return not self._killed and self._process.returncode is None

    async def load(self) -> None:
        """Read the model into memory. Raises EngineError."""
        await self._send(
            {
                "name": self.settings.name,
                "path": str(self.settings.path),
                "n_ctx": self.settings.n_ctx,
                "threads": self.settings.threads,
                "cache_mib": self.settings.cache_mib,
                "verbosity": 3 if logger.isEnabledFor(logging.DEBUG) else -1,
            }
        )
        try:
            answer = (await self._read())[0]
        except EngineError as error:
            raise EngineError("load") from error
        if "failed" in answer:
            raise EngineError(answer["failed"], answer["detail"])
        self._reader = asyncio.create_task(self._read_all(), name="local model")
        self.loaded = True

    async def generate(self, body: Line) -> AsyncGenerator[list[Line], None]:
        """Send one request and give its chunks, all that had piled up in one batch. Raises EngineError.

        When the iterator is closed early, it returns once the generation has stopped, or the process is killed.
        """
        ended = False
        try:
            await self._send({"generate": body})
            while not ended:
                lines = await self._next()
                ended = "end" in lines[-1]
                yield [line["chunk"] for line in lines if "chunk" in line]
        finally:
            if not ended:
                await self._let_go()

    async def count(self, texts: Sequence[str]) -> Sequence[int] | None:
        """The tokens of each text, also in the middle of a generation. None when it cannot say. Raises EngineError."""
        self._asked += 1
        number = self._asked
        answer: asyncio.Future[Sequence[int] | None] = asyncio.get_running_loop().create_future()
        self._counts[number] = answer
        try:
            await self._send({"count": texts, "id": number})
            return await answer
        finally:
            del self._counts[number]

    def kill(self) -> None:
        """End the process now."""
        self.loaded = False
        if self.alive:
            self._killed = True
            with suppress(ProcessLookupError):  # it had ended already
                self._process.kill()

    async def wait(self, seconds: float) -> None:
        """Wait until the process is gone, but no longer than this."""
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
                if self._reader:
                    await self._reader
        except TimeoutError:
            logger.warning("the model's process %s has not ended yet", self.pid)

    async def _let_go(self) -> None:
        stopped = False
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._send({"stop": True})
                while not stopped:
                    stopped = "end" in (await self._next())[-1]
        except (TimeoutError, EngineError):
            logger.info("the model did not stop in time; its process is killed")
        finally:
            if not stopped:
                self.kill()

    async def _send(self, line: Line) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(msgspec.json.encode(line) + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise EngineError("died") from error

    async def _next(self) -> list[Line]:
        """What the generation has said since the last time, at least one line. Raises EngineError."""
        lines = await self._said.get()
        while lines and not self._said.empty():
            more = self._said.get_nowait()
            if not more:
                self._said.put_nowait([])
                break
            lines = lines + more
        if not lines:
            self._said.put_nowait([])
            raise EngineError("died")
        return lines

    async def _read_all(self) -> None:
        """Hand every line to whom it is for, until the process ends."""
        try:
            while True:
                lines = await self._read()
                for line in lines:
                    if (answer := self._counts.get(line.get("counted", 0))) and not answer.done():
                        answer.set_result(line["tokens"])
                if said := [line for line in lines if "counted" not in line]:
                    self._said.put_nowait(said)
        except EngineError as error:
            self._said.put_nowait([])
            for answer in self._counts.values():
                if not answer.done():
                    answer.set_exception(error)

    async def _read(self) -> list[Line]:
        """Every whole line that is there, at least one."""
        assert self._process.stdout
        while True:
            data = await self._process.stdout.read(_READ)
            if not data:
                self.kill()
                raise EngineError("died")
            whole, newline, self._rest = (self._rest + data).rpartition(b"\n")
            if newline:
                return [msgspec.json.decode(line) for line in whole.split(b"\n")]
