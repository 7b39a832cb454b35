"""The table of what was read in files: once for their bytes and for the type that their names say.

Knows no file and no reader. Rows go with the last upload of their bytes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from odysseus.clock import Clock
from odysseus.store.db import Connection, Database


@dataclass(frozen=True, slots=True)
class FileText:
    """What a reading gave. The fields are those of the reader, see `extract/result.py`."""

    kind: str
    text: str
    note: str
    mime: str
    width: int | None
    height: int | None
    pages: int | None
    mismatch: bool


_FIELDS = [field.name for field in fields(FileText)]


class FileTextStore:
    """Reads and writes them."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def get(self, sha256: str, called: str) -> FileText | None:
        """What these bytes held when they were read under a name of this type."""
        row = await self._db.read_one(
            f"SELECT {', '.join(_FIELDS)} FROM file_texts WHERE sha256 = ? AND called = ?", (sha256, called)
        )
        return FileText(**{**dict(row), "mismatch": bool(row["mismatch"])}) if row else None

    async def put(self, sha256: str, called: str, found: FileText) -> None:
        """Keep what was read in place of what was there. Without an upload of these bytes nothing is kept."""
        values: list[Any] = [sha256, called, *asdict(found).values(), self._clock.wall()]

        def work(db: Connection) -> None:
            db.execute(
                f"""INSERT OR REPLACE INTO file_texts (sha256, called, {", ".join(_FIELDS)}, read_at)
                    SELECT {", ".join("?" * len(values))} WHERE EXISTS (SELECT 1 FROM uploads WHERE sha256 = ?)""",
                [*values, sha256],
            )

        await self._db.write(work)
