"""Work that nobody waits for, and that makes way: one piece for each endpoint, cancelled when a run wants it.

Knows neither what the work is nor who wants the endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Asides:
    """Owns the tasks. The work has to see to its own errors."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, endpoint_id: str, work: Coroutine[Any, Any, None]) -> None:
        """Do this now, in place of what is under way at the endpoint."""
        self._cancel(endpoint_id)
        task = asyncio.create_task(work)
        self._tasks[endpoint_id] = task
        task.add_done_callback(lambda done: self._forget(endpoint_id, done))

    async def make_way(self, endpoint_id: str) -> None:
        """End what is under way there; returns when it has let go."""
        if task := self._cancel(endpoint_id):
            await asyncio.wait([task])

    async def close(self) -> None:
        """End all of it."""
        tasks = [task for task in map(self._cancel, list(self._tasks)) if task]
        if tasks:
            await asyncio.wait(tasks)

    def _cancel(self, endpoint_id: str) -> asyncio.Task[None] | None:
        task = self._tasks.get(endpoint_id)
        if task:
            task.cancel()
        return task

    def _forget(self, endpoint_id: str, done: asyncio.Task[None]) -> None:
        if self._tasks.get(endpoint_id) is done:
            del self._tasks[endpoint_id]
