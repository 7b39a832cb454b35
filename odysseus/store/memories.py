"""The table of memories: short facts about the user that outlive a chat, each kept once.

Knows nothing of when they are recalled.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from odysseus.clock import Clock
from odysseus.errors import Conflict, NotFound
from odysseus.store.db import Connection, Database, Row

MOST_MEMORIES = 1000
MOST_WORDS = 20

_COLUMNS = "id, text, category, pinned, session_id, created_at, updated_at, outside"


@dataclass(frozen=True, slots=True)
class Memory:
    """One fact, on one line. `session_id` is the chat it comes from. Times are seconds since the epoch.

    `outside`: text from outside had entered that chat, so it may be what others wrote.
    """

    id: str
    text: str
    category: str
    pinned: bool
    session_id: str | None
    created_at: float
    updated_at: float
    outside: bool = False


def tidy(text: str) -> str:
    """A memory's text as it is kept: on one line, single spaces, composed characters."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


class MemoryStore:
    """Reads and writes memories."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def remember(
        self, text: str, category: str, session_id: str | None = None, *, outside: bool = False
    ) -> tuple[Memory, bool]:
        """Keep a fact; gives it and whether it is new. The same text but for case and spaces is not kept again.

        Raises Conflict when there are too many.
        """
        now = self._clock.wall()
        made = Memory(secrets.token_hex(6), tidy(text), category, False, session_id, now, now, outside)

        async def work(db: Connection) -> tuple[Memory, bool]:
            if known := await _find(db, "fold(text) = fold(?)", made.text):
                return known, False
            await _check_room(db)
            await db.execute(
                f"INSERT INTO memories ({_COLUMNS}) VALUES (?, ?, ?, 0, ?, ?, ?, ?)",
                (made.id, made.text, category, session_id, now, now, int(outside)),
            )
            return made, True

        return await self._db.write(work)

    async def forget(self, *, memory_id: str = "", text: str = "") -> Memory:
        """Delete the memory with this id, else the one with this text; gives it. Raises NotFound."""

        async def work(db: Connection) -> Memory:
            found = await (
                _find(db, "id = ?", memory_id) if memory_id else _find(db, "fold(text) = fold(?)", tidy(text))
            )
            if found is None:
                raise NotFound("There is no such memory. It may have been forgotten already.")
            await db.execute("DELETE FROM memories WHERE id = ?", (found.id,))
            return found

        return await self._db.write(work)

    async def list(self, query: str = "", limit: int = MOST_MEMORIES) -> Sequence[Memory]:
        """Those that hold every word of `query` in any case: pinned ones first, then the newest."""
        words = [word.casefold() for word in dict.fromkeys(tidy(query).split())][:MOST_WORDS]
        clause = " AND ".join(["instr(fold(text), ?) > 0"] * len(words)) or "1"
        parameters: list[Any] = [*words, limit]
        rows = await self._db.read(
            f"""SELECT {_COLUMNS} FROM memories WHERE {clause}
                ORDER BY pinned DESC, created_at DESC, rowid DESC LIMIT ?""",
            parameters,
        )
        return [_memory(row) for row in rows]


async def _find(db: Connection, where: str, value: str) -> Memory | None:
    rows = list(await db.execute_fetchall(f"SELECT {_COLUMNS} FROM memories WHERE {where} LIMIT 1", (value,)))
    return _memory(rows[0]) if rows else None


async def _check_room(db: Connection) -> None:
    rows = list(await db.execute_fetchall("SELECT count(*) FROM memories"))
    if rows[0][0] >= MOST_MEMORIES:
        raise Conflict(f"{MOST_MEMORIES:,} things are remembered, which is the most. Forget some of them first.")


def _memory(row: Row) -> Memory:
    fields: dict[str, Any] = dict(row)
    fields |= {name: bool(fields[name]) for name in ("pinned", "outside")}
    return Memory(**fields)
