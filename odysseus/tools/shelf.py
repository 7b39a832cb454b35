"""All tools there are, put together from their families; which of them a run may use is decided elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from odysseus.clock import Clock
from odysseus.config import Config
from odysseus.store.changes import ChangeStore
from odysseus.store.documents import DocumentStore
from odysseus.store.memories import MemoryStore
from odysseus.store.uploads import UploadStore
from odysseus.tools.ask import ask_tools
from odysseus.tools.base import Tool
from odysseus.tools.documents import document_tools
from odysseus.tools.edits import edit_tools
from odysseus.tools.files import file_tools
from odysseus.tools.images import MakeImage, image_tools
from odysseus.tools.memory import memory_tools
from odysseus.tools.shell import shell_tools
from odysseus.tools.small import small_tools
from odysseus.tools.web_fetch import fetch_tools
from odysseus.tools.web_search import search_tools


@dataclass(frozen=True, slots=True)
class Stores:
    """Where tools keep things."""

    changes: ChangeStore
    documents: DocumentStore
    memories: MemoryStore
    uploads: UploadStore


class Shelf:
    """The tools of this server. `more` gives those that come and go, like the ones of MCP servers."""

    def __init__(
        self,
        config: Config,
        stores: Stores,
        clock: Clock,
        make_image: MakeImage | None = None,
        more: Callable[[], Sequence[Tool]] = tuple,
    ) -> None:
        images = image_tools(make_image, stores.uploads) if make_image else ()
        self._more = more
        self._own: Sequence[Tool] = (
            *small_tools(clock.wall),
            *ask_tools(),
            *file_tools(),
            *edit_tools(stores.changes),
            *shell_tools(config.shell),
            *search_tools(config.web),
            *fetch_tools(config.web),
            *_kept([*document_tools(stores.documents), *memory_tools(stores.memories), *images]),
        )

    def tools(self) -> Sequence[Tool]:
        """All of them, as of now; the order is always the same, so that prompts stay the same."""
        return (*self._own, *self._more())


def _kept(tools: Sequence[Tool]) -> list[Tool]:
    return [replace(tool, keeps=True) for tool in tools]
