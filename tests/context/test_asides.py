"""Work at the side makes way at once, for its own endpoint only."""

from __future__ import annotations

import asyncio

from odysseus.context.asides import Asides


class Work:
    """Work that goes on until it is cancelled, and takes a moment to let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = False

    async def go_on(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.ended = True


async def test_work_makes_way_for_its_own_endpoint() -> None:
    asides, first, second = Asides(), Work(), Work()
    asides.begin("a", first.go_on())
    asides.begin("b", second.go_on())
    await first.begun.wait()
    await asides.make_way("none")
    await asides.make_way("a")
    assert (first.ended, second.ended) == (True, False)
    await asides.make_way("a")
    await asides.close()
    assert second.ended


async def test_new_work_takes_the_place_of_the_old() -> None:
    asides, old, new = Asides(), Work(), Work()
    asides.begin("a", old.go_on())
    await old.begun.wait()
    asides.begin("a", new.go_on())
    await new.begun.wait()
    assert (old.ended, new.ended) == (True, False)
    await asides.make_way("a")
    assert new.ended


async def test_work_that_is_done_is_forgotten() -> None:
    asides, done = Asides(), asyncio.Event()

    async def work() -> None:
        done.set()

    asides.begin("a", work())
    await done.wait()
    await asides.make_way("a")
    await asides.close()
