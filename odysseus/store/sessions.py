"""The table of sessions: a name, a route, and what the list of them shows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from odysseus.clock import Clock
from odysseus.errors import NotFound
from odysseus.events import Mode
from odysseus.store.db import Connection, Database, Row
from odysseus.store.search import holds, match_clause, words_of

NAME_LIMIT = 120
TITLE_LIMIT = 60
CHANGEABLE = ("name", "endpoint_id", "model", "mode", "fallback", "archived", "pinned", "workspace")


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. Times are seconds since the epoch; an empty name means that no message has named it yet.

    `agent` is the named agent that it belongs to, empty for the user's own chats.
    """

    id: str
    name: str
    endpoint_id: str
    model: str
    mode: Mode
    archived: bool
    pinned: bool
    total_tokens: int
    created_at: float
    updated_at: float
    last_message_at: float | None
    message_count: int
    fallback: tuple[str, ...] = ()
    workspace: str = ""
    agent: str = ""
    used_at: float = 0.0


_SELECT = """SELECT s.*, (SELECT count(*) FROM messages m
             WHERE m.session_id = s.id AND m.active = 1) AS message_count FROM sessions s"""
PANES = "(SELECT session_id FROM compare_panes)"
"""The sessions of comparisons, which are none of the user's chats."""


def _session(row: Row) -> Session:
    fields: dict[str, Any] = dict(row)
    fields["archived"] = bool(fields["archived"])
    fields["pinned"] = bool(fields["pinned"])
    fields["fallback"] = tuple(orjson.loads(fields["fallback"]))
    return Session(**fields)


def title_of(message: str) -> str:
    """A session's name made from its first message: the first line with words, cut at a word."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    if len(line) <= TITLE_LIMIT:
        return line
    head = line[:TITLE_LIMIT]
    return (head[: head.rfind(" ")] if " " in head[20:] else head).rstrip() + "…"


class SessionStore:
    """Reads and writes sessions."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def get(self, session_id: str) -> Session:
        """The session; one of a comparison's pane counts as none. Raises NotFound."""
        return await self._get(f"s.id = ? AND s.id NOT IN {PANES}", session_id)

    async def of_pane(self, session_id: str) -> Session:
        """The session of a comparison's pane. Raises NotFound."""
        return await self._get(f"s.id = ? AND s.id IN {PANES}", session_id)

    async def _get(self, where: str, session_id: str) -> Session:
        row = await self._db.read_one(f"{_SELECT} WHERE {where}", (session_id,))
        if row is None:
            raise NotFound("There is no such session. It may have been deleted.")
        return _session(row)

    async def list(self, query: str = "", *, archived: bool = False) -> Sequence[Session]:
        """Pinned ones first, then by last use; `query` looks in names and in messages."""
        where = f"s.agent = '' AND s.archived = ? AND s.id NOT IN {PANES}"
        parameters: list[Any] = [int(archived)]
        if query.strip():
            words = words_of(query)
            named, names = holds(words, "plain(s.name)")
            clause, found = match_clause(words)
            where += f" AND ({named} OR s.id IN (SELECT m.session_id FROM messages m WHERE {clause}))"
            parameters += [*names, *found]
        return await self._listed(where, parameters)

    async def named(self, query: str, limit: int) -> Sequence[Session]:
        """Those that are not archived and have every word of `query` in their name, in the same order."""
        named, names = holds(words_of(query), "plain(s.name)")
        return await self._listed(f"s.agent = '' AND s.archived = 0 AND s.id NOT IN {PANES} AND {named}", names, limit)

    async def _listed(self, where: str, parameters: Sequence[Any], limit: int = -1) -> Sequence[Session]:
        rows = await self._db.read(
            f"""{_SELECT} WHERE {where}
                ORDER BY s.pinned DESC, coalesce(s.last_message_at, s.created_at) DESC, s.rowid DESC LIMIT ?""",
            (*parameters, limit),
        )
        return [_session(row) for row in rows]

    async def create(self, *, name: str, endpoint_id: str, model: str, mode: Mode) -> Session:
        """A new, empty session."""
        now = self._clock.wall()
        session = Session(uuid.uuid4().hex, name, endpoint_id, model, mode, False, False, 0, now, now, None, 0)

        def work(db: Connection) -> None:
            insert_session(db, session)

        await self._db.write(work)
        return session

    async def change(self, session_id: str, fields: Mapping[str, Any]) -> Session:
        """Set some of name, endpoint_id, model, mode, fallback, archived, pinned, workspace. Raises NotFound."""
        if "fallback" in fields:
            fields = {**fields, "fallback": orjson.dumps(fields["fallback"]).decode()}
        columns = [column for column in CHANGEABLE if column in fields]
        settings = "".join(f"{column} = ?, " for column in columns)
        values = [*(fields[column] for column in columns), self._clock.wall(), session_id]

        def work(db: Connection) -> None:
            # Only what is given: two changes at once must not undo each other.
            where = f"id = ? AND id NOT IN {PANES}"
            db.execute(f"UPDATE sessions SET {settings}updated_at = ? WHERE {where}", values)

        await self._db.write(work)
        return await self.get(session_id)

    async def delete(self, session_id: str) -> None:
        """Remove the session with its messages and runs. Raises NotFound."""

        def work(db: Connection) -> None:
            cursor = db.execute(f"DELETE FROM sessions WHERE id = ? AND id NOT IN {PANES}", (session_id,))
            if cursor.rowcount == 0:
                raise NotFound("There is no such session. It may have been deleted.")

        await self._db.write(work)


def insert_session(db: Connection, session: Session) -> None:
    """Add a session's row within a transaction."""
    db.execute(
        """INSERT INTO sessions (id, name, endpoint_id, model, mode, fallback, workspace,
                                 created_at, updated_at, last_message_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            session.id,
            session.name,
            session.endpoint_id,
            session.model,
            session.mode,
            orjson.dumps(session.fallback).decode(),
            session.workspace,
            session.created_at,
            session.updated_at,
            session.last_message_at,
        ),
    )
