"""The job that keeps the index as the disk is: one source after the other, a few files at a time, over restarts.

What is waiting stands in the store, so a start goes on where the last process ended. Knows no question.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from odysseus.clock import Clock, Timer
from odysseus.errors import NotFound, StoreError
from odysseus.retrieval.embedding import EmbeddingError
from odysseus.retrieval.progress import Progress, ProgressBoard
from odysseus.retrieval.reading import LIMITS, Reader, embedded_text, with_vectors
from odysseus.retrieval.vectors import BATCH, Vectors
from odysseus.retrieval.walking import Found, Gone, Walk, file_hash, look
from odysseus.store.library import Document, LibraryStore, NewChunk, Source
from odysseus.store.library_index import LibraryIndex
from odysseus.store.uploads import UploadStore

log = logging.getLogger(__name__)

AT_ONCE = 2
"""How many files are worked at: while one is read, another's vectors are made."""
MOST_CHUNKS = 200_000
_FILL = 8 * BATCH
_FULL = f"The library is full: it has {MOST_CHUNKS:,} passages. Remove some entries, or add smaller folders."
_NO_SPACE = "The index could not be saved. See that the disk has space, then refresh this entry."


@dataclass(frozen=True, slots=True)
class Stores:
    """The tables that the job works on."""

    library: LibraryStore
    index: LibraryIndex
    uploads: UploadStore


