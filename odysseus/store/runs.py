"""The table of runs: begun with the user's message, fed by checkpoints, ended with exactly one terminal record.

Each step is one transaction, so a crash leaves either all of it or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from odysseus.clock import Clock
from odysseus.errors import NotFound
from odysseus.events import Mode
from odysseus.store.db import Connection, Database
from odysseus.store.messages import Message, append_message, new_message_id
from odysseus.store.sessions import title_of


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is known of a run before its first byte."""

    run_id: str
    session_id: str
    mode: Mode
    message: str
    endpoint_id: str
    model: str


@dataclass(frozen=True, slots=True)
class Begun:
    """The rows a run began with."""

    record_id: int
    user_message_id: str
    started_at: float


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that a run has said since its last checkpoint."""

    run_id: str
    text: str
    thinking: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run that a dead process left behind, with what its last checkpoint holds."""

    record_id: int
    run_id: str
    session_id: str
    user_message_id: str
    mode: Mode
    endpoint_id: str
    model: str
    started_at: float
    last_at: float
    text: str
    thinking: str


class RunStore:
    """Writes runs."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def begin(self, start: RunStart) -> Begun:
        """Store the user's message and the run. Raises NotFound when the session is gone."""
        now = self._clock.wall()
        user_message_id = new_message_id()

        async def work(db: Connection) -> int:
            cursor = await db.execute(
                """UPDATE sessions SET endpoint_id = ?, model = ?,
                   name = CASE WHEN name = '' THEN ? ELSE name END WHERE id = ?""",
                (start.endpoint_id, start.model, title_of(start.message), start.session_id),
            )
            if cursor.rowcount == 0:
                raise NotFound("There is no such session. It may have been deleted.")
            await append_message(
                db, Message(user_message_id, start.session_id, 0, "user", start.message, {"run_id": start.run_id}, now)
            )
            cursor = await db.execute(
                """INSERT INTO runs (run_id, session_id, user_message_id, mode, status, started_at)
                   VALUES (?, ?, ?, ?, 'running', ?)""",
                (start.run_id, start.session_id, user_message_id, start.mode, now),
            )
            return cursor.lastrowid or 0

        return Begun(await self._db.write(work), user_message_id, now)

    async def checkpoint(self, pieces: Sequence[Piece]) -> None:
        """Store what the going runs have said since the last time."""
        now = self._clock.wall()
        rows = [(piece.run_id, "text", piece.text, now) for piece in pieces if piece.text]
        rows += [(piece.run_id, "thinking", piece.thinking, now) for piece in pieces if piece.thinking]

        async def work(db: Connection) -> None:
            # A run may have ended, or its session been deleted, while this waited for its turn.
            await db.executemany(
                """INSERT INTO run_pieces (run_id, kind, piece, at)
                   SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = ?1 AND status = 'running')""",
                rows,
            )

        await self._db.write(work)

    async def finish(self, record: Mapping[str, Any], answer: Message | None) -> None:
        """Store the terminal record, and the answer when there is one, in its place in the history."""

        async def work(db: Connection) -> None:
            await _finish(db, record, answer, self._clock.wall())

        await self._db.write(work)

    async def unfinished(self) -> Sequence[Unfinished]:
        """Runs that were going when the last process died."""
        rows = await self._db.read(
            """SELECT r.record_id, r.run_id, r.session_id, r.user_message_id, r.mode, s.endpoint_id, s.model,
                      r.started_at,
                      (SELECT coalesce(max(at), r.started_at) FROM run_pieces WHERE run_id = r.run_id) AS last_at
               FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.status = 'running' ORDER BY r.record_id"""
        )
        return [
            Unfinished(
                **dict(row), text=await self._said(row[1], "text"), thinking=await self._said(row[1], "thinking")
            )
            for row in rows
        ]

    async def _said(self, run_id: str, kind: str) -> str:
        rows = await self._db.read(
            "SELECT piece FROM run_pieces WHERE run_id = ? AND kind = ? ORDER BY number", (run_id, kind)
        )
        return "".join(row[0] for row in rows)


async def _finish(db: Connection, record: Mapping[str, Any], answer: Message | None, now: float) -> None:
    if answer:
        await append_message(db, answer, question_id=record["user_message_id"])
    elif record["failure"] or record["status"] != "completed":
        await _mark_unanswered(db, record)
    await db.execute(
        "UPDATE runs SET status = ?, stop_reason = ?, message_id = ?, record = ?, finished_at = ? WHERE record_id = ?",
        (
            record["status"],
            record["stop_reason"],
            record["message_id"],
            orjson.dumps(record).decode(),
            now,
            record["record_id"],
        ),
    )
    await db.execute("DELETE FROM run_pieces WHERE run_id = ?", (record["run_id"],))
    await db.execute(
        "UPDATE sessions SET total_tokens = total_tokens + ? WHERE id = ?",
        (record["usage"]["total_tokens"], record["session_id"]),
    )


async def _mark_unanswered(db: Connection, record: Mapping[str, Any]) -> None:
    """Keep with the question why it has no answer, so that a reload can say so."""
    why = {key: record[key] for key in ("run_id", "status", "stop_reason", "failure")}
    await db.execute(
        "UPDATE messages SET metadata = ? WHERE id = ?", (orjson.dumps(why).decode(), record["user_message_id"])
    )
