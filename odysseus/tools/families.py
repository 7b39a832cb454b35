"""The server's own tools, put together from their families. Imported late: it takes long, and a start does without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from odysseus.clock import Clock
from odysseus.config import Config
from odysseus.tools.ask import ask_tools
from odysseus.tools.base import Tool
from odysseus.tools.documents import document_tools
from odysseus.tools.edits import edit_tools
from odysseus.tools.files import file_tools
from odysseus.tools.images import MakeImage, image_tools
from odysseus.tools.memory import memory_tools
from odysseus.tools.shelf import Stores
from odysseus.tools.shell import shell_tools
from odysseus.tools.small import small_tools
from odysseus.tools.web_fetch import fetch_tools
from odysseus.tools.web_search import search_tools


def own_tools(config: Config, stores: Stores, clock: Clock, make_image: MakeImage | None) -> Sequence[Tool]:
    """All of them, in the order in which models see them."""
    images = image_tools(make_image, stores.uploads) if make_image else ()
    return (
        *_family("Basics", [*small_tools(clock.wall), *ask_tools()]),
        *_family("Files", [*file_tools(), *edit_tools(stores.changes)]),
        *_family("Programs", shell_tools(config.shell)),
        *_family("The web", [*search_tools(config.web), *fetch_tools(config.web)]),
        *_family("Documents", _kept(document_tools(stores.documents))),
        *_family("Memories", _kept(memory_tools(stores.memories, ask=config.memory.ask))),
        *_family("Pictures", _kept(images)),
    )


def _family(name: str, tools: Sequence[Tool]) -> list[Tool]:
    return [replace(tool, family=name) for tool in tools]


def _kept(tools: Sequence[Tool]) -> list[Tool]:
    return [replace(tool, keeps=True) for tool in tools]
