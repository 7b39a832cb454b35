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
from odysseus.store.approvals import ApprovalState, decide, retire
from odysseus.store.db import Connection, Database
from odysseus.store.messages import Message, append_message, new_message_id
from odysseus.store.sessions import title_of


@dataclass(frozen=True, slots=True)
class Decided:
    """The approval whose answer starts a run, and the message that its question belongs to."""

    approval_id: str
    state: ApprovalState
    user_message_id: str


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is known of a run before its first byte. One that is `decided` upon brings no message of its own."""

    run_id: str
    session_id: str
    mode: Mode
    message: str
    endpoint_id: str
    model: str
    decided: Decided | None = None
    attachments: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Begun:
    """The rows a run began with."""

    record_id: int
    user_message_id: str
    started_at: float


@dataclass(frozen=True, slots=True)
class Piece:
    """What a run has said and done since its last checkpoint; `steps` are JSON values."""

    run_id: str
    text: str
    thinking: str
    steps: Sequence[Mapping[str, Any]] = ()


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
    steps: Sequence[Mapping[str, Any]] = ()


class RunStore:
    """Writes runs."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def begin(self, start: RunStart) -> Begun:
        """Store the user's message and the run. Raises NotFound when the session is gone, Conflict for an approval
        that is used or expired. A message retires what waited for the user."""
        now = self._clock.wall()
        user_message_id = start.decided.user_message_id if start.decided else new_message_id()

        async def work(db: Connection) -> int:
            cursor = await db.execute(
                """UPDATE sessions SET endpoint_id = ?, model = ?,
                   name = CASE WHEN name = '' THEN ? ELSE name END WHERE id = ?""",
                (start.endpoint_id, start.model, title_of(start.message), start.session_id),
            )
            if cursor.rowcount == 0:
                raise NotFound("There is no such session. It may have been deleted.")
            if start.decided:
                await decide(db, start.decided.approval_id, start.session_id, start.decided.state, now)
            else:
                await retire(db, start.session_id)
                said: dict[str, Any] = {"run_id": start.run_id}
                if start.attachments:
                    said["attachments"] = start.attachments
                await append_message(
                    db, Message(user_message_id, start.session_id, 0, "user", start.message, said, now)
                )
            cursor = await db.execute(
                """INSERT INTO runs (run_id, session_id, user_message_id, mode, status, started_at)
                   VALUES (?, ?, ?, ?, 'running', ?)""",
                (start.run_id, start.session_id, user_message_id, start.mode, now),
            )
            return cursor.lastrowid or 0

        return Begun(await self._db.write(work), user_message_id, now)

    async def retire_approvals(self, session_id: str) -> None:
        """What waits for the user in this session waits no longer."""

        async def work(db: Connection) -> None:
            await retire(db, session_id)

        await self._db.write(work)

    async def checkpoint(self, pieces: Sequence[Piece]) -> None:
        """Store what the going runs have said since the last time."""
        now = self._clock.wall()
        rows = [(piece.run_id, "text", piece.text, now) for piece in pieces if piece.text]
        rows += [(piece.run_id, "thinking", piece.thinking, now) for piece in pieces if piece.thinking]
        rows += [(piece.run_id, "step", orjson.dumps(step).decode(), now) for piece in pieces for step in piece.steps]

        async def work(db: Connection) -> None:
            # A run may have ended, or its session been deleted, while this waited for its turn.
            await db.executemany(
                """INSERT INTO run_pieces (run_id, kind, piece, at)
                   SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = ?1 AND status = 'running')""",
                rows,
            )

        await self._db.write(work)

    async def finish(
        self, record: Mapping[str, Any], answer: Message | None, given: Mapping[str, Any] | None = None
    ) -> None:
        """Store the terminal record, and the answer when there is one, in its place in the history.

        `given` is what the question's metadata keeps of what the model was given with it.
        """

        async def work(db: Connection) -> None:
            if given:
                await db.execute(
                    "UPDATE messages SET metadata = json_patch(metadata, ?) WHERE id = ?",
                    (orjson.dumps(given).decode(), record["user_message_id"]),
                )
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
                **dict(row),
                text="".join(await self._pieces(row[1], "text")),
                thinking="".join(await self._pieces(row[1], "thinking")),
                steps=[orjson.loads(piece) for piece in await self._pieces(row[1], "step")],
            )
            for row in rows
        ]

    async def _pieces(self, run_id: str, kind: str) -> Sequence[str]:
        rows = await self._db.read(
            "SELECT piece FROM run_pieces WHERE run_id = ? AND kind = ? ORDER BY number", (run_id, kind)
        )
        return [row[0] for row in rows]


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
        """UPDATE sessions SET total_tokens = total_tokens + ?1,
                  used_at = CASE WHEN agent != '' THEN ?2 ELSE used_at END WHERE id = ?3""",
        (record["usage"]["total_tokens"], now, record["session_id"]),
    )


async def _mark_unanswered(db: Connection, record: Mapping[str, Any]) -> None:
    """Keep with a question that has no answer at all why, so that a reload can say so."""
    why = {key: record[key] for key in ("run_id", "status", "stop_reason", "failure")}
    await db.execute(
        """UPDATE messages SET metadata = json_patch(metadata, ?1) WHERE id = ?2 AND NOT EXISTS (
               SELECT 1 FROM runs WHERE user_message_id = ?2 AND message_id IS NOT NULL)""",
        (orjson.dumps(why).decode(), record["user_message_id"]),
    )
