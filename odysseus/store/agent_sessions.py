"""The sessions of named agents, which other programs keep up: found while they are in use, capped, and swept away."""

from __future__ import annotations

from odysseus.clock import Clock
from odysseus.errors import TooMany
from odysseus.store.db import Connection, Database

KEPT_SECONDS = 86_400.0
"""How long the history of a session that is no longer used stays on disk."""


class AgentSessionStore:
    """Reads and writes them. `seconds` without use end a session; a going run counts as use at its end."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def use(self, session_id: str, agent: str, seconds: float) -> bool:
        """Say that the agent's session is used now. False when there is none, or none that is still in use."""
        now = self._clock.wall()

        def work(db: Connection) -> bool:
            cursor = db.execute(
                "UPDATE sessions SET used_at = ? WHERE id = ? AND agent = ? AND used_at > ?",
                (now, session_id, agent, now - seconds),
            )
            return cursor.rowcount > 0

        return await self._db.write(work)

    async def create(self, session_id: str, agent: str, seconds: float, most: int) -> None:
        """Begin a session. Raises TooMany when `most` are in use; sweeps away what is long out of use."""
        now = self._clock.wall()

        def work(db: Connection) -> None:
            db.execute(
                "DELETE FROM sessions WHERE agent = ? AND used_at <= ?", (agent, now - max(seconds, KEPT_SECONDS))
            )
            rows = db.execute(
                "SELECT count(*), min(used_at) FROM sessions WHERE agent = ? AND used_at > ?", (agent, now - seconds)
            ).fetchall()
            ((count, oldest),) = rows
            if count >= most:
                raise TooMany(
                    f"The agent has {most:,} sessions in use, which is its limit. Try again later, or end one.",
                    retry_after=max(1.0, oldest + seconds - now),
                )
            db.execute(
                """INSERT INTO sessions (id, name, endpoint_id, model, mode, created_at, updated_at, agent, used_at)
                   VALUES (?1, '', '', '', 'agent', ?2, ?2, ?3, ?2)""",
                (session_id, now, agent),
            )

        await self._db.write(work)

    async def count(self, agent: str, seconds: float) -> int:
        """How many are in use."""
        row = await self._db.read_one(
            "SELECT count(*) FROM sessions WHERE agent = ? AND used_at > ?", (agent, self._clock.wall() - seconds)
        )
        return int(row[0]) if row else 0

    async def exists(self, session_id: str) -> bool:
        """Whether it is a session of an agent's, in use or not."""
        return await self._db.read_one("SELECT 1 FROM sessions WHERE id = ? AND agent != ''", (session_id,)) is not None
