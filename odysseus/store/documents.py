"""The tables of documents: every change is a version, numbered from 1, and old versions stay.

A document belongs to a session, and may be a guest in others that the user opened it in. An agent finds it only through
them; the user (session None) finds all. Knows nothing of what an edit is.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from odysseus.clock import Clock
from odysseus.errors import Conflict, NotFound
from odysseus.store.db import Connection, Database, Row
from odysseus.store.search import document_clause, words_of

Author = Literal["user", "agent"]
SuggestionState = Literal["open", "accepted", "rejected"]

CONTENT_LIMIT = 400_000
"""Characters of a document."""

MARKDOWN = "markdown"
"""The language of a document that names none."""

MOST_DOCUMENTS = 200
"""In one session."""

MOST_LISTED = 500
"""In one answer, the last changed ones."""

_MISSING = "There is no document {!r} in this chat."
_GONE = "There is no such document. It may have been deleted."
_THERE = """(d.session_id = ?1 OR ?1 IS NULL
    OR EXISTS (SELECT 1 FROM document_guests g WHERE g.document_id = d.id AND g.session_id = ?1))"""
_NO_SESSION = "There is no such session. It may have been deleted."
_SELECT = """SELECT d.id, d.session_id, d.title, d.language, v.version, v.content, d.created_at, d.updated_at
             FROM documents d JOIN document_versions v ON v.document_id = d.id"""
_NEWEST = "v.version = (SELECT max(version) FROM document_versions WHERE document_id = d.id)"


@dataclass(frozen=True, slots=True)
class Document:
    """A document in one of its versions. Times are seconds since the epoch. Its session is None when that is gone."""

    id: str
    session_id: str | None
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
    session_id: str | None
    title: str
    language: str
    version: int
    characters: int
    updated_at: float


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """A version in a list, without its text."""

    version: int
    author: Author
    characters: int
    created_at: float


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

    async def list(self, session_id: str | None, query: str = "") -> Sequence[DocumentEntry]:
        """The session's documents, the last changed first; of a query those that hold its words in title or text."""
        clause, parameters = document_clause(words_of(query)) if query.strip() else ("1", [])
        rows = await self._db.read(
            f"""SELECT d.id, d.session_id, d.title, d.language, v.version, length(v.content) AS characters, d.updated_at
                FROM documents d JOIN document_versions v ON v.document_id = d.id
                JOIN document_texts t ON t.document_id = d.id
                WHERE {_THERE} AND {_NEWEST} AND {clause}
                ORDER BY d.updated_at DESC, d.rowid DESC LIMIT {MOST_LISTED}""",
            (session_id, *parameters),
        )
        return [DocumentEntry(**dict(row)) for row in rows]

    async def get(self, session_id: str | None, document_id: str, version: int | None = None) -> Document:
        """The document in its newest version, or in the one that is named. Raises NotFound."""
        rows = await self._db.read(*_query(session_id, document_id, version))
        if not rows and version is not None:
            newest = await self.get(session_id, document_id)
            raise NotFound(f"The document {document_id!r} has no version {version}; the newest is {newest.version}.")
        return _document(rows, session_id, document_id)

    async def create(
        self, session_id: str | None, title: str, content: str, language: str, author: Author = "agent"
    ) -> Document:
        """A new document as version 1. Raises NotFound without the session, Conflict when it has too many."""
        now = self._clock.wall()
        made = Document(secrets.token_hex(6), session_id, title, language, 1, content, now, now)

        def work(db: Connection) -> None:
            if session_id is not None:
                _check_room(db, session_id)
            db.execute(
                """INSERT INTO documents (id, session_id, title, language, created_at, updated_at)
                   VALUES (?, ?, ?, ?, ?, ?)""",
                (made.id, session_id, title, language, now, now),
            )
            _add_version(db, made, author)

        await self._db.write(work)
        return made

    async def revise(
        self, session_id: str | None, document_id: str, author: Author, change: Callable[[Document], str]
    ) -> Document:
        """Store what `change` makes of the newest version as the next one; the same text makes none.

        No other change comes between. What `change` raises goes through and stores nothing. Raises NotFound.
        """
        now = self._clock.wall()

        def work(db: Connection) -> Document:
            newest = _newest(db, session_id, document_id)
            return _next_version(db, newest, change(newest), author, now)

        return await self._db.write(work)

    async def describe(self, document_id: str, title: str | None, language: str | None) -> Document:
        """Set title and language; None leaves one as it is. Raises NotFound."""

        def work(db: Connection) -> Document:
            newest = _newest(db, None, document_id)
            made = replace(
                newest,
                title=newest.title if title is None else title,
                language=newest.language if language is None else language,
            )
            db.execute(
                "UPDATE documents SET title = ?, language = ? WHERE id = ?", (made.title, made.language, document_id)
            )
            return made

        return await self._db.write(work)

    async def delete(self, document_id: str) -> None:
        """The document with all its versions. Raises NotFound."""

        def work(db: Connection) -> None:
            _newest(db, None, document_id)
            db.execute("DELETE FROM documents WHERE id = ?", (document_id,))

        await self._db.write(work)

    async def invite(self, session_id: str, document_id: str) -> None:
        """Have the document be found in this session too. Raises NotFound for either."""

        def work(db: Connection) -> None:
            newest = _newest(db, None, document_id)
            if not db.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone():
                raise NotFound(_NO_SESSION)
            if newest.session_id != session_id:
                db.execute("INSERT OR IGNORE INTO document_guests VALUES (?, ?)", (document_id, session_id))

        await self._db.write(work)

    async def versions(self, document_id: str) -> Sequence[VersionEntry]:
        """All versions, the newest first. Raises NotFound."""
        rows = await self._db.read(
            """SELECT version, author, length(content) AS characters, created_at FROM document_versions
               WHERE document_id = ? ORDER BY version DESC""",
            (document_id,),
        )
        if not rows:
            raise NotFound(_GONE)
        return [VersionEntry(**dict(row)) for row in rows]

    async def suggest(
        self, session_id: str, document_id: str, make: Callable[[Document], Sequence[Mapping[str, str]]]
    ) -> tuple[Document, Sequence[Suggestion]]:
        """Keep what `make` suggests for the newest version: find, replace, reason each. Raises NotFound."""
        now = self._clock.wall()

        def work(db: Connection) -> tuple[Document, Sequence[Suggestion]]:
            newest = _newest(db, session_id, document_id)
            made = [_suggestion(newest, given) for given in make(newest)]
            db.executemany(
                """INSERT INTO document_suggestions (id, document_id, version, find, replacement, reason, created_at)
                   VALUES (?, ?, ?, ?, ?, ?, ?)""",
                [(one.id, one.document_id, one.version, one.find, one.replacement, one.reason, now) for one in made],
            )
            return newest, made

        return await self._db.write(work)

    async def suggestions(self, session_id: str | None, document_id: str) -> Sequence[Suggestion]:
        """All suggestions for a document, oldest first, whatever became of them."""
        rows = await self._db.read(
            f"""SELECT s.id, s.document_id, s.version, s.find, s.replacement, s.reason, s.state
                FROM document_suggestions s JOIN documents d ON d.id = s.document_id
                WHERE {_THERE} AND d.id = ?2 ORDER BY s.rowid""",
            (session_id, document_id),
        )
        return [Suggestion(**dict(row)) for row in rows]

    async def decide(
        self, document_id: str, suggestion_id: str, apply: Callable[[Document, Suggestion], str] | None
    ) -> Document:
        """Take a suggestion: what `apply` makes of the newest version is the next. None leaves it.

        What `apply` raises goes through, and the suggestion stays open. Raises NotFound, Conflict when it is decided.
        """
        now = self._clock.wall()

        def work(db: Connection) -> Document:
            newest = _newest(db, None, document_id)
            suggestion = _open_suggestion(db, document_id, suggestion_id)
            if apply:
                newest = _next_version(db, newest, apply(newest, suggestion), "user", now)
            state = "accepted" if apply else "rejected"
            db.execute("UPDATE document_suggestions SET state = ? WHERE id = ?", (state, suggestion_id))
            return newest

        return await self._db.write(work)


