"""All tools there are, made when they are first wanted; which of them a run may use is decided elsewhere.

Must not import a family of tools: the start of the server would pay for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from odysseus.store.changes import ChangeStore
from odysseus.store.documents import DocumentStore
from odysseus.store.memories import MemoryStore
from odysseus.store.uploads import UploadStore
from odysseus.tools.base import Tool

EVERYWHERE = frozenset(
    {
        "calculate",
        "current_time",
        "ask_user",
        "update_plan",
        "ui_control",
        "read_file",
        "ls",
        "glob",
        "grep",
        "write_file",
        "edit_file",
        "apply_patch",
        "web_search",
        "web_fetch",
        "create_document",
        "edit_document",
        "suggest_document",
        "read_document",
        "manage_memory",
    }
)
"""The names of tools that every server has, to be known without making them."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Where tools keep things."""

    changes: ChangeStore
    documents: DocumentStore
    memories: MemoryStore
    uploads: UploadStore


class Shelf:
    """The tools of this server. `make` gives its own, once, when first wanted; `more` those that come and go."""

    def __init__(self, make: Callable[[], Sequence[Tool]], more: Callable[[], Sequence[Tool]] = tuple) -> None:
        self._make = make
        self._more = more
        self._made: Sequence[Tool] | None = None
        self._making = threading.Lock()

    def tools(self) -> Sequence[Tool]:
        """All of them, as of now; the order is always the same, so that prompts stay the same."""
        return (*self._own(), *self._more())

    async def preload(self) -> None:
        """Make the server's own in a thread. Who wants them in the meantime waits."""
        await asyncio.to_thread(self._own)

    def unnamed(self, names: Iterable[str]) -> Sequence[str]:
        """The names that no tool has now; those of MCP servers come and go and are taken on trust."""
        asked = [name for name in names if name not in EVERYWHERE and "__" not in name]
        known = {tool.name for tool in self.tools()} if asked else ()
        return [name for name in asked if name not in known]

    def _own(self) -> Sequence[Tool]:
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made
