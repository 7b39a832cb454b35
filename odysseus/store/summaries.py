"""The table of summaries: what older turns of a session come to, for the model. The messages themselves stay.

A summary that stands for a message which is edited or deleted is gone; the database sees to it. One that was made on
another branch holds there alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from odysseus.clock import Clock
from odysseus.store import tree
from odysseus.store.db import Connection, Database, Row
from odysseus.store.messages import Message


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands for the path of a session down to the message at the position `upto`: `messages` of them.

    `outside` says that text from outside went into it.
    """

    session_id: str
    upto: int
    messages: int
    text: str
    outside: bool


class SummaryStore:
    """Reads and writes summaries."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def last(self, session_id: str, leaf: str | None = None) -> Summary | None:
        """The one that stands for the most of what is shown, or of the path down to `leaf`."""
        where = "m.number IN (SELECT number FROM path)" if leaf else "m.active = 1"
        row = await self._db.read_one(
            f"""{tree.PATH if leaf else ""} SELECT s.session_id, s.upto, s.messages, s.text, s.outside FROM summaries s
                CROSS JOIN messages m ON m.session_id = s.session_id AND m.position = s.upto
                WHERE s.session_id = :session AND {where} ORDER BY s.upto DESC LIMIT 1""",
            {"session": session_id, "leaf": leaf},
        )
        return Summary(row[0], row[1], row[2], row[3], bool(row[4])) if row else None

    async def save(self, summary: Summary, before: Summary | None, covered: Sequence[Message]) -> bool:
        """Keep a summary of `before` and the messages `covered`; False when those have changed meanwhile."""
        start = before.upto if before else -1
        now = self._clock.wall()

        def work(db: Connection) -> bool:
            rows = db.execute(
                """SELECT id, content FROM messages
                   WHERE session_id = ? AND active = 1 AND position > ? AND position <= ? ORDER BY position""",
                (summary.session_id, start, summary.upto),
            ).fetchall()
            if _digest(rows) != _digest((message.id, message.content) for message in covered):
                return False
            if before and not _is_there(db, before):
                return False
            db.execute(
                """INSERT OR REPLACE INTO summaries (session_id, upto, messages, text, outside, created_at)
                   VALUES (?, ?, ?, ?, ?, ?)""",
                (summary.session_id, summary.upto, summary.messages, summary.text, int(summary.outside), now),
            )
            return True

        return await self._db.write(work)


def _is_there(db: Connection, summary: Summary) -> bool:
    return bool(
        db.execute(
            "SELECT 1 FROM summaries WHERE session_id = ? AND upto = ? AND text = ?",
            (summary.session_id, summary.upto, summary.text),
        ).fetchone()
    )


def _digest(pairs: Iterable[Row | tuple[str, str]]) -> bytes:
    whole = hashlib.sha256()
    for message_id, content in pairs:
        data = content.encode("utf-8", "replace")
        whole.update(f"{message_id} {len(data)} ".encode())
        whole.update(data)
    return whole.digest()
