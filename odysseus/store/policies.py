"""The policies of tools that the user chose on the page. Knows no tool, and nothing of what the settings say."""

from __future__ import annotations

from collections.abc import Mapping

from odysseus.store.db import Connection, Database


class PolicyStore:
    """One policy for each name, or none."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def all(self) -> Mapping[str, str]:
        """Every choice, by the tool's name. Raises StoreError."""
        return {row[0]: row[1] for row in await self._db.read("SELECT name, policy FROM tool_policies")}

    async def set(self, name: str, policy: str | None) -> None:
        """Keep a choice; None forgets it. Raises StoreError."""

        def work(db: Connection) -> None:
            db.execute("DELETE FROM tool_policies WHERE name = ?", (name,))
            if policy:
                db.execute("INSERT INTO tool_policies (name, policy) VALUES (?, ?)", (name, policy))

        await self._db.write(work)
