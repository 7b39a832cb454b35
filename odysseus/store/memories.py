"""The table of memories: short facts about the user that outlive a chat, each kept once.

Knows nothing of when they are recalled.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal

from odysseus.clock import Clock
from odysseus.errors import Conflict, NotFound
from odysseus.store.db import Connection, Database, Row
from odysseus.store.search import holds, words_of

MOST_MEMORIES = 1000
MOST_PROPOSED = 100

State = Literal["kept", "proposed"]
"""A proposed memory is used for nothing until the user keeps it."""

_COLUMNS = "id, text, category, pinned, session_id, created_at, updated_at, outside, state"


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
    state: State = "kept"


_NOT_THERE = "There is no such memory. It may have been forgotten already."


def tidy(text: str) -> str:
    """A memory's text as it is kept: on one line, single spaces, composed characters."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


class MemoryStore:
    """Reads and writes memories."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def remember(
        self,
        text: str,
        category: str,
        session_id: str | None = None,
        *,
        outside: bool = False,
        state: State = "kept",
        pinned: bool = False,
    ) -> tuple[Memory, bool]:
        """Keep or propose a fact; gives it and whether it is new. The same text but for case and spaces is not kept
        again; one that was proposed is kept from now on, if this is no proposal.

        Raises Conflict when there are too many. Of proposals the oldest make room.
        """
        now = self._clock.wall()
        made = Memory(secrets.token_hex(6), tidy(text), category, pinned, session_id, now, now, outside, state)

        def work(db: Connection) -> tuple[Memory, bool]:
            if known := _find(db, "fold(text) = fold(?)", made.text):
                if known.state == "proposed" and state == "kept":
                    return _set(db, replace(known, state="kept", updated_at=now)), False
                return known, False
            _check_room(db, state)
            _insert(db, made)
            return made, True

        return await self._db.write(work)

    async def change(self, memory_id: str, fields: Mapping[str, Any]) -> Memory:
        """Set `text`, `category`, `pinned` or `state`; gives the memory. Raises NotFound, Conflict for a known text."""

        def work(db: Connection) -> Memory:
            found = _find(db, "id = ?", memory_id)
            if found is None:
                raise NotFound(_NOT_THERE)
            own = {"outside": False} if "text" in fields else {}  # the new words are the user's
            changed = replace(found, **{**fields, **own, "updated_at": self._clock.wall()})
            same = _find(db, "fold(text) = fold(?)", changed.text) if "text" in fields else None
            if same and same.id != memory_id:
                raise Conflict("This is remembered already. Change or forget the other one.")
            return _set(db, changed)

        return await self._db.write(work)

    async def forget(self, *, memory_id: str = "", text: str = "") -> Memory:
        """Delete the memory with this id, else the one with this text; gives it. Raises NotFound."""

        def work(db: Connection) -> Memory:
            found = _find(db, "id = ?", memory_id) if memory_id else _find(db, "fold(text) = fold(?)", tidy(text))
            if found is None:
                raise NotFound(_NOT_THERE)
            db.execute("DELETE FROM memories WHERE id = ?", (found.id,))
            return found

        return await self._db.write(work)

    async def list(self, query: str = "", limit: int = MOST_MEMORIES, state: State | None = None) -> Sequence[Memory]:
        """Those with every word of `query`: pinned ones first, then the newest. All, or of one state."""
        clause, patterns = holds(words_of(query), "plain(text)") if query.strip() else ("1", [])
        rows = await self._db.read(
            f"""SELECT {_COLUMNS} FROM memories WHERE (? IS NULL OR state = ?) AND {clause}
                ORDER BY pinned DESC, created_at DESC, rowid DESC LIMIT ?""",
            [state, state, *patterns, limit],
        )
        return [_memory(row) for row in rows]


def _find(db: Connection, where: str, value: str) -> Memory | None:
    row = db.execute(f"SELECT {_COLUMNS} FROM memories WHERE {where} LIMIT 1", (value,)).fetchone()
    return _memory(row) if row else None


def _insert(db: Connection, memory: Memory) -> None:
    marks = ", ".join("?" * len(_COLUMNS.split(",")))
    db.execute(f"INSERT INTO memories ({_COLUMNS}) VALUES ({marks})", astuple(memory))


def _set(db: Connection, memory: Memory) -> Memory:
    db.execute(
        "UPDATE memories SET text = ?, category = ?, pinned = ?, outside = ?, state = ?, updated_at = ? WHERE id = ?",
        (
            memory.text,
            memory.category,
            memory.pinned,
            memory.outside,
            memory.state,
            memory.updated_at,
            memory.id,
        ),
    )
    return memory


def _check_room(db: Connection, state: State) -> None:
    ((count, proposed),) = db.execute(
        "SELECT count(*), count(*) FILTER (WHERE state = 'proposed') FROM memories"
    ).fetchall()
    if state == "proposed" and proposed >= MOST_PROPOSED:
        db.execute(
            """DELETE FROM memories WHERE id IN
               (SELECT id FROM memories WHERE state = 'proposed' ORDER BY created_at, rowid LIMIT ?)""",
            (proposed - MOST_PROPOSED + 1,),
        )
    elif count >= MOST_MEMORIES:
        raise Conflict(f"{MOST_MEMORIES:,} things are remembered, which is the most. Forget some of them first.")


def _memory(row: Row) -> Memory:
    fields: dict[str, Any] = dict(row)
    fields |= {name: bool(fields[name]) for name in ("pinned", "outside")}
    return Memory(**fields)
