"""Sweeping the uploads at the start and every hour. Knows when, not what."""

from __future__ import annotations

import asyncio
import logging

from odysseus.clock import Clock
from odysseus.errors import StoreError
from odysseus.store.uploads import UploadStore

log = logging.getLogger(__name__)

SECONDS = 3600.0


class Sweeper:
    """Owns the task that sweeps. Begin it with `start`, end it with `close`."""

    def __init__(self, uploads: UploadStore, clock: Clock) -> None:
        self._uploads = uploads
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Sweep now, and then every hour."""
        self._task = asyncio.create_task(self._go_on())

    async def close(self) -> None:
        """Sweep no more."""
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._uploads.close()

    async def _go_on(self) -> None:
        while True:
            try:
                if swept := await self._uploads.sweep():
                    log.info("deleted %d files that no message names", swept)
            except (StoreError, OSError) as error:
                log.warning("files could not be swept: %s", error)
            due = asyncio.Event()
            timer = self._clock.call_later(SECONDS, due.set)
            try:
                await due.wait()
            finally:
                timer.cancel()
