"""The table of calls that wait for the user: each is decided on once, in time, in its own session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from odysseus.clock import Clock
from odysseus.errors import Conflict
from odysseus.store.db import Connection, Database

ApprovalState = Literal["pending", "approved", "denied", "expired", "retired"]
GONE = "This approval is unknown, has expired, or was already used. Ask again in a new message."


@dataclass(frozen=True, slots=True)
class Pending:
    """A sealed call as it is kept; `sealed` is JSON values, opaque here. Times are seconds since the epoch."""

    id: str
    session_id: str
    run_id: str
    digest: str
    sealed: Mapping[str, Any]
    expires_at: float


class ApprovalStore:
    """Reads and writes approvals."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def add(self, pending: Pending) -> None:
        """Keep a call that waits."""
        row = (
            pending.id,
            pending.session_id,
            pending.run_id,
            pending.digest,
            orjson.dumps(pending.sealed).decode(),
            self._clock.wall(),
            pending.expires_at,
        )

        def work(db: Connection) -> None:
            db.execute(
                """INSERT INTO approvals (id, session_id, run_id, state, digest, sealed, created_at, expires_at)
                   VALUES (?, ?, ?, 'pending', ?, ?, ?, ?)""",
                row,
            )

        await self._db.write(work)

    async def pending(self, approval_id: str, session_id: str) -> Pending:
        """A call that still waits. Raises Conflict."""
        row = await self._db.read_one(
            """SELECT id, session_id, run_id, digest, sealed, expires_at FROM approvals
               WHERE id = ? AND session_id = ? AND state = 'pending' AND expires_at > ?""",
            (approval_id, session_id, self._clock.wall()),
        )
        if row is None:
            raise Conflict(GONE)
        return Pending(row[0], row[1], row[2], row[3], orjson.loads(row[4]), row[5])

    async def states(self, session_id: str) -> Mapping[str, ApprovalState]:
        """What has become of the session's approvals, by id."""
        now = self._clock.wall()
        rows = await self._db.read("SELECT id, state, expires_at FROM approvals WHERE session_id = ?", (session_id,))
        return {row[0]: "expired" if row[1] == "pending" and row[2] <= now else row[1] for row in rows}


def decide(db: Connection, approval_id: str, session_id: str, state: ApprovalState, now: float) -> None:
    """Use an approval within a transaction. Raises Conflict when somebody was faster, or it is too late."""
    cursor = db.execute(
        "UPDATE approvals SET state = ? WHERE id = ? AND session_id = ? AND state = 'pending' AND expires_at > ?",
        (state, approval_id, session_id, now),
    )
    if cursor.rowcount == 0:
        raise Conflict(GONE)


def retire(db: Connection, session_id: str) -> None:
    """Let what waits in the session wait no longer, within a transaction."""
    db.execute("UPDATE approvals SET state = 'retired' WHERE session_id = ? AND state = 'pending'", (session_id,))
