"""The table of runs: begun with the user's message, fed by checkpoints, ended with exactly one terminal record.

Each step is one transaction, so a crash leaves either all of it or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from odysseus.clock import Clock
from odysseus.errors import NotFound
from odysseus.events import Mode
from odysseus.store import tree
from odysseus.store.approvals import ApprovalState, decide, retire
from odysseus.store.db import Connection, Database
from odysseus.store.messages import Message, append_message, new_message_id
from odysseus.store.placing import Place, Question, check_message, find_question, go_back, go_to, put_answer
from odysseus.store.sessions import title_of


@dataclass(frozen=True, slots=True)
class Decided:
    """The approval whose answer starts a run, and the message that its question belongs to."""

    approval_id: str
    state: ApprovalState
    user_message_id: str


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is known of a run before its first byte. One that is `decided` upon brings no message of its own, nor does
    one whose `place` is that of a question which is there."""

    run_id: str
    session_id: str
    mode: Mode
    message: str
    endpoint_id: str
    model: str
    decided: Decided | None = None
    attachments: Sequence[Mapping[str, Any]] = ()
    place: Place = field(default_factory=Place)


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
        """Store the user's message and the run. Raises NotFound when the session or a message is gone, Conflict for an
        approval that is used or expired. A message retires what waited for the user."""
        now = self._clock.wall()

        def work(db: Connection) -> Begun:
            cursor = db.execute(
                """UPDATE sessions SET endpoint_id = ?, model = ?,
                   name = CASE WHEN name = '' THEN ? ELSE name END WHERE id = ?""",
                (start.endpoint_id, start.model, title_of(start.message), start.session_id),
            )
            if cursor.rowcount == 0:
                raise NotFound("There is no such session. It may have been deleted.")
            left = tree.tip(db, start.session_id) if start.place.again else None
            asked = _asked(db, start, now)
            cursor = db.execute(
                """INSERT INTO runs (run_id, session_id, user_message_id, mode, status, started_at, parent_id, left_id)
                   VALUES (?, ?, ?, ?, 'running', ?, ?, ?)""",
                (
                    start.run_id,
                    start.session_id,
                    asked,
                    start.mode,
                    now,
                    tree.tip(db, start.session_id),
                    left,
                ),
            )
            return Begun(cursor.lastrowid or 0, asked, now)

        return await self._db.write(work)

    async def question(self, session_id: str, message_id: str) -> Question:
        """The question that this message is or answers. Raises NotFound, BadRequest when it was deleted."""
        return await find_question(self._db, session_id, message_id)

    async def check(self, session_id: str, message_id: str) -> None:
        """Raises NotFound when the session has no such message."""
        await check_message(self._db, session_id, message_id)

    async def retire_approvals(self, session_id: str) -> None:
        """What waits for the user in this session waits no longer."""

        def work(db: Connection) -> None:
            retire(db, session_id)

        await self._db.write(work)

    async def checkpoint(self, pieces: Sequence[Piece]) -> None:
        """Store what the going runs have said since the last time."""
        now = self._clock.wall()
        rows = [(piece.run_id, "text", piece.text, now) for piece in pieces if piece.text]
        rows += [(piece.run_id, "thinking", piece.thinking, now) for piece in pieces if piece.thinking]
        rows += [(piece.run_id, "step", orjson.dumps(step).decode(), now) for piece in pieces for step in piece.steps]

        def work(db: Connection) -> None:
            # A run may have ended, or its session been deleted, while this waited for its turn.
            db.executemany(
                """INSERT INTO run_pieces (run_id, kind, piece, at)
                   SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = ?1 AND status = 'running')""",
                rows,
            )

        await self._db.write(work)

    async def finish(
        self, record: Mapping[str, Any], answer: Message | None, given: Mapping[str, Any] | None = None
    ) -> None:
        """Store the terminal record, and the answer when there is one, in its place in the history.

        `given` is what is kept of what the model was given with the question: in its metadata, or in the answer's when
        it was answered again, so that each answer keeps its own.
        """

        def work(db: Connection) -> None:
            placed = tree.first_row(
                db, "SELECT parent_id, left_id FROM runs WHERE record_id = ?", (record["record_id"],)
            )
            parent, left = placed or (None, None)
            if left is None:
                _patch(db, record["user_message_id"], given or {})
            if answer:
                kept = {"given": "", "given_outside": False, **(given or {})} if left else {}
                put_answer(db, replace(answer, metadata={**answer.metadata, **kept}), parent)
            elif left:
                go_back(db, record["session_id"], parent, left)
            _finish(db, record, self._clock.wall(), answered=answer is not None)

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


def _asked(db: Connection, start: RunStart, now: float) -> str:
    """Have the run's question as the last message that is shown, or for a decision leave it; gives its id."""
    if start.decided:
        decide(db, start.decided.approval_id, start.session_id, start.decided.state, now)
        return start.decided.user_message_id
    retire(db, start.session_id)
    go_to(db, start.session_id, start.place)
    if start.place.again:
        return start.place.again
    said: dict[str, Any] = {"run_id": start.run_id}
    if start.attachments:
        said["attachments"] = start.attachments
    question = Message(new_message_id(), start.session_id, 0, "user", start.message, said, now)
    append_message(db, question)
    return question.id


def _patch(db: Connection, message_id: str, fields: Mapping[str, Any]) -> None:
    if fields:
        db.execute(
            "UPDATE messages SET metadata = json_patch(metadata, ?) WHERE id = ?",
            (orjson.dumps(fields).decode(), message_id),
        )


def _finish(db: Connection, record: Mapping[str, Any], now: float, *, answered: bool) -> None:
    if not answered and (record["failure"] or record["status"] != "completed"):
        _mark_unanswered(db, record)
    db.execute(
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
    db.execute("DELETE FROM run_pieces WHERE run_id = ?", (record["run_id"],))
    db.execute(
        """UPDATE sessions SET total_tokens = total_tokens + ?1,
                  used_at = CASE WHEN agent != '' THEN ?2 ELSE used_at END WHERE id = ?3""",
        (record["usage"]["total_tokens"], now, record["session_id"]),
    )


def _mark_unanswered(db: Connection, record: Mapping[str, Any]) -> None:
    """Keep with a question that has no answer at all why, so that a reload can say so."""
    why = {key: record[key] for key in ("run_id", "status", "stop_reason", "failure")}
    db.execute(
        """UPDATE messages SET metadata = json_patch(metadata, ?1) WHERE id = ?2 AND NOT EXISTS (
               SELECT 1 FROM messages WHERE session_id = ?3 AND parent_id = ?2 AND role = 'assistant')""",
        (orjson.dumps(why).decode(), record["user_message_id"], record["session_id"]),
    )
