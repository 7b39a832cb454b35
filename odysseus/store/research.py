"""The tables of research: jobs, and the steps that each has done. A step is written once and never changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from odysseus.clock import Clock
from odysseus.errors import NotFound
from odysseus.events import ResearchStatus
from odysseus.store.db import Connection, Database, Row

LISTED = 100


@dataclass(frozen=True, slots=True)
class ResearchRow:
    """A job. `session_id` is the chat that it belongs to, if any; `budget` is what it may do, as JSON.

    `seconds` is the work so far. Times are seconds since the epoch.
    """

    id: str
    session_id: str | None
    question: str
    endpoint_id: str
    model: str
    budget: Mapping[str, Any]
    status: ResearchStatus
    message: str
    seconds: float
    started_at: float
    finished_at: float | None


class ResearchStore:
    """Reads and writes jobs."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def begin(self, row: ResearchRow) -> None:
        """Store a job that begins. Raises NotFound when its chat is gone."""

        def work(db: Connection) -> None:
            if row.session_id is not None:
                cursor = db.execute("SELECT 1 FROM sessions WHERE id = ?", (row.session_id,))
                if cursor.fetchone() is None:
                    raise NotFound("There is no such session. It may have been deleted.")
            db.execute(
                """INSERT INTO research_jobs (id, session_id, question, endpoint_id, model, budget, status, started_at)
                   VALUES (?, ?, ?, ?, ?, ?, 'running', ?)""",
                (
                    row.id,
                    row.session_id,
                    row.question,
                    row.endpoint_id,
                    row.model,
                    orjson.dumps(row.budget).decode(),
                    row.started_at,
                ),
            )

        await self._db.write(work)

    async def get(self, job_id: str) -> ResearchRow:
        """The job. Raises NotFound."""
        row = await self._db.read_one("SELECT * FROM research_jobs WHERE id = ?", (job_id,))
        if row is None:
            raise NotFound("There is no such research. It may have been deleted.")
        return _row(row)

    async def list(self, *, running: bool = False) -> Sequence[ResearchRow]:
        """The newest jobs first; with `running` all that are not over."""
        where = "WHERE status = 'running'" if running else ""
        rows = await self._db.read(
            f"SELECT * FROM research_jobs {where} ORDER BY started_at DESC, rowid DESC LIMIT ?", (LISTED,)
        )
        return [_row(row) for row in rows]

    async def steps(self, job_id: str) -> dict[str, Any]:
        """What the job has done, by key."""
        rows = await self._db.read("SELECT key, result FROM research_steps WHERE job_id = ? ORDER BY number", (job_id,))
        # Whole pages are among them.
        return await asyncio.to_thread(lambda: {row[0]: orjson.loads(row[1]) for row in rows})

    async def step(self, job_id: str, key: str) -> Any:
        """What one step came to; None when it was not done."""
        row = await self._db.read_one("SELECT result FROM research_steps WHERE job_id = ? AND key = ?", (job_id, key))
        return orjson.loads(row[0]) if row else None

    async def add_step(self, job_id: str, key: str, result: Any, seconds: float) -> None:
        """Store a step that is done. Of a job that was deleted meanwhile nothing is stored."""
        text, now = orjson.dumps(result).decode(), self._clock.wall()

        def work(db: Connection) -> None:
            db.execute(
                """INSERT OR IGNORE INTO research_steps (job_id, key, result, at)
                   SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM research_jobs WHERE id = ?1)""",
                (job_id, key, text, now),
            )
            db.execute("UPDATE research_jobs SET seconds = ? WHERE id = ?", (seconds, job_id))

        await self._db.write(work)

    async def finish(self, job_id: str, status: ResearchStatus, message: str) -> None:
        """Store how the job ended."""
        now = self._clock.wall()

        def work(db: Connection) -> None:
            db.execute(
                "UPDATE research_jobs SET status = ?, message = ?, finished_at = ? WHERE id = ?",
                (status, message, now, job_id),
            )

        await self._db.write(work)

    async def delete(self, job_id: str) -> None:
        """Remove the job with all it has read. Raises NotFound."""

        def work(db: Connection) -> None:
            cursor = db.execute("DELETE FROM research_jobs WHERE id = ?", (job_id,))
            if cursor.rowcount == 0:
                raise NotFound("There is no such research. It may have been deleted.")

        await self._db.write(work)


def _row(row: Row) -> ResearchRow:
    fields: dict[str, Any] = dict(row)
    return ResearchRow(**{**fields, "budget": orjson.loads(fields["budget"])})