def _query(session_id: str | None, document_id: str, version: int | None = None) -> tuple[str, tuple[Any, ...]]:
    chosen = _NEWEST if version is None else "v.version = ?3"
    parameters: tuple[Any, ...] = (session_id, document_id, *(() if version is None else (version,)))
    return f"{_SELECT} WHERE {_THERE} AND d.id = ?2 AND {chosen}", parameters


def _document(rows: Sequence[Row], session_id: str | None, document_id: str) -> Document:
    if not rows:
        raise NotFound(_MISSING.format(document_id) if session_id is not None else _GONE)
    return Document(**dict(rows[0]))


def _newest(db: Connection, session_id: str | None, document_id: str) -> Document:
    return _document(db.execute(*_query(session_id, document_id)).fetchall(), session_id, document_id)


def _next_version(db: Connection, newest: Document, content: str, author: Author, now: float) -> Document:
    if content == newest.content:
        return newest
    made = replace(newest, version=newest.version + 1, content=content, updated_at=now)
    db.execute("UPDATE documents SET updated_at = ? WHERE id = ?", (now, made.id))
    _add_version(db, made, author)
    return made


def _open_suggestion(db: Connection, document_id: str, suggestion_id: str) -> Suggestion:
    row = db.execute(
        """SELECT id, document_id, version, find, replacement, reason, state FROM document_suggestions
           WHERE document_id = ? AND id = ?""",
        (document_id, suggestion_id),
    ).fetchone()
    if not row:
        raise NotFound("There is no such suggestion for this document.")
    found = Suggestion(**dict(row))
    if found.state != "open":
        raise Conflict(f"This suggestion was {found.state} already.")
    return found


def _add_version(db: Connection, document: Document, author: Author) -> None:
    db.execute(
        "INSERT INTO document_versions (document_id, version, content, author, created_at) VALUES (?, ?, ?, ?, ?)",
        (document.id, document.version, document.content, author, document.updated_at),
    )


def _check_room(db: Connection, session_id: str) -> None:
    row = db.execute(
        "SELECT (SELECT count(*) FROM documents WHERE session_id = s.id) FROM sessions s WHERE s.id = ?",
        (session_id,),
    ).fetchone()
    if not row:
        raise NotFound(_NO_SESSION)
    if row[0] >= MOST_DOCUMENTS:
        raise Conflict(f"This chat has {MOST_DOCUMENTS} documents, which is the most. Edit one of them instead.")


def _suggestion(document: Document, given: Mapping[str, str]) -> Suggestion:
    return Suggestion(
        secrets.token_hex(6), document.id, document.version, given["find"], given["replace"], given.get("reason", "")
    )
