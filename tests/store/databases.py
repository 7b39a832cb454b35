"""A real database in a temporary folder, with its stores, for the tests of the store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from serving import HandClock

from odysseus.store.db import Connection, Database
from odysseus.store.messages import Message, MessageStore, append_message, new_message_id
from odysseus.store.runs import RunStore
from odysseus.store.sessions import Session, SessionStore

GUARD = 10.0


class Gate:
    """Where a write waits inside its transaction: `inside` says that it came there, `go` lets it pass."""

    def __init__(self) -> None:
        self.inside = asyncio.Event()
        self.go = threading.Event()
        self._loop = asyncio.get_running_loop()

    def wait(self) -> None:
        """Called by the write, in the database's thread."""
        self._loop.call_soon_threadsafe(self.inside.set)
        assert self.go.wait(GUARD)


@dataclass(frozen=True)
class Stores:
    """Everything that writes to one database."""

    db: Database
    clock: HandClock
    sessions: SessionStore
    messages: MessageStore
    runs: RunStore

    async def session(self, name: str = "") -> Session:
        """A new session."""
        return await self.sessions.create(name=name, endpoint_id="up", model="m", mode="chat")

    async def say(self, session_id: str, *contents: str, role: str = "user") -> list[str]:
        """Add messages at the end of a session; gives their ids."""
        made = [
            Message(
                new_message_id(), session_id, 0, "user" if role == "user" else "assistant", text, {}, self.clock.now
            )
            for text in contents
        ]

        def work(db: Connection) -> None:
            for message in made:
                append_message(db, message)

        await self.db.write(work)
        return [message.id for message in made]

    async def said(self, session_id: str) -> list[str]:
        """What the session holds, oldest first."""
        return [message.content for message in await self.messages.all(session_id)]


@asynccontextmanager
async def opened(path: Path, *, busy_seconds: float = 5.0) -> AsyncIterator[Stores]:
    """The stores of the database at `path`."""
    db, clock = await Database.open(path, busy_seconds=busy_seconds), HandClock()
    try:
        yield Stores(db, clock, SessionStore(db, clock), MessageStore(db, clock), RunStore(db, clock))
    finally:
        await db.close()
