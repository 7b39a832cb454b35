"""The library as one thing: what is added and removed, how it is, and the parts behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from odysseus.clock import Clock
from odysseus.config import RetrievalConfig
from odysseus.errors import Conflict, NotFound, StoreError
from odysseus.retrieval.finding import FoundFile, find_files
from odysseus.retrieval.index import Retrieval
from odysseus.retrieval.indexer import Indexer, Stores
from odysseus.retrieval.places import choose_place
from odysseus.retrieval.progress import ProgressBoard
from odysseus.retrieval.vectors import Remote, Vectors
from odysseus.store.db import Database
from odysseus.store.library import Counts, LibraryStore, Source
from odysseus.store.library_index import LibraryIndex
from odysseus.store.uploads import UploadStore

_OFF = "The library is switched off in the settings (retrieval.on)."


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """What holds for the library; `forbidden` are folders that are never added."""

    config: RetrievalConfig
    forbidden: Sequence[Path]


@dataclass(frozen=True, slots=True)
class Entry:
    """A source with what is indexed of it. `problems` are files that could not be read, with the reasons."""

    source: Source
    counts: Counts
    indexing: bool
    problems: Sequence[tuple[str, str]]


class Library:
    """Adds, removes and tells; `retrieval` answers questions, `board` tells the progress."""

    def __init__(
        self, db: Database, uploads: UploadStore, clock: Clock, settings: LibrarySettings, remote: Remote | None = None
    ) -> None:
        config = settings.config
        self._store = LibraryStore(db, clock)
        self._uploads = uploads
        self._on = config.on
        self._forbidden = settings.forbidden
        self._index = index = LibraryIndex(db)
        self._vectors = Vectors(index, clock, config.unload_seconds, remote)
        self._indexer = Indexer(Stores(self._store, index, uploads), self._vectors, clock, config.refresh_minutes * 60)
        self._tasks: set[asyncio.Task[None]] = set()
        self.retrieval = Retrieval(index, self._vectors, on=config.on, least=config.similarity)
        self.retrieval.gone = self._refresh_soon

    @property
    def board(self) -> ProgressBoard:
        """How far the indexing is."""
        return self._indexer.board

    def start(self) -> None:
        """Begin to index what is waiting or has changed."""
        if self._on:
            self._indexer.start()

    async def close(self) -> None:
        """Stop the indexing and end the process of vectors."""
        await self._indexer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._vectors.close()

    async def quiet(self) -> None:
        """Wait until there is nothing to index."""
        await self._indexer.quiet()

    @property
    def loaded(self) -> bool:
        """Whether the model is there, so that a question by meaning is quick."""
        return not self._vectors.cold

    def warm(self) -> None:
        """A question may come soon: load the model in the background, if there is anything to be found by it."""
        if not self._tasks:
            self._keep(asyncio.create_task(self._warm()))

    async def add_path(self, text: str) -> Source:
        """Add a file or a folder by its whole path; one that is there already is compared with the disk.

        Raises BadRequest, Conflict.
        """
        self._check_on()
        place = await asyncio.to_thread(choose_place, text, self._forbidden)
        kind = "folder" if await asyncio.to_thread(place.is_dir) else "file"
        source, new = await self._store.add_source("folder" if kind == "folder" else "file", str(place), place.name)
        return await self._added(source, new=new)

    async def add_upload(self, upload_id: str) -> Source:
        """Add a file that was uploaded. Raises NotFound, Conflict."""
        self._check_on()
        upload = await self._uploads.get(upload_id)
        source, new = await self._store.add_source("upload", upload.id, upload.name)
        return await self._added(source, new=new)

    async def remove(self, source_id: str) -> None:
        """Take a source out: nothing of it is found any more. Raises NotFound."""
        await self._store.remove(source_id)
        if self._on:
            self._indexer.wake()

    async def refresh(self, source_id: str) -> Source:
        """Compare a source with the disk, and read again what could not be read. Raises NotFound, Conflict."""
        self._check_on()
        await self._indexer.refresh(source_id, retry=True)
        return await self._store.source(source_id)

    async def entries(self) -> Sequence[Entry]:
        """All sources, the newest first."""
        counts = await self._store.counts()
        return [await self._entry(source, counts.get(source.id, Counts())) for source in await self._store.sources()]

    async def find(self, query: str, limit: int) -> Sequence[FoundFile]:
        """Files with all words of `query` in their names or in a passage; none while the library is off."""
        return await find_files(self._index, query, limit) if self._on else []

    async def entry(self, source_id: str) -> Entry:
        """One of them. Raises NotFound."""
        counts = await self._store.counts()
        return await self._entry(await self._store.source(source_id), counts.get(source_id, Counts()))

    async def _entry(self, source: Source, counts: Counts) -> Entry:
        problems = await self._store.failed(source.id) if counts.failed else []
        now = self.board.now
        return Entry(source, counts, now.running and now.source_id == source.id, problems)

    async def _added(self, source: Source, *, new: bool) -> Source:
        if not new:
            await self._indexer.refresh(source.id)
        self._indexer.wake()
        return await self._store.source(source.id)

    def _refresh_soon(self, source_id: str) -> None:
        self._keep(asyncio.create_task(self._refresh_quietly(source_id)))

    async def _warm(self) -> None:
        with suppress(StoreError):  # whoever asks next is told
            if any(counts.chunks for counts in (await self._store.counts()).values()):
                await self.retrieval.warm()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refresh_quietly(self, source_id: str) -> None:
        with suppress(NotFound, StoreError):  # it was removed meanwhile, or the next look comes later
            if (await self._store.source(source_id)).state != "waiting":
                await self._indexer.refresh(source_id)

    def _check_on(self) -> None:
        if not self._on:
            raise Conflict(_OFF)
