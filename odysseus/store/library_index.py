"""Questions to the index of the library: by words, by number, and its vectors in pages.

Terms and bytes in, numbers of chunks out. Knows no ranking but SQLite's own of words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from odysseus.store.db import Connection, Database
from odysseus.store.search import holds

TITLE_WEIGHT = 2.0
"""How much more a term counts in a document's name and headings than in its text."""
COMMON = 500
"""A term that stands in more chunks is counted by reading them all, so its figure is kept for a while."""
_MOST_NUMBERS = 500  # SQLite bounds the variables of a statement
_MOST_WALKED = 2_000
"""Chunks with common words that are looked at to find files."""
_FILE = "d.id, d.source_id, s.name, d.path, d.name"


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with what is told of it. `place` is the whole path of its source, or the id of an upload (`kind`).

    `terms` are those of its name, headings and text, parted by spaces; `parts` its vectors, None when it has none.
    """

    number: int
    document_id: str
    source_id: str
    kind: str
    place: str
    path: str
    name: str
    heading: str
    page: int | None
    text: str
    terms: str
    parts: bytes | None


@dataclass(frozen=True, slots=True)
class VectorPage:
    """Vectors in the order in which they were stored, to be read on from `last`."""

    last: int
    chunks: Sequence[int]
    wholes: bytes


@dataclass(frozen=True, slots=True)
class FileHit:
    """A file that was found, by the chunk that it was found for, whose text is empty when its name was enough.

    `path` is below its source, which is called `source_name`; empty for a file that is one itself.
    """

    document_id: str
    source_id: str
    source_name: str
    path: str
    name: str
    heading: str = ""
    page: int | None = None
    text: str = ""


class LibraryIndex:
    """Reads the index, and adds vectors that were missing."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._common: dict[str, int] = {}
        self._counted_at = 0

    async def chunk_count(self) -> int:
        """About how many chunks there are: what is being taken out counts still."""
        row = await self._db.read_one("SELECT count(*) FROM library_chunks")
        return int(row[0]) if row else 0

    async def frequencies(self, terms: Sequence[str], count: int) -> Mapping[str, int]:
        """In how many of the `count` chunks each term stands; terms that stand nowhere are left out.

        Of common terms the figure may be that of a library a tenth smaller or larger.
        """
        if abs(count - self._counted_at) * 10 > self._counted_at:
            self._common, self._counted_at = {}, count
        found = {term: self._common[term] for term in terms if term in self._common}
        missing = [term for term in terms if term not in found]
        if missing:
            marks = ", ".join("?" * len(missing))
            rows = await self._db.read(f"SELECT term, doc FROM library_terms WHERE term IN ({marks})", missing)
            found |= {row[0]: row[1] for row in rows}
        self._common |= {term: number for term, number in found.items() if number > COMMON}
        return found

    async def by_words(self, wanted: Sequence[Sequence[str]], limit: int) -> Sequence[int]:
        """The best chunks by bm25 that hold some of these; several terms are a phrase."""
        if not wanted:
            return []
        match = " OR ".join('"' + " ".join(term.replace('"', "") for term in phrase) + '"' for phrase in wanted)
        rows = await self._db.read(
            """SELECT rowid FROM library_words WHERE library_words MATCH ? AND rank MATCH ?
               ORDER BY rank LIMIT ?""",
            (match, f"bm25({TITLE_WEIGHT}, 1.0)", limit),
        )
        return [row[0] for row in rows]

    async def files_with(self, match: str, limit: int) -> Sequence[FileHit]:
        """Files with a chunk that an expression of the index of words finds, the last indexed first."""
        rows = await self._db.read(
            f"""SELECT {_FILE}, c.heading, c.page, c.text, min(c.number) AS first
                FROM (SELECT rowid AS number FROM library_words
                      WHERE library_words MATCH ? ORDER BY rowid DESC LIMIT {_MOST_WALKED}) w
                JOIN library_chunks c ON c.number = w.number
                JOIN library_documents d ON d.id = c.document_id
                JOIN library_sources s ON s.id = d.source_id AND s.state != 'removed'
                GROUP BY d.id ORDER BY first DESC LIMIT ?""",
            (match, limit),
        )
        return [FileHit(*tuple(row)[:-1]) for row in rows]

    async def files_called(self, words: Sequence[str], limit: int) -> Sequence[FileHit]:
        """Files with each of these plain words in path or name."""
        clause, patterns = holds(words, "plain(d.path || ' ' || d.name)")
        rows = await self._db.read(
            f"""SELECT {_FILE} FROM library_documents d
                JOIN library_sources s ON s.id = d.source_id AND s.state != 'removed'
                WHERE {clause} ORDER BY s.added_at DESC, d.path LIMIT ?""",
            (*patterns, limit),
        )
        return [FileHit(*row) for row in rows]

    async def chunks(self, numbers: Sequence[int], model: str) -> Mapping[int, StoredChunk]:
        """These chunks with the vectors that `model` made, without those that are gone or being taken out."""
        found: dict[int, StoredChunk] = {}
        for start in range(0, len(numbers), _MOST_NUMBERS):
            some = numbers[start : start + _MOST_NUMBERS]
            rows = await self._db.read(
                f"""SELECT c.number, d.id, s.id, s.kind, s.place, d.path, d.name, c.heading, c.page, c.text,
                           w.title || ' ' || w.words, v.parts
                    FROM library_chunks c
                    JOIN library_documents d ON d.id = c.document_id
                    JOIN library_sources s ON s.id = d.source_id AND s.state != 'removed'
                    JOIN library_words w ON w.rowid = c.number
                    LEFT JOIN library_vectors v ON v.chunk = c.number AND v.model = ?
                    WHERE c.number IN ({", ".join("?" * len(some))})""",
                (model, *some),
            )
            found |= {row[0]: StoredChunk(*row) for row in rows}
        return found

    async def vectors(self, model: str, after: int, limit: int) -> VectorPage | None:
        """The next vectors behind the number `after`; None when there are no more."""
        rows = await self._db.read(
            "SELECT number, chunk, whole FROM library_vectors WHERE number > ? AND model = ? ORDER BY number LIMIT ?",
            (after, model, limit),
        )
        if not rows:
            return None
        return VectorPage(rows[-1][0], [row[1] for row in rows], b"".join(row[2] for row in rows))

    async def without_vectors(self, model: str, after: int, limit: int) -> Sequence[tuple[int, str, str]]:
        """Chunks behind a number that have no vectors of this model: number, heading, text."""
        rows = await self._db.read(
            """SELECT c.number, c.heading, c.text FROM library_chunks c
               LEFT JOIN library_vectors v ON v.chunk = c.number AND v.model = ?
               WHERE c.number > ? AND v.chunk IS NULL ORDER BY c.number LIMIT ?""",
            (model, after, limit),
        )
        return [(row[0], row[1], row[2]) for row in rows]

    async def add_vectors(self, model: str, vectors: Mapping[int, tuple[bytes, bytes]]) -> None:
        """Whole and parts by the number of the chunk, in place of those of another model."""

        def work(db: Connection) -> None:
            for number, (whole, parts) in vectors.items():
                values: tuple[Any, ...] = (number, model, whole, parts, number)
                db.execute(
                    """INSERT OR REPLACE INTO library_vectors (chunk, model, whole, parts)
                       SELECT ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM library_chunks WHERE number = ?)""",
                    values,
                )

        await self._db.write(work)
