"""A session's messages as a tree: the path that is shown, how it changes, and the branches beside it.

The rows with `active` are the path. Between runs it ends in a leaf. SQL within the transactions of others; knows
nothing of what messages say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from odysseus.store.db import Connection, Row

PATH = """WITH RECURSIVE path (id, parent_id, position, number) AS (
    SELECT id, parent_id, position, number FROM messages WHERE session_id = :session AND id = :leaf
    UNION ALL
    SELECT m.id, m.parent_id, m.position, m.number FROM path CROSS JOIN messages m
    ON m.session_id = :session AND m.id = path.parent_id)"""
"""A message and all above it."""

SHOWN = """WITH path (position, number) AS (
    SELECT position, number FROM messages WHERE session_id = :session AND active = 1)"""
"""The path that is shown, at less cost."""

BENEATH = """WITH RECURSIVE beneath (id, number) AS (
    SELECT id, number FROM messages WHERE session_id = :session AND id = :top
    UNION ALL
    SELECT m.id, m.number FROM beneath CROSS JOIN messages m
    ON m.session_id = :session AND m.parent_id = beneath.id)"""
"""A message and all beneath it."""

_CHILDLESS = "NOT EXISTS (SELECT 1 FROM messages c WHERE c.session_id = :session AND c.parent_id = m.id)"

NEWEST_LEAF = f"{BENEATH} SELECT m.id FROM beneath m WHERE {_CHILDLESS} ORDER BY m.number DESC LIMIT 1"
_NEWEST_LEAF_OF_ALL = f"""SELECT m.id FROM messages m WHERE m.session_id = :session AND {_CHILDLESS}
                          ORDER BY m.number DESC LIMIT 1"""

SIBLINGS = """SELECT m.id, s.id FROM messages m CROSS JOIN messages s
    ON s.session_id = m.session_id AND s.parent_id IS m.parent_id
    WHERE m.session_id = ? AND m.id IN (SELECT value FROM json_each(?)) ORDER BY s.number"""
"""The messages behind the same one, in the order they were made, for each of some."""


def first_row(db: Connection, sql: str, parameters: Any) -> Row | None:
    """The first row of a query, or None."""
    row: Row | None = db.execute(sql, parameters).fetchone()
    return row


def tip(db: Connection, session_id: str) -> str | None:
    """The last message of the path that is shown."""
    row = first_row(
        db,
        "SELECT id FROM messages WHERE session_id = ? AND active = 1 ORDER BY position DESC LIMIT 1",
        (session_id,),
    )
    return row[0] if row else None


def exists(db: Connection, session_id: str, message_id: str) -> bool:
    """Whether the session has the message."""
    sql = "SELECT 1 FROM messages WHERE session_id = ? AND id = ?"
    return first_row(db, sql, (session_id, message_id)) is not None


def show(db: Connection, session_id: str, leaf: str | None) -> None:
    """Make the path down to this message the one that is shown; no message at all for None."""
    if leaf == tip(db, session_id):
        return
    given = {"session": session_id, "leaf": leaf}
    db.execute(
        f"""{PATH} UPDATE messages SET active = 0 WHERE session_id = :session AND active = 1
            AND number NOT IN (SELECT number FROM path)""",
        given,
    )
    db.execute(
        f"""{PATH} UPDATE messages SET active = 1 WHERE number IN (
            SELECT number FROM path EXCEPT SELECT number FROM messages WHERE session_id = :session AND active = 1)""",
        given,
    )


def newest_leaf(db: Connection, session_id: str, top: str | None) -> str | None:
    """The last message beneath this one, or of all, that was made and has none beneath it."""
    sql = NEWEST_LEAF if top else _NEWEST_LEAF_OF_ALL
    row = first_row(db, sql, {"session": session_id, "top": top})
    return row[0] if row else None


def settle(db: Connection, session_id: str) -> None:
    """Let the path that is shown go on to a leaf, where a message that was its last one is gone."""
    show(db, session_id, newest_leaf(db, session_id, tip(db, session_id)))


def lift(db: Connection, session_id: str, message_id: str) -> None:
    """Hang what stands behind a message, which is about to go, behind the one before it."""
    db.execute(
        """UPDATE messages SET parent_id = (SELECT parent_id FROM messages WHERE session_id = ?1 AND id = ?2)
           WHERE session_id = ?1 AND parent_id = ?2""",
        (session_id, message_id),
    )


def insert_behind(db: Connection, session_id: str, message_id: str, parent_id: str) -> None:
    """Hang what is shown behind `parent_id` behind the message, which came late."""
    db.execute(
        "UPDATE messages SET parent_id = ?2 WHERE session_id = ?1 AND parent_id = ?3 AND active = 1 AND id != ?2",
        (session_id, message_id, parent_id),
    )


def by_message(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The rows of `SIBLINGS` as lists."""
    found: dict[str, list[str]] = {}
    for message_id, sibling in rows:
        found.setdefault(message_id, []).append(sibling)
    return found