class Indexer:
    """Owns the job's task. `board` tells how far it is."""

    def __init__(self, stores: Stores, vectors: Vectors, clock: Clock, refresh_seconds: float) -> None:
        self._stores = stores
        self._library = stores.library
        self._vectors = vectors
        self._clock = clock
        self._refresh_seconds = refresh_seconds
        self._reader = Reader()
        self._wake = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._asked: set[str] = set()
        self._again: set[str] = set()
        self._all = False
        self._task: asyncio.Task[None] | None = None
        self._timer: Timer | None = None
        self.board = ProgressBoard()

    def start(self) -> None:
        """Begin to work: first what is waiting, then all sources, for what has changed meanwhile."""
        self._all = True
        self._quiet.clear()
        self.board.update(running=True)
        self._task = asyncio.create_task(self._live(), name="library")

    async def close(self) -> None:
        """Stop at once. A file that was being indexed is indexed at the next start."""
        if self._timer:
            self._timer.cancel()
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def wake(self) -> None:
        """There is something to do."""
        self._quiet.clear()
        self.board.update(running=True)
        self._wake.set()

    async def refresh(self, source_id: str, *, retry: bool = False) -> None:
        """Compare a source with the disk; with `retry` read again what could not be read. Raises NotFound."""
        await self._library.source(source_id)
        self._asked.add(source_id)
        if retry:
            self._again.add(source_id)
        await self._library.set_state(source_id, "waiting")
        self.wake()

    async def quiet(self) -> None:
        """Wait until there is nothing to do."""
        await self._quiet.wait()

    async def _live(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._work()
            except StoreError as error:
                log.warning("the indexing of the library was broken off: %s", error.message)
            if not self._wake.is_set():
                self.board.tell(Progress())
                self._quiet.set()
            await self._wake.wait()

    async def _work(self) -> None:
        while await self._library.clear_removed():
            self._vectors.forget_loaded()
        await self._index_waiting()
        if self._all:
            self._all = False
            self._timer = self._clock.call_later(self._refresh_seconds, self._come_round)
            for source in await self._library.sources():
                await self._library.set_state(source.id, "waiting")
            await self._index_waiting()
        await self._fill()

    def _come_round(self) -> None:
        """It is time to compare all sources with the disk."""
        self._all = True
        self.wake()

    async def _index_waiting(self) -> None:
        """The sources that wait, those first that never were looked at, then the oldest."""
        while waiting := [one for one in await self._library.sources() if one.state == "waiting"]:
            await self._index(min(waiting, key=lambda one: (one.checked_at or 0, one.added_at)))

    async def _index(self, source: Source) -> None:
        """Bring one source up to date, and say how it went."""
        self._asked.discard(source.id)
        try:
            note = await self._compare(source)
            # What was asked for meanwhile has yet to come.
            await self._library.set_state(source.id, "waiting" if source.id in self._asked else "ready", note)
        except Gone as gone:
            await self._drop(await self._library.documents(source.id))
            await self._library.set_state(source.id, "failed", str(gone))
        except StoreError as error:
            log.warning("a source of the library could not be indexed: %s", error.message)
            await self._library.set_state(source.id, "failed", _NO_SPACE)

    async def _compare(self, source: Source) -> str:
        walk = await self._look(source)
        known = {one.path: one for one in await self._library.documents(source.id)}
        again = source.id in self._again
        self._again.discard(source.id)
        there = {one.path for one in walk.files}
        gone = [one for path, one in known.items() if path not in there]
        news = [one for one in walk.files if again or not _same(one, known.get(one.path))]
        self.board.tell(Progress(True, source.id, source.name, 0, len(gone) + len(news)))
        await self._drop(gone)
        if news:
            await self._index_files(source, news, known)
        full = await self._stores.index.chunk_count() >= MOST_CHUNKS
        return " ".join(part for part in (walk.note, _FULL if full else "") if part)

    async def _look(self, source: Source) -> Walk:
        if source.kind != "upload":
            return await asyncio.to_thread(look, Path(source.place), folder=source.kind == "folder")
        try:
            upload = await self._stores.uploads.get(source.place)
        except NotFound as error:
            raise Gone("The uploaded file was deleted.") from error
        return await asyncio.to_thread(look, self._stores.uploads.path(upload), folder=False, name=upload.name)

    async def _drop(self, documents: Sequence[Document]) -> None:
        for document in documents:
            await self._library.drop(document.id)
            self.board.update(done=self.board.now.done + 1)
        if documents:
            self._vectors.forget_loaded()

    async def _index_files(self, source: Source, files: Sequence[Found], known: Mapping[str, Document]) -> None:
        queue = iter(files)
        tasks = [asyncio.create_task(self._take_files(source, queue, known)) for _ in range(AT_ONCE)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _take_files(self, source: Source, queue: Iterator[Found], known: Mapping[str, Document]) -> None:
        for found in queue:
            self.board.update(file=found.path or found.name)
            if await self._stores.index.chunk_count() >= MOST_CHUNKS:
                return
            if not await self._index_file(source, found, known.get(found.path)):
                return
            self.board.update(done=self.board.now.done + 1)

    async def _index_file(self, source: Source, found: Found, known: Document | None) -> bool:
        """Index one file in place of what was known of it. False when the source was removed meanwhile."""
        try:
            digest = await asyncio.to_thread(file_hash, found.full, LIMITS.bytes)
        except OSError:
            digest = ""  # reading it says what is wrong
        if known and known.sha256 == digest and known.kind != "failed":
            await self._library.touch(known.id, found.size, found.mtime)
            return True
        read = await self._reader.read(found.full, found.name, found.path or found.name)
        if read.kind == "failed":
            self.board.update(failed=self.board.now.failed + 1)
        document = Document(
            secrets.token_hex(8),
            source.id,
            found.path,
            found.name,
            found.size,
            found.mtime,
            digest,
            read.kind,
            read.note,
            self._clock.wall(),
        )
        chunks = await self._with_vectors(read.chunks)
        if known:
            self._vectors.forget_loaded()
        return await self._library.put(document, chunks, self._vectors.model)

    async def _with_vectors(self, chunks: Sequence[NewChunk]) -> Sequence[NewChunk]:
        """The chunks with vectors, or as they are when there are none to be had; `_fill` then comes back to them."""
        if not chunks or self._vectors.resting:
            return chunks
        try:
            made = await self._vectors.embed([embedded_text(one.heading, one.text) for one in chunks])
        except EmbeddingError:
            return chunks
        return [with_vectors(chunk, one.whole, one.parts) for chunk, one in zip(chunks, made, strict=True)]

    async def _fill(self) -> None:
        """Make the vectors that are missing: the model was not there, or was another one."""
        index, model, last = self._stores.index, self._vectors.model, 0
        while not self._vectors.resting and (rows := await index.without_vectors(model, last, _FILL)):
            done = self.board.now.done if not self.board.now.source_id else 0
            self.board.tell(Progress(True, done=done + len(rows)))
            try:
                made = await self._vectors.embed([embedded_text(heading, text) for _, heading, text in rows])
            except EmbeddingError:
                return
            numbers = [number for number, _, _ in rows]
            await index.add_vectors(
                model, {number: (one.whole, one.parts) for number, one in zip(numbers, made, strict=True)}
            )
            last = numbers[-1]


def _same(found: Found, known: Document | None) -> bool:
    """Whether a file looks as it was indexed."""
    return known is not None and (known.size, known.mtime) == (found.size, found.mtime)
