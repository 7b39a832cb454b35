"""The tables of the library: sources that the user added, their documents, chunks, words and vectors.

A document is replaced as a whole in one transaction. Knows no file, no model and no ranking; terms and vectors come
ready-made.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal

from odysseus.clock import Clock
from odysseus.errors import Conflict, NotFound
from odysseus.store.db import Connection, Database, Row

SourceKind = Literal["file", "folder", "upload"]
SourceState = Literal["waiting", "ready", "failed"]

MOST_SOURCES = 500


@dataclass(frozen=True, slots=True)
class Source:
    """What the user added: `place` is a real path, or the id of an upload. `note` says what is wrong, for the user.

    `checked_at` is when it was last compared with the disk, in epoch seconds.
    """

    id: str
    kind: SourceKind
    place: str
    name: str
    state: SourceState
    note: str
    added_at: float
    checked_at: float | None


@dataclass(frozen=True, slots=True)
class Document:
    """A file of a source as it was indexed. `path` is below the source, empty for a file that is one itself.

    `kind` and `note` are those of its reading, `mtime` is in nanoseconds.
    """

    id: str
    source_id: str
    path: str
    name: str
    size: int
    mtime: int
    sha256: str
    kind: str
    note: str
    indexed_at: float


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk to be stored: its terms parted by spaces, and its vectors as bytes, empty when there are none."""

    text: str
    heading: str
    page: int | None
    title_terms: str
    terms: str
    whole: bytes = b""
    parts: bytes = b""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of a source is indexed. `failed` files could not be read, `empty` ones hold no text."""

    documents: int = 0
    chunks: int = 0
    failed: int = 0
    empty: int = 0


class LibraryStore:
    """Reads and writes the library."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def add_source(self, kind: SourceKind, place: str, name: str) -> tuple[Source, bool]:
        """The source of this place, and whether it is new. Raises Conflict when there are too many."""
        made = Source(secrets.token_hex(8), kind, place, name, "waiting", "", self._clock.wall(), None)

        def work(db: Connection) -> tuple[Source, bool]:
            # One that is still being taken out makes room at once; its documents go as they would have gone.
            db.execute(
                "UPDATE library_sources SET place = id WHERE kind = ? AND place = ? AND state = 'removed'",
                (kind, place),
            )
            known = _rows(db, "SELECT * FROM library_sources WHERE kind = ? AND place = ?", kind, place)
            if known:
                return _source(known[0]), False
            count = _rows(db, "SELECT count(*) FROM library_sources WHERE state != 'removed'")
            if count[0][0] >= MOST_SOURCES:
                raise Conflict(f"The library has {MOST_SOURCES} entries, which is the most. Remove some of them first.")
            db.execute("INSERT INTO library_sources VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(made))
            return made, True

        return await self._db.write(work)

    async def sources(self) -> Sequence[Source]:
        """All of them, the newest first."""
        rows = await self._db.read(
            "SELECT * FROM library_sources WHERE state != 'removed' ORDER BY added_at DESC, rowid DESC"
        )
        return [_source(row) for row in rows]

    async def source(self, source_id: str) -> Source:
        """One of them. Raises NotFound."""
        row = await self._db.read_one("SELECT * FROM library_sources WHERE id = ? AND state != 'removed'", (source_id,))
        if row is None:
            raise NotFound("There is no such entry in the library. It may have been removed.")
        return _source(row)

    async def set_state(self, source_id: str, state: SourceState, note: str = "") -> None:
        """Tell how a source is; one that was removed stays so."""

        def work(db: Connection) -> None:
            db.execute(
                """UPDATE library_sources SET state = ?, note = ?, checked_at = iif(? = 'waiting', checked_at, ?)
                   WHERE id = ? AND state != 'removed'""",
                (state, note, state, self._clock.wall(), source_id),
            )

        await self._db.write(work)

    async def remove(self, source_id: str) -> None:
        """Nothing of the source is found from now on; `clear_removed` takes out what it had. Raises NotFound."""

        def work(db: Connection) -> int:
            cursor = db.execute(
                "UPDATE library_sources SET state = 'removed' WHERE id = ? AND state != 'removed'", (source_id,)
            )
            return cursor.rowcount

        if not await self._db.write(work):
            raise NotFound("There is no such entry in the library. It may have been removed.")

    async def clear_removed(self) -> bool:
        """Take out one document of a removed source, or such a source without any; False when there is nothing left."""

        def work(db: Connection) -> bool:
            found = _rows(
                db,
                """SELECT d.id FROM library_documents d JOIN library_sources s ON s.id = d.source_id
                   WHERE s.state = 'removed' LIMIT 1""",
            )
            if found:
                db.execute("DELETE FROM library_documents WHERE id = ?", (found[0][0],))
                return True
            cursor = db.execute("DELETE FROM library_sources WHERE state = 'removed'")
            return cursor.rowcount > 0

        return await self._db.write(work)

    async def documents(self, source_id: str) -> Sequence[Document]:
        """The documents of a source, by their paths."""
        rows = await self._db.read("SELECT * FROM library_documents WHERE source_id = ? ORDER BY path", (source_id,))
        return [Document(**dict(row)) for row in rows]

    async def put(self, document: Document, chunks: Sequence[NewChunk], model: str) -> bool:
        """Store a document with all it has in place of what was stored of its path, in one transaction.

        `model` made the vectors. False when the source is gone meanwhile; then nothing is stored.
        """

        def work(db: Connection) -> bool:
            if not _rows(db, "SELECT 1 FROM library_sources WHERE id = ? AND state != 'removed'", document.source_id):
                return False
            db.execute(
                "DELETE FROM library_documents WHERE source_id = ? AND path = ?", (document.source_id, document.path)
            )
            db.execute("INSERT INTO library_documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(document))
            _put_chunks(db, document.id, chunks, model)
            return True

        return await self._db.write(work)

    async def touch(self, document_id: str, size: int, mtime: int) -> None:
        """The file was written anew with what it held before."""

        def work(db: Connection) -> None:
            db.execute("UPDATE library_documents SET size = ?, mtime = ? WHERE id = ?", (size, mtime, document_id))

        await self._db.write(work)

    async def drop(self, document_id: str) -> None:
        """Take a document out, with all it has."""

        def work(db: Connection) -> None:
            db.execute("DELETE FROM library_documents WHERE id = ?", (document_id,))

        await self._db.write(work)

    async def counts(self) -> dict[str, Counts]:
        """How much there is, by the id of the source."""
        rows = await self._db.read(
            """SELECT d.source_id, count(*), coalesce(sum(c.chunks), 0), sum(d.kind = 'failed'),
                      sum(d.kind IN ('none', 'image'))
               FROM library_documents d
               LEFT JOIN (SELECT document_id, count(*) AS chunks FROM library_chunks GROUP BY document_id) c
                    ON c.document_id = d.id
               GROUP BY d.source_id"""
        )
        return {row[0]: Counts(*row[1:]) for row in rows}

    async def failed(self, source_id: str, limit: int = 20) -> Sequence[tuple[str, str]]:
        """Paths of files that could not be read, with the reasons."""
        rows = await self._db.read(
            "SELECT path, name, note FROM library_documents WHERE source_id = ? AND kind = 'failed' LIMIT ?",
            (source_id, limit),
        )
        return [(row[0] or row[1], row[2]) for row in rows]


def _put_chunks(db: Connection, document_id: str, chunks: Sequence[NewChunk], model: str) -> None:
    """Three statements for all of them: one by one they would hold the writer for seconds."""
    used = _rows(db, "SELECT seq FROM sqlite_sequence WHERE name = 'library_chunks'")
    numbered = list(enumerate(chunks, (used[0][0] if used else 0) + 1))
    first = numbered[0][0] if numbered else 0
    db.executemany(
        "INSERT INTO library_chunks (number, document_id, position, heading, page, text) VALUES (?, ?, ?, ?, ?, ?)",
        [(number, document_id, number - first, one.heading, one.page, one.text) for number, one in numbered],
    )
    db.executemany(
        "INSERT INTO library_words (rowid, title, words) VALUES (?, ?, ?)",
        [(number, one.title_terms, one.terms) for number, one in numbered],
    )
    db.executemany(
        "INSERT INTO library_vectors (chunk, model, whole, parts) VALUES (?, ?, ?, ?)",
        [(number, model, one.whole, one.parts) for number, one in numbered if one.whole],
    )


def _rows(db: Connection, sql: str, *parameters: Any) -> list[Row]:
    return db.execute(sql, parameters).fetchall()


def _source(row: Row) -> Source:
    return Source(**dict(row))
