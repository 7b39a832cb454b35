"""A library over real files and a real database, with vectors of whoever the test wants."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odysseus.clock import Clock, SystemClock
from odysseus.config import RetrievalConfig
from odysseus.retrieval.library import Library, LibrarySettings
from odysseus.retrieval.vectors import Remote
from odysseus.retrieval.words import terms
from odysseus.store.db import Database
from odysseus.store.library import LibraryStore
from odysseus.store.library_index import LibraryIndex
from odysseus.store.uploads import UploadStore

GUARD = 60.0
DIMS = 64


class WordVectors:
    """Vectors that say which words are in a text: an endpoint without a network, and without a model to load."""

    name = "test/words"

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.texts += texts
        return [_counted(text) for text in texts]


def _counted(text: str) -> list[float]:
    vector = [0.0] * DIMS
    for term in [*terms(text), "-"]:
        vector[hashlib.md5(term.encode(), usedforsecurity=False).digest()[0] % DIMS] += 1.0
    return vector


@dataclass(frozen=True)
class Shelf:
    """An open library with what is behind it."""

    library: Library
    db: Database
    uploads: UploadStore
    store: LibraryStore
    index: LibraryIndex

    async def add(self, path: Path) -> str:
        """Add a place and wait until it is indexed; gives its id."""
        source = await self.library.add_path(str(path))
        await self.quiet()
        return source.id

    async def quiet(self) -> None:
        async with asyncio.timeout(GUARD):
            await self.library.quiet()

    async def refresh(self, source_id: str) -> None:
        await self.library.refresh(source_id)
        await self.quiet()

    async def found(self, query: str, k: int = 5, **halves: Any) -> list[str]:
        """The names of the files that a search finds, best first."""
        return [one.filename for one in await self.library.retrieval.search(query, k, **halves)]


@asynccontextmanager
async def shelf(
    data: Path, remote: Remote | None = None, clock: Clock | None = None, *, start: bool = True, **settings: Any
) -> AsyncIterator[Shelf]:
    """A library of a data folder; a second one of the same folder is a restart."""
    data.mkdir(parents=True, exist_ok=True)
    clock = clock or SystemClock()
    db = await Database.open(data / "odysseus.sqlite3")
    uploads = UploadStore(db, data / "uploads", clock)
    library = Library(db, uploads, clock, LibrarySettings(RetrievalConfig(**settings), [data]), remote)
    if start:
        library.start()
    try:
        yield Shelf(library, db, uploads, LibraryStore(db, clock), LibraryIndex(db))
    finally:
        await library.close()
        await db.close()


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Files by their paths below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
