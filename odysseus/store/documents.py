"""The tables of documents: every change is a version, numbered from 1, and old versions stay.

A document belongs to a session, and is found only through it. Knows nothing of what an edit is.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from odysseus.clock import Clock
from odysseus.errors import Conflict, NotFound
from odysseus.store.db import Connection, Database, Row

Author = Literal["user", "agent"]
SuggestionState = Literal["open", "accepted", "rejected"]

MOST_DOCUMENTS = 200
"""In one session."""

_MISSING = "There is no document {!r} in this chat."
_SELECT = """SELECT d.id, d.session_id, d.title, d.language, v.version, v.content, d.created_at, d.updated_at
             FROM documents d JOIN document_versions v ON v.document_id = d.id"""
_NEWEST = "v.version = (SELECT max(version) FROM document_versions WHERE document_id = d.id)"


@dataclass(frozen=True, slots=True)
class Document:
    """A document in one of its versions. Times are seconds since the epoch."""

    id: str
    session_id: str
    title: str
    language: str
    version: int
    content: str
    created_at: float
    updated_at: float


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document in a list: without its text, of which `characters` is the length."""

    id: str
    title: str
    language: str
    version: int
    characters: int
    updated_at: float


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change that the user may take or leave, made on one version."""

    id: str
    document_id: str
    version: int
    find: str
    replacement: str
    reason: str
    state: SuggestionState = "open"


class DocumentStore:
    """Reads and writes documents. What belongs to another session is not there."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def list(self, session_id: str) -> Sequence[DocumentEntry]:
        """The session's documents, the last changed first."""
        rows = await self._db.read(
            f"""SELECT d.id, d.title, d.language, v.version, length(v.content) AS characters, d.updated_at
                FROM documents d JOIN document_versions v ON v.document_id = d.id
                WHERE d.session_id = ? AND {_NEWEST} ORDER BY d.updated_at DESC, d.rowid DESC""",
            (session_id,),
        )
        return [DocumentEntry(**dict(row)) for row in rows]

    async def get(self, session_id: str, document_id: str, version: int | None = None) -> Document:
        """The document in its newest version, or in the one that is named. Raises NotFound."""
        rows = await self._db.read(*_query(session_id, document_id, version))
        if not rows and version is not None:
            newest = await self.get(session_id, document_id)
            raise NotFound(f"The document {document_id!r} has no version {version}; the newest is {newest.version}.")
        return _document(rows, document_id)

    async def create(
        self, session_id: str, title: str, content: str, language: str, author: Author = "agent"
    ) -> Document:
        """A new document as version 1. Raises NotFound without the session, Conflict when it has too many."""
        now = self._clock.wall()
        made = Document(secrets.token_hex(6), session_id, title, language, 1, content, now, now)

        async def work(db: Connection) -> None:
            await _check_room(db, session_id)
            await db.execute(
                """INSERT INTO documents (id, session_id, title, language, created_at, updated_at)
                   VALUES (?, ?, ?, ?, ?, ?)""",
                (made.id, session_id, title, language, now, now),
            )
            await _add_version(db, made, author)

        await self._db.write(work)
        return made

    async def revise(
        self, session_id: str, document_id: str, author: Author, change: Callable[[Document], str]
    ) -> Document:
        """Store what `change` makes of the newest version as the next one.

        No other change comes between. What `change` raises goes through and stores nothing. Raises NotFound.
        """
        now = self._clock.wall()

        async def work(db: Connection) -> Document:
            newest = await _newest(db, session_id, document_id)
            made = replace(newest, version=newest.version + 1, content=change(newest), updated_at=now)
            await db.execute("UPDATE documents SET updated_at = ? WHERE id = ?", (now, document_id))
            await _add_version(db, made, author)
            return made

        return await self._db.write(work)

    async def suggest(
        self, session_id: str, document_id: str, make: Callable[[Document], Sequence[Mapping[str, str]]]
    ) -> tuple[Document, Sequence[Suggestion]]:
        """Keep what `make` suggests for the newest version: find, replace, reason each. Raises NotFound."""
        now = self._clock.wall()

        async def work(db: Connection) -> tuple[Document, Sequence[Suggestion]]:
            newest = await _newest(db, session_id, document_id)
            made = [_suggestion(newest, given) for given in make(newest)]
            await db.executemany(
                """INSERT INTO document_suggestions (id, document_id, version, find, replacement, reason, created_at)
                   VALUES (?, ?, ?, ?, ?, ?, ?)""",
                [(one.id, one.document_id, one.version, one.find, one.replacement, one.reason, now) for one in made],
            )
            return newest, made

        return await self._db.write(work)

    async def suggestions(self, session_id: str, document_id: str) -> Sequence[Suggestion]:
        """All suggestions for a document, oldest first, whatever became of them."""
        rows = await self._db.read(
            """SELECT s.id, s.document_id, s.version, s.find, s.replacement, s.reason, s.state
               FROM document_suggestions s JOIN documents d ON d.id = s.document_id
               WHERE d.session_id = ? AND d.id = ? ORDER BY s.rowid""",
            (session_id, document_id),
        )
        return [Suggestion(**dict(row)) for row in rows]


def _query(session_id: str, document_id: str, version: int | None = None) -> tuple[str, tuple[Any, ...]]:
    chosen = _NEWEST if version is None else "v.version = ?"
    parameters: tuple[Any, ...] = (session_id, document_id, *(() if version is None else (version,)))
    return f"{_SELECT} WHERE d.session_id = ? AND d.id = ? AND {chosen}", parameters


def _document(rows: Sequence[Row], document_id: str) -> Document:
    if not rows:
        raise NotFound(_MISSING.format(document_id))
    return Document(**dict(rows[0]))


async def _newest(db: Connection, session_id: str, document_id: str) -> Document:
    return _document(list(await db.execute_fetchall(*_query(session_id, document_id))), document_id)


async def _add_version(db: Connection, document: Document, author: Author) -> None:
    await db.execute(
        "INSERT INTO document_versions (document_id, version, content, author, created_at) VALUES (?, ?, ?, ?, ?)",
        (document.id, document.version, document.content, author, document.updated_at),
    )


async def _check_room(db: Connection, session_id: str) -> None:
    rows = list(
        await db.execute_fetchall(
            "SELECT (SELECT count(*) FROM documents WHERE session_id = s.id) FROM sessions s WHERE s.id = ?",
            (session_id,),
        )
    )
    if not rows:
        raise NotFound("There is no such session. It may have been deleted.")
    if rows[0][0] >= MOST_DOCUMENTS:
        raise Conflict(f"This chat has {MOST_DOCUMENTS} documents, which is the most. Edit one of them instead.")


def _suggestion(document: Document, given: Mapping[str, str]) -> Suggestion:
    return Suggestion(
        secrets.token_hex(6), document.id, document.version, given["find"], given["replace"], given.get("reason", "")
    )
