"""The table of messages: what was said, in the order of its numbers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import orjson

from odysseus.clock import Clock
from odysseus.errors import NotFound
from odysseus.store.db import Connection, Database, Row
from odysseus.store.sessions import Session, insert_session

APART = 65_536
"""Numbers between two questions."""

NO_MESSAGE = "There is no such message in this session. It may have been deleted."


@dataclass(frozen=True, slots=True)
class Message:
    """One stored message. `metadata` is the contract's, for what a reload has to draw."""

    id: str
    session_id: str
    position: int
    role: Literal["user", "assistant"]
    content: str
    metadata: Mapping[str, Any]
    created_at: float


class Page(NamedTuple):
    """A stretch of a history, oldest first."""

    messages: Sequence[Message]
    total: int
    has_more_before: bool


_COLUMNS = "id, session_id, position, role, content, metadata, created_at"


def _message(row: Row) -> Message:
    return Message(row[0], row[1], row[2], row[3], row[4], orjson.loads(row[5]), row[6])


def new_message_id() -> str:
    """An id that nobody can guess."""
    return uuid.uuid4().hex


async def append_message(db: Connection, message: Message, *, question_id: str | None = None) -> None:
    """Add a message at the end of its session, or behind its question, within a transaction.

    `message.position` is not read. Questions stand far apart: the numbers between are for the answers to one, which
    may come late.
    """
    await db.execute(
        """INSERT INTO messages (id, session_id, position, role, content, metadata, created_at)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)""",
        (
            message.id,
            message.session_id,
            await _free_position(db, message, question_id),
            message.role,
            message.content,
            orjson.dumps(message.metadata).decode(),
            message.created_at,
        ),
    )
    await db.execute(
        "UPDATE sessions SET last_message_at = ?1, updated_at = ?1 WHERE id = ?2",
        (message.created_at, message.session_id),
    )


async def _copy_summaries(db: Connection, session_id: str, fork_id: str, copied: Sequence[int]) -> None:
    """Take along the summaries of what was copied from these positions; the copies have positions of their own."""
    placed = await db.execute_fetchall(
        "SELECT position FROM messages WHERE session_id = ? ORDER BY position", (fork_id,)
    )
    places = {old: row[0] for old, row in zip(copied, placed, strict=True)}
    kept = await db.execute_fetchall("SELECT number, upto FROM summaries WHERE session_id = ?", (session_id,))
    await db.executemany(
        """INSERT INTO summaries (session_id, upto, messages, text, outside, created_at)
           SELECT ?, ?, messages, text, outside, created_at FROM summaries WHERE number = ?""",
        [(fork_id, places[upto], number) for number, upto in kept if upto in places],
    )


async def _free_position(db: Connection, message: Message, question_id: str | None) -> int:
    if message.role == "user":
        sql, parameters = "SELECT coalesce(max(position), 0) FROM messages WHERE session_id = ?", (message.session_id,)
        ((last,),) = await db.execute_fetchall(sql, parameters)
        return (int(last) // APART + 1) * APART
    ((question,),) = await db.execute_fetchall(
        """SELECT coalesce((SELECT position FROM messages WHERE session_id = ?1 AND id = ?2),
                           (SELECT max(position) FROM messages WHERE session_id = ?1), 0)""",
        (message.session_id, question_id),
    )
    ((last,),) = await db.execute_fetchall(
        "SELECT coalesce(max(position), ?2) FROM messages WHERE session_id = ?1 AND position < ?3",
        (message.session_id, question, (int(question) // APART + 1) * APART),
    )
    return int(last) + 1


class MessageStore:
    """Reads and changes messages."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def all(self, session_id: str) -> Sequence[Message]:
        """The whole history, oldest first."""
        return await self.since(session_id, -1)

    async def since(self, session_id: str, position: int) -> Sequence[Message]:
        """The messages behind this position, oldest first."""
        rows = await self._db.read(
            f"SELECT {_COLUMNS} FROM messages WHERE session_id = ? AND position > ? ORDER BY position",
            (session_id, position),
        )
        return [_message(row) for row in rows]

    async def page(self, session_id: str, limit: int, before: str | None) -> Page:
        """The last `limit` messages, or the last ones before the message `before`. Raises NotFound for that id."""
        edge = await self._position(session_id, before) if before else 2**62
        rows = await self._db.read(
            f"""SELECT {_COLUMNS} FROM messages WHERE session_id = ? AND position < ?
                ORDER BY position DESC LIMIT ?""",
            (session_id, edge, limit + 1),
        )
        total = await self._db.read_one("SELECT count(*) FROM messages WHERE session_id = ?", (session_id,))
        messages = [_message(row) for row in reversed(rows[:limit])]
        return Page(messages, total[0] if total else 0, len(rows) > limit)

    async def edit(self, session_id: str, message_id: str, content: str) -> None:
        """Put other text in a message's place. Raises NotFound."""

        async def work(db: Connection) -> None:
            cursor = await db.execute(
                """UPDATE messages SET content = ?, metadata = json_set(metadata, '$.edited', json('true'))
                   WHERE session_id = ? AND id = ?""",
                (content, session_id, message_id),
            )
            if cursor.rowcount == 0:
                raise NotFound(NO_MESSAGE)
            await self._touch(db, session_id)

        await self._db.write(work)

    async def delete(self, session_id: str, message_ids: Sequence[str]) -> None:
        """Remove these messages, or none when one of them is not there (NotFound)."""

        async def work(db: Connection) -> None:
            for message_id in message_ids:
                cursor = await db.execute(
                    "DELETE FROM messages WHERE session_id = ? AND id = ?", (session_id, message_id)
                )
                if cursor.rowcount == 0:
                    raise NotFound(NO_MESSAGE)
            await self._touch(db, session_id)

        await self._db.write(work)

    async def truncate(self, session_id: str, message_id: str) -> None:
        """Remove all that comes after this message. Raises NotFound."""
        position = await self._position(session_id, message_id)

        async def work(db: Connection) -> None:
            await db.execute("DELETE FROM messages WHERE session_id = ? AND position > ?", (session_id, position))
            await self._touch(db, session_id)

        await self._db.write(work)

    async def fork(self, session: Session, message_id: str) -> Session:
        """A new session with the same route and a copy of the messages up to this one. Raises NotFound."""
        position = await self._position(session.id, message_id)
        copied = [message for message in await self.all(session.id) if message.position <= position]
        now = self._clock.wall()
        fork = replace(
            session,
            id=uuid.uuid4().hex,
            name=f"{session.name} (copy)" if session.name else "",
            archived=False,
            pinned=False,
            total_tokens=0,
            created_at=now,
            updated_at=now,
            last_message_at=copied[-1].created_at,
            message_count=len(copied),
        )

        async def work(db: Connection) -> None:
            await insert_session(db, fork)
            for message in copied:
                await append_message(db, replace(message, id=new_message_id(), session_id=fork.id))
            await _copy_summaries(db, session.id, fork.id, [message.position for message in copied])
            await db.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now, fork.id))

        await self._db.write(work)
        return fork

    async def _position(self, session_id: str, message_id: str) -> int:
        row = await self._db.read_one(
            "SELECT position FROM messages WHERE session_id = ? AND id = ?", (session_id, message_id)
        )
        if row is None:
            raise NotFound(NO_MESSAGE)
        return int(row[0])

    async def _touch(self, db: Connection, session_id: str) -> None:
        await db.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (self._clock.wall(), session_id))
