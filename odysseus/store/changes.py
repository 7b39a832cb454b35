"""The table of file changes: what a file held before a run changed it, so that the run can be undone.

Knows rows, not files: reading and restoring them is the tools' work.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from odysseus.clock import Clock
from odysseus.errors import NotFound
from odysseus.store.db import Connection, Database

SIZE_LIMIT = 5_000_000
"""The largest file, in bytes, that is kept before a change; a larger one is not changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file's step in a run.

    `root` is the workspace and `path` the way below it, with `/` between names. `before` is None for a file that was
    not there, `mode` its permission bits. `after_hash` is what `content_hash` says of it after the step.
    """

    root: str
    path: str
    before: bytes | None
    mode: int | None
    after_hash: str | None


@dataclass(frozen=True, slots=True)
class RunChanges:
    """What a run did to files, newest first.

    `undone` says that it was taken back, `running` that it still goes on, `interrupted` that the server died meanwhile:
    then its last steps may never have been taken.
    """

    changes: Sequence[Change]
    undone: bool
    running: bool
    interrupted: bool


class ChangeStore:
    """Keeps what files held. `lock` is held while files are compared and changed, so that no two do it at once."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self.lock = asyncio.Lock()

    async def record(self, run_id: str, changes: Sequence[Change]) -> Sequence[int]:
        """Keep the steps, oldest first, before the files are written; gives their numbers, to forget them by.

        Raises NotFound when the run is gone.
        """
        rows = [(run_id, each.root, each.path, each.before, each.mode, each.after_hash) for each in changes]

        def work(db: Connection) -> Sequence[int]:
            if db.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone() is None:
                raise NotFound("There is no such run. Its session may have been deleted.")
            sql = "INSERT INTO file_changes (run_id, root, path, before, mode, after_hash) VALUES (?, ?, ?, ?, ?, ?)"
            return [(db.execute(sql, row)).lastrowid or 0 for row in rows]

        return await self._db.write(work)

    async def forget(self, numbers: Sequence[int]) -> None:
        """Drop steps that could not be taken."""

        def work(db: Connection) -> None:
            db.executemany("DELETE FROM file_changes WHERE number = ?", [(number,) for number in numbers])

        await self._db.write(work)

    async def of_run(self, run_id: str) -> RunChanges:
        """The steps of a run, newest first. Raises NotFound."""
        run = await self._db.read_one("SELECT status FROM runs WHERE run_id = ?", (run_id,))
        if run is None:
            raise NotFound("There is no such run. Its session may have been deleted.")
        rows = await self._db.read(
            """SELECT root, path, before, mode, after_hash, undone_at FROM file_changes
               WHERE run_id = ? ORDER BY number DESC""",
            (run_id,),
        )
        open_rows = [row for row in rows if row["undone_at"] is None]
        changes = [Change(*tuple(row)[:5]) for row in open_rows]
        status = run["status"]
        return RunChanges(changes, bool(rows) and not open_rows, status == "running", status == "interrupted")

    async def undone_runs(self, session_id: str) -> frozenset[str]:
        """The runs of a session whose steps were taken back."""
        rows = await self._db.read(
            """SELECT DISTINCT c.run_id FROM file_changes c JOIN runs r ON r.run_id = c.run_id
               WHERE r.session_id = ? AND c.undone_at IS NOT NULL""",
            (session_id,),
        )
        return frozenset(row[0] for row in rows)

    async def mark_undone(self, run_id: str) -> None:
        """The run's steps were taken back; what the files held is not needed any more."""
        now = self._clock.wall()

        def work(db: Connection) -> None:
            db.execute(
                "UPDATE file_changes SET undone_at = ?, before = NULL WHERE run_id = ? AND undone_at IS NULL",
                (now, run_id),
            )

        await self._db.write(work)


def content_hash(content: bytes | None) -> str | None:
    """What tells one content from another; None for no file."""
    return None if content is None else hashlib.sha256(content).hexdigest()
