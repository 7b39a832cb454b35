"""A folder's tree, entry by entry, without following links; and work in a thread that ends when it has to."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from odysseus.tools.confine import Folder

DEPTH_LIMIT = 64
SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
"""Folders that nobody looks for, left out unless they are named."""

T = TypeVar("T")


class Patience:
    """Tells a thread when to end: its time is up, or nobody waits for it any more."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._left = threading.Event()

    @property
    def over(self) -> bool:
        """Whether to end now."""
        return self._left.is_set() or time.monotonic() > self._end

    def leave(self) -> None:
        """Nobody waits any more."""
        self._left.set()


async def in_thread(work: Callable[[Patience], T], seconds: float) -> T:
    """What `work` gives, made in a thread; it has to look at its Patience. Being cancelled ends it soon."""
    patience = Patience(seconds)
    try:
        return await asyncio.to_thread(work, patience)
    finally:
        patience.leave()


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or link found on the way. `folder` is the open folder it is in, until the next one is asked for."""

    path: str
    name: str
    folder: Folder
    is_link: bool
    found: os.DirEntry[str]


@dataclass(slots=True)
class Walk:
    """A way through a tree. `closed` counts what could not be opened; `cut` says that its time was up."""

    patience: Patience
    skip: frozenset[str] = SKIPPED
    closed: int = 0
    cut: bool = False
    _depth: int = field(default=0)

    def files(self, folder: Folder, prefix: str) -> Iterator[Entry]:
        """What is no folder, below an open folder whose own path is `prefix` (empty, or ending in `/`)."""
        inner: list[str] = []
        for found in self._sorted(folder):
            if self.patience.over:
                self.cut = True
                return
            if found.is_dir(follow_symlinks=False):
                inner.append(found.name)
            else:
                yield Entry(prefix + found.name, found.name, folder, found.is_symlink(), found)
        for name in inner:
            if name not in self.skip and not self.cut:
                yield from self._below(folder, name, prefix)

    def note(self) -> str:
        """What was not seen, as a line of its own, or nothing."""
        parts = []
        if self.cut:
            parts.append("Time was up before everything was seen; look in a smaller folder.")
        if self.closed:
            parts.append(f"{self.closed} folders or files could not be opened.")
        return f"[{' '.join(parts)}]" if parts else ""

    def _sorted(self, folder: Folder) -> list[os.DirEntry[str]]:
        with folder.entries() as entries:
            found = []
            for entry in entries:
                found.append(entry)
                if self.patience.over:
                    self.cut = True
                    break
        return sorted(found, key=lambda entry: entry.name)

    def _below(self, folder: Folder, name: str, prefix: str) -> Iterator[Entry]:
        if self._depth >= DEPTH_LIMIT:
            self.closed += 1
            return
        try:
            inner = folder.folder(name)
        except OSError:
            self.closed += 1
            return
        self._depth += 1
        try:
            with inner:
                yield from self.files(inner, f"{prefix}{name}/")
        finally:
            self._depth -= 1
