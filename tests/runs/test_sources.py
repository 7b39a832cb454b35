"""What a question is given is asked for within its run, and given up with it."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import Any

import pytest

from odysseus.runs.sources import Budget, ContextWish, Sources


async def _silent(*_: Any, **__: Any) -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize("turns", range(6))
async def test_a_question_that_is_given_up_at_any_moment_leaves_nothing_half_begun(turns: int) -> None:
    none: Any = None
    sources = Sources((none, none), (none, none), (none, Budget(1, 1)), _silent, _silent)
    task = asyncio.create_task(sources.gather("Where?", ContextWish(use_web=True), [], sees=False))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    del task
    gc.collect()  # what was never awaited is told of here, as a warning, and so as an error
