"""Endpoints that the user added while the server ran; those of config.toml are not here."""

from __future__ import annotations

from collections.abc import Sequence

from odysseus.config import EndpointConfig
from odysseus.store.db import Connection, Database


class EndpointStore:
    """Reads and writes added endpoints. Their keys stay in the database and never leave the server."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def list(self) -> Sequence[EndpointConfig]:
        """All, in the order they were added."""
        rows = await self._db.read("SELECT id, label, kind, base_url, api_key FROM endpoints ORDER BY rowid")
        return [EndpointConfig(id=row[0], label=row[1], kind=row[2], base_url=row[3], api_key=row[4]) for row in rows]

    async def add(self, endpoint: EndpointConfig) -> None:
        """Keep an endpoint."""
        values = (endpoint.id, endpoint.label, endpoint.kind, endpoint.base_url, endpoint.api_key)

        def work(db: Connection) -> None:
            db.execute("INSERT INTO endpoints (id, label, kind, base_url, api_key) VALUES (?, ?, ?, ?, ?)", values)

        await self._db.write(work)

    async def replace(self, endpoint: EndpointConfig) -> None:
        """Put an endpoint in the place of the one with its id."""
        values = (endpoint.label, endpoint.kind, endpoint.base_url, endpoint.api_key, endpoint.id)

        def work(db: Connection) -> None:
            db.execute("UPDATE endpoints SET label = ?, kind = ?, base_url = ?, api_key = ? WHERE id = ?", values)

        await self._db.write(work)

    async def remove(self, endpoint_id: str) -> None:
        """Forget an endpoint with its key."""

        def work(db: Connection) -> None:
            db.execute("DELETE FROM endpoints WHERE id = ?", (endpoint_id,))

        await self._db.write(work)
