"""Long outputs cut to what a model can take: the head and the tail stay, the whole is kept in a file to read on."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from pathlib import Path
from typing import TextIO

log = logging.getLogger(__name__)

HEAD_SHARE = 0.6
KEPT_LIMIT = 8_000_000
PREFIX = "output:"


def output_name(call_id: str) -> str:
    """What the file tools call the whole output of a call, like `output:1f0c…`."""
    return PREFIX + hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:16]


def output_path(outputs: Path, name: str) -> Path:
    """Where it is kept. `name` must be one that `output_name` made."""
    return outputs / f"{name.removeprefix(PREFIX)}.txt"


def cut(text: str, limit: int, note: str = "") -> str:
    """The head and the tail of `text` within `limit` characters, with a line between that says what is missing."""
    if len(text) <= limit:
        return text
    head = int(limit * HEAD_SHARE)
    return _joined(text[:head], text[head - limit :], len(text) - limit, note)


async def fit(text: str, limit: int, outputs: Path | None, call_id: str) -> str:
    """`text` cut to `limit`; the whole, up to 8 million characters, goes to a file in `outputs` when there is one."""
    if len(text) <= limit:
        return text
    capture = Capture(limit, outputs, call_id)
    await asyncio.to_thread(capture.add, text)
    await asyncio.to_thread(capture.close)
    return capture.text()


class Capture:
    """An output that comes in pieces: its head and its tail in memory, the whole in a file once it is over `limit`.

    `add`, `close` and `discard` may block on the disk. A file that cannot be written is done without.
    """

    def __init__(self, limit: int, outputs: Path | None, call_id: str) -> None:
        self.count = 0
        self._limit = limit
        self._outputs = outputs
        self._name = output_name(call_id)
        self._head = ""
        self._tail = ""
        self._file: TextIO | None = None
        self._kept = 0
        self._closed = False

    def add(self, text: str) -> None:
        """Take the next piece; what comes after the end is dropped."""
        if self._closed:
            return
        self.count += len(text)
        room = self._limit - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text)[-self._limit :]
        if self.count > self._limit and self._outputs:
            self._keep(self._outputs, text[room:])

    def tail(self, length: int) -> str:
        """The newest characters."""
        return self._tail[-length:]

    def text(self) -> str:
        """All of it, or its head and tail with a line between that says what is missing and where it is."""
        if self.count <= self._limit:
            return self._head
        head = int(self._limit * HEAD_SHARE)
        return _joined(self._head[:head], self._tail[head - self._limit :], self.count - self._limit, self._note())

    def close(self) -> None:
        """The end of the output; the file stays."""
        self._closed = True
        if self._file:
            try:
                self._file.close()
            except OSError as error:
                self._give_up(error)

    def discard(self) -> None:
        """The end, and nobody wants the file."""
        self.close()
        if self._file and self._outputs:
            output_path(self._outputs, self._name).unlink(missing_ok=True)

    def _note(self) -> str:
        if not self._kept:
            return ""
        share = "all of it" if self._kept == self.count else f"the first {self._kept:,} characters"
        return f"; read_file with the path {self._name} has {share}"

    def _keep(self, outputs: Path, text: str) -> None:
        try:
            if not self._file:
                outputs.mkdir(parents=True, exist_ok=True)
                self._file = output_path(outputs, self._name).open("w", encoding="utf-8", errors="replace")
                text = self._head + text
            room = KEPT_LIMIT - self._kept
            self._kept += self._file.write(text[:room])
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        log.warning("the whole of an output cannot be kept: %s", error.strerror)
        self._outputs = None
        self._kept = 0


def _joined(head: str, tail: str, missing: int, note: str) -> str:
    return f"{head}\n[… {missing:,} characters left out here{note} …]\n{tail}"
