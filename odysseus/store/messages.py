"""The table of messages: what was said. Each stands behind another; a path of them is shown, ordered by position."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import orjson

from odysseus.clock import Clock
from odysseus.errors import NotFound
from odysseus.store import tree
from odysseus.store.db import Connection, Database, Row
from odysseus.store.sessions import Session, insert_session

APART = 65_536
"""Numbers between two questions."""

NO_MESSAGE = "There is no such message in this session. It may have been deleted."


@dataclass(frozen=True, slots=True)
class Message:
    """One stored message. `metadata` is the contract's, for what a reload has to draw.

    `parent_id` is the message before it, None for a first one.
    """

    id: str
    session_id: str
    position: int
    role: Literal["user", "assistant"]
    content: str
    metadata: Mapping[str, Any]
    created_at: float
    parent_id: str | None = None


class Page(NamedTuple):
    """A stretch of a path, oldest first; `total` is the whole path, `siblings` by message, itself among them."""

    messages: Sequence[Message]
    total: int
    has_more_before: bool
    siblings: Mapping[str, Sequence[str]]


_COLUMNS = "id, session_id, position, role, content, metadata, created_at, parent_id"


def _message(row: Row) -> Message:
    return Message(row[0], row[1], row[2], row[3], row[4], orjson.loads(row[5]), row[6], row[7])


def new_message_id() -> str:
    """An id that nobody can guess."""
    return uuid.uuid4().hex


def append_message(db: Connection, message: Message) -> None:
    """Add a message behind its parent, or behind what is shown when it names none, within a transaction.

    `message.position` is not read. Questions stand far apart: the numbers between are for the answers to one. An answer
    to a message that was gone on from comes late, and stands between.
    """
    named = message.parent_id
    parent_id = named or tree.tip(db, message.session_id)
    values = {
        "id": message.id,
        "session": message.session_id,
        "position": _free_position(db, message, parent_id),
        "role": message.role,
        "content": message.content,
        "metadata": orjson.dumps(message.metadata).decode(),
        "at": message.created_at,
        "parent": parent_id,
    }
    db.execute(
        """INSERT INTO messages (id, session_id, position, role, content, metadata, created_at, parent_id, active)
           VALUES (:id, :session, :position, :role, :content, :metadata, :at, :parent,
                   coalesce((SELECT active FROM messages WHERE id = :parent), 1))""",
        values,
    )
    if named and message.role == "assistant":
        tree.insert_behind(db, message.session_id, message.id, named)
    db.execute(
        "UPDATE sessions SET last_message_at = ?1, updated_at = ?1 WHERE id = ?2",
        (message.created_at, message.session_id),
    )


def _copy_summaries(db: Connection, session_id: str, fork_id: str, copied: Sequence[int]) -> None:
    """Take along the summaries of what was copied from these positions; the copies have positions of their own."""
    placed = db.execute("SELECT position FROM messages WHERE session_id = ? ORDER BY position", (fork_id,)).fetchall()
    places = {old: row[0] for old, row in zip(copied, placed, strict=True)}
    kept = db.execute("SELECT number, upto FROM summaries WHERE session_id = ?", (session_id,)).fetchall()
    db.executemany(
        """INSERT INTO summaries (session_id, upto, messages, text, outside, created_at)
           SELECT ?, ?, messages, text, outside, created_at FROM summaries WHERE number = ?""",
        [(fork_id, places[upto], number) for number, upto in kept if upto in places],
    )


def _free_position(db: Connection, message: Message, parent_id: str | None) -> int:
    """A number past those of all branches for a question, past those of the parent's question for an answer."""
    if message.role == "user":
        ((last,),) = db.execute(
            "SELECT coalesce(max(position), 0) FROM messages WHERE session_id = ?", (message.session_id,)
        ).fetchall()
        return (int(last) // APART + 1) * APART
    ((parent,),) = db.execute(
        "SELECT coalesce((SELECT position FROM messages WHERE id = ?), 0)", (parent_id,)
    ).fetchall()
    ((last,),) = db.execute(
        "SELECT coalesce(max(position), ?2) FROM messages WHERE session_id = ?1 AND position < ?3",
        (message.session_id, parent, (int(parent) // APART + 1) * APART),
    ).fetchall()
    return int(last) + 1


def _path(leaf: str | None) -> str:
    return tree.PATH if leaf else tree.SHOWN


class MessageStore:
    """Reads and changes messages."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def all(self, session_id: str) -> Sequence[Message]:
        """The whole path that is shown, oldest first."""
        return await self.since(session_id, -1)

    async def since(
        self, session_id: str, position: int, leaf: str | None = None, limit: int = -1
    ) -> Sequence[Message]:
        """The messages behind this position, oldest first: of what is shown, or of the path down to `leaf`.

        At most `limit` of them, when that is not negative.
        """
        rows = await self._db.read(
            f"""{_path(leaf)} SELECT {_COLUMNS} FROM messages WHERE number IN (
                SELECT number FROM path WHERE position > :position) ORDER BY position LIMIT :limit""",
            {"session": session_id, "leaf": leaf, "position": position, "limit": limit},
        )
        return [_message(row) for row in rows]

    async def of_all_branches(self, session_id: str, position: int, limit: int) -> Sequence[Message]:
        """At most `limit` messages behind this position, whether they are shown or not; each comes after its parent."""
        rows = await self._db.read(
            f"SELECT {_COLUMNS} FROM messages WHERE session_id = ? AND position > ? ORDER BY position LIMIT ?",
            (session_id, position, limit),
        )
        return [_message(row) for row in rows]

    async def shown_ids(self, session_id: str) -> frozenset[str]:
        """The messages that are shown."""
        rows = await self._db.read("SELECT id FROM messages WHERE session_id = ? AND active = 1", (session_id,))
        return frozenset(row[0] for row in rows)

    async def page(self, session_id: str, limit: int, before: str | None, leaf: str | None = None) -> Page:
        """The last `limit` messages, or the last ones before the message `before`. Raises NotFound for that id."""
        edge = await self._position(session_id, before) if before else 2**62
        given = {"session": session_id, "leaf": leaf, "edge": edge, "most": limit + 1}
        rows = await self._db.read(
            f"""{_path(leaf)} SELECT {_COLUMNS} FROM messages WHERE number IN (
                SELECT number FROM path WHERE position < :edge ORDER BY position DESC LIMIT :most)
                ORDER BY position DESC""",
            given,
        )
        total = await self._db.read_one(f"{_path(leaf)} SELECT count(*) FROM path", given)
        messages = [_message(row) for row in reversed(rows[:limit])]
        siblings = await self._siblings(session_id, messages)
        return Page(messages, total[0] if total else 0, len(rows) > limit, siblings)

    async def newest_leaf(self, session_id: str, message_id: str) -> str:
        """The last message made beneath this one, with none beneath it. Raises NotFound."""
        row = await self._db.read_one(tree.NEWEST_LEAF, {"session": session_id, "top": message_id})
        if row is None:
            raise NotFound(NO_MESSAGE)
        return str(row[0])

    async def is_shown(self, session_id: str, message_id: str) -> bool:
        """Whether it is on the path that is shown. Raises NotFound."""
        row = await self._db.read_one(
            "SELECT active FROM messages WHERE session_id = ? AND id = ?", (session_id, message_id)
        )
        if row is None:
            raise NotFound(NO_MESSAGE)
        return bool(row[0])

    async def switch(self, session_id: str, message_id: str) -> None:
        """Show the path through this message, down to the newest leaf beneath it. Raises NotFound."""

        def work(db: Connection) -> None:
            leaf = tree.newest_leaf(db, session_id, message_id)
            if leaf is None:
                raise NotFound(NO_MESSAGE)
            tree.show(db, session_id, leaf)

        await self._db.write(work)

    async def edit(self, session_id: str, message_id: str, content: str) -> None:
        """Put other text in a message's place. Raises NotFound."""

        def work(db: Connection) -> None:
            cursor = db.execute(
                """UPDATE messages SET content = ?, metadata = json_set(metadata, '$.edited', json('true'))
                   WHERE session_id = ? AND id = ?""",
                (content, session_id, message_id),
            )
            if cursor.rowcount == 0:
                raise NotFound(NO_MESSAGE)
            self._touch(db, session_id)

        await self._db.write(work)

    async def delete(self, session_id: str, message_ids: Sequence[str]) -> None:
        """Remove these messages, or none when one of them is not there (NotFound). What stands behind one stays."""

        def work(db: Connection) -> None:
            for message_id in message_ids:
                tree.lift(db, session_id, message_id)
                cursor = db.execute("DELETE FROM messages WHERE session_id = ? AND id = ?", (session_id, message_id))
                if cursor.rowcount == 0:
                    raise NotFound(NO_MESSAGE)
            tree.settle(db, session_id)
            self._touch(db, session_id)

        await self._db.write(work)

    async def truncate(self, session_id: str, message_id: str) -> None:
        """Remove all that comes after this message, on every branch beneath it. Raises NotFound."""
        await self._position(session_id, message_id)

        def work(db: Connection) -> None:
            db.execute(
                f"""{tree.BENEATH} DELETE FROM messages WHERE number IN (
                    SELECT number FROM beneath WHERE id != :top)""",
                {"session": session_id, "top": message_id},
            )
            self._touch(db, session_id)

        await self._db.write(work)

    async def fork(self, session: Session, message_id: str) -> Session:
        """A new session with the same route and a copy of the path down to this message. Raises NotFound."""
        copied = await self.since(session.id, -1, message_id)
        if not copied:
            raise NotFound(NO_MESSAGE)
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

        def work(db: Connection) -> None:
            insert_session(db, fork)
            for message in copied:
                append_message(db, replace(message, id=new_message_id(), session_id=fork.id, parent_id=None))
            _copy_summaries(db, session.id, fork.id, [message.position for message in copied])
            db.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now, fork.id))

        await self._db.write(work)
        return fork

    async def _siblings(self, session_id: str, messages: Sequence[Message]) -> Mapping[str, Sequence[str]]:
        ids = orjson.dumps([message.id for message in messages]).decode()
        return tree.by_message(await self._db.read(tree.SIBLINGS, (session_id, ids)))

    async def _position(self, session_id: str, message_id: str) -> int:
        row = await self._db.read_one(
            "SELECT position FROM messages WHERE session_id = ? AND id = ?", (session_id, message_id)
        )
        if row is None:
            raise NotFound(NO_MESSAGE)
        return int(row[0])

    def _touch(self, db: Connection, session_id: str) -> None:
        db.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (self._clock.wall(), session_id))
