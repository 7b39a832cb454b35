"""How far the indexing is, told to whoever waits for a change. Knows no file."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` files of a source that are new, changed or gone; `file` is the one that is next.

    While vectors are made for what has none, `source_id` is empty, and `done` counts chunks. `failed` counts files that
    could not be read.
    """

    running: bool = False
    source_id: str = ""
    name: str = ""
    done: int = 0
    total: int = 0
    file: str = ""
    failed: int = 0


class ProgressBoard:
    """The newest progress; `version` grows with each change."""

    def __init__(self) -> None:
        self.now = Progress()
        self.version = 0
        self._changed = asyncio.Event()

    def tell(self, progress: Progress) -> None:
        """Show this from now on."""
        if progress == self.now:
            return
        self.now = progress
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def update(self, **fields: Any) -> None:
        """Show the same with some fields changed."""
        self.tell(replace(self.now, **fields))

    async def after(self, version: int) -> Progress:
        """The newest progress, once there is one that is newer than `version`."""
        while self.version <= version:
            await self._changed.wait()
        return self.now
