"""Stores what the going runs have said, in one transaction, so that a crash costs at most a second of text."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection

from odysseus.errors import StoreError
from odysseus.runs.run import Run
from odysseus.store.runs import Piece, RunStore

log = logging.getLogger(__name__)


class Checkpointer:
    """Ticks while `going` gives runs. Twice as often as promised, since the write itself takes time too."""

    def __init__(self, store: RunStore, going: Callable[[], Collection[Run]], seconds: float) -> None:
        self._store = store
        self._going = going
        self._pause = seconds / 2
        self._begun = asyncio.Event()
        self._task = asyncio.create_task(self._tick(), name="checkpoints")

    def begin(self) -> None:
        """A run has started."""
        self._begun.set()

    async def close(self) -> None:
        """Stop ticking."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _tick(self) -> None:
        while True:
            await self._begun.wait()
            await asyncio.sleep(self._pause)
            if self._going():
                await self.save(self._going())  # kept in no variable, which would hold the runs until the next tick
            else:
                self._begun.clear()

    async def save(self, runs: Collection[Run]) -> None:
        """Store what is new in these runs. A run whose text cannot be stored is failed, not left to go on unsaved."""
        grown = [(run, run.draft.mark(), *run.draft.unsaved()) for run in runs]
        grown = [entry for entry in grown if any(entry[2:])]
        pieces = [Piece(run.id, text, thinking, steps) for run, _, text, thinking, steps in grown]
        if not pieces:
            return
        try:
            await self._store.checkpoint(pieces)
        except StoreError as error:
            log.exception("a checkpoint could not be stored")
            for run, *_ in grown:
                run.fail(error)
            return
        for run, mark, *_ in grown:
            run.draft.mark_saved(mark)
