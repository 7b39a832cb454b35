"""The library: how fast files are indexed, and how long a question takes among 20,000 passages.

The server's parts in this process, the vectors in theirs. The passages of the second part are made up, since only how
many there are matters for the time.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Figure, high, middle, table
from odysseus.clock import SystemClock
from odysseus.config import RetrievalConfig
from odysseus.retrieval.library import Library, LibrarySettings
from odysseus.retrieval.vectors import LOCAL_MODEL
from odysseus.retrieval.words import terms
from odysseus.store.db import Database
from odysseus.store.library import Document, LibraryStore, NewChunk
from odysseus.store.uploads import UploadStore

FILES = 60
LETTERS = 4_000
CHUNKS = 20_000
QUESTIONS = 200
DIMS, PIECES = 512, 6
_TICK = 0.005


@dataclass(frozen=True, slots=True)
class Open:
    """An open library."""

    library: Library
    db: Database


async def measure() -> list[Figure]:
    """The table's lines."""
    kept = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # the process of the vectors works beside this one
    try:
        return [*await _indexing(), *await _questions()]
    finally:
        os.sched_setaffinity(0, kept)


async def _indexing() -> list[Figure]:
    speak = _speaker(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "files"
        folder.mkdir()
        for number in range(FILES):
            (folder / f"{number}.md").write_text(
                f"# Part {number}\n\n" + "\n\n".join(speak(LETTERS // 8) for _ in range(8))
            )
        async with _opened(Path(name) / "data") as opened, _lag() as lag:
            begun = time.monotonic()
            await opened.library.add_path(str(folder))
            await opened.library.quiet()
            seconds = time.monotonic() - begun
            (entry,) = await opened.library.entries()
            again = time.monotonic()
            await opened.library.refresh(entry.source.id)
            await opened.library.quiet()
            unchanged = time.monotonic() - again
    chunks = entry.counts.chunks
    return [
        Figure("passages indexed a second, with vectors", chunks / seconds, "/s", detail=f"{chunks} in {FILES} files"),
        Figure("waits of the event loop meanwhile, p99", high(lag) * 1000, "ms", most=20),
        Figure(f"a second look at {FILES} files that did not change", unchanged * 1000, "ms"),
    ]


async def _questions() -> list[Figure]:
    speak = _speaker(2)
    with tempfile.TemporaryDirectory() as name:
        async with _opened(Path(name) / "data") as opened:
            await _fill(opened.db, Path(name) / "files", speak)
            search = opened.library.retrieval.search
            begun = time.monotonic()
            await search("the first question loads the model and the matrix", 6)
            first = time.monotonic() - begun
            figures = [Figure(f"first question, {CHUNKS:,} passages", first * 1000, "ms")]
            async with _lag() as lag:
                for what, halves in (("", {}), (" by words alone", {"meanings": False})):
                    times = [await _timed(search(speak(60), 6, **halves)) for _ in range(QUESTIONS)]
                    figures += [
                        Figure(f"a question{what}, p50", middle(times) * 1000, "ms", most=100),
                        Figure("  p99", high(times) * 1000, "ms", most=300),
                    ]
            return [*figures, Figure("waits of the event loop meanwhile, p99", high(lag) * 1000, "ms", most=20)]


async def _timed(work: object) -> float:
    begun = time.monotonic()
    await work  # type: ignore[misc]
    return time.monotonic() - begun


async def _fill(db: Database, folder: Path, speak: Callable[[int], str]) -> None:
    """A source of many documents, each of 100 passages, with vectors of chance."""
    store, chance = LibraryStore(db, SystemClock()), random.Random(3)
    await asyncio.to_thread(folder.mkdir)
    source, _ = await store.add_source("folder", str(folder), "files")
    for number in range(CHUNKS // 100):
        path = f"{number}.txt"
        (folder / path).touch()
        document = Document(f"d{number}", source.id, path, path, 0, 0, "", "text", "", 0.0)
        await store.put(document, [_chunk(speak, chance) for _ in range(100)], LOCAL_MODEL)
    await store.set_state(source.id, "ready")


def _chunk(speak: Callable[[int], str], chance: random.Random) -> NewChunk:
    text = speak(1_000)
    parts = chance.randbytes(DIMS * PIECES)
    return NewChunk(text, "", None, "", " ".join(terms(text)), parts[:DIMS], parts)


def _speaker(seed: int) -> Callable[[int], str]:
    """Sentences of made-up words, some of which are much more common than others."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghiklmnoprstuvw", k=chance.randint(2, 9))) for _ in range(20_000)]
    weights = [1 / place for place in range(1, len(words) + 1)]

    def speak(letters: int) -> str:
        said: Sequence[str] = chance.choices(words, weights, k=letters // 6)
        return " ".join(word + "." if place % 12 == 11 else word for place, word in enumerate(said))

    return speak


@asynccontextmanager
async def _opened(data: Path) -> AsyncIterator[Open]:
    await asyncio.to_thread(data.mkdir)
    clock = SystemClock()
    db = await Database.open(data / "odysseus.sqlite3")
    library = Library(db, UploadStore(db, data / "uploads", clock), clock, LibrarySettings(RetrievalConfig(), [data]))
    if data.parent.joinpath("files").exists():
        library.start()
    try:
        yield Open(library, db)
    finally:
        await library.close()
        await db.close()


@asynccontextmanager
async def _lag() -> AsyncIterator[list[float]]:
    """How much later than asked for the event loop comes back, in seconds."""
    late = [0.0]

    async def tick() -> None:
        while True:
            due = time.monotonic() + _TICK
            await asyncio.sleep(_TICK)
            late.append(time.monotonic() - due)

    task = asyncio.create_task(tick())
    try:
        yield late
    finally:
        task.cancel()


if __name__ == "__main__":
    print(table("The library", asyncio.run(measure())))
