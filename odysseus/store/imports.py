"""A conversation from a file into the tables of sessions and messages, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from odysseus.store import tree
from odysseus.store.db import Connection, Database
from odysseus.store.messages import APART, Message
from odysseus.store.sessions import Session, insert_session


async def add_conversation(db: Database, session: Session, messages: Sequence[Message], leaf: str | None) -> None:
    """Store a new session with its messages, each after its parent; the branch through `leaf` is shown.

    Raises StoreError; then nothing of it is there.
    """
    rows = [(*_columns(message), position) for message, position in zip(messages, _positions(messages), strict=True)]

    def work(connection: Connection) -> None:
        insert_session(connection, session)
        connection.executemany(
            """INSERT INTO messages (id, session_id, role, content, metadata, created_at, parent_id, position, active)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)""",
            rows,
        )
        if rows:
            tree.show(connection, session.id, tree.newest_leaf(connection, session.id, leaf))

    await db.write(work)


def _columns(message: Message) -> tuple[object, ...]:
    metadata = orjson.dumps(message.metadata).decode()
    place = (message.created_at, message.parent_id)
    return message.id, message.session_id, message.role, message.content, metadata, *place


def _positions(messages: Sequence[Message]) -> Iterator[int]:
    """Questions stand far apart, answers behind one another."""
    last = 0
    for message in messages:
        last = (last // APART + 1) * APART if message.role == "user" else last + 1
        yield last
