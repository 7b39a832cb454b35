"""Many runs, one after another and at once: when they are over and evicted, nothing of them is left.

`ODYSSEUS_LOAD=10000 pytest tests/runs/test_load.py -s` does it by hand with as many runs.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from serving import HandClock, Server, serving, upstream_config
from upstream import Upstream

from odysseus.dialects.sse import EventStream
from odysseus.runs.log import RunLog, Subscription
from odysseus.runs.run import Run

OWN = (Run, RunLog, Subscription, EventStream)
RUNS = int(os.environ.get("ODYSSEUS_LOAD", "100"))
AT_ONCE = 500
GUARD_SECONDS = 20.0


class TidyClock(HandClock):
    """A hand clock that lets go of the timers that were taken back, as the real loop does."""

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        self._timers = [timer for timer in self._timers if not timer.cancelled]


def alive() -> Counter[str]:
    """How many of the server's own objects there are."""
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, OWN))


def sockets() -> int:
    """How many connections this process has."""
    return len(psutil.Process().net_connections("tcp"))


@dataclass(frozen=True)
class Ground:
    """What there is while no run goes on."""

    objects: Mapping[str, int]
    tasks: int
    sockets: int

    @classmethod
    def now(cls) -> Ground:
        return cls(alive(), len(asyncio.all_tasks()), sockets())

    def holds(self, now: Ground) -> bool:
        """Whether there is nothing more now."""
        return now.objects == self.objects and now.tasks <= self.tasks and now.sockets <= self.sockets

    async def is_reached_again(self, server: Server, clock: TidyClock) -> None:
        """Wait for the end of all runs and connections, evict the runs, and find nothing left of them."""
        end = asyncio.get_running_loop().time() + GUARD_SECONDS
        while server.services.runs.count() or not self.holds(Ground.now()):
            if not server.services.runs.count():  # one that still goes on would be silent for too long
                clock.advance(1000)
            assert asyncio.get_running_loop().time() < end, f"{self} before, {Ground.now()} now"
            await asyncio.sleep(0.1)  # a checkpoint may still hold what it has just stored


async def one(server: Server, session: str, number: int) -> str:
    """One whole run; gives its status."""
    stream = await (await server.send(session, f"question {number}")).rest()
    return str(stream.record["status"])


async def test_runs_one_after_another_leave_nothing(upstream: Upstream, tmp_path: Path) -> None:
    clock = TidyClock()
    async with serving(upstream_config(upstream.base_url), tmp_path, clock) as server:
        sessions = [await server.session() for _ in range(50)]
        await one(server, sessions[0], 0)
        clock.advance(1000)
        ground, memory = Ground.now(), psutil.Process().memory_info().rss
        for number in range(RUNS):
            assert await one(server, sessions[number % 50], number) == "completed"
            server.open.clear()
            upstream.requests.clear()
            clock.advance(1)
        await ground.is_reached_again(server, clock)
        print(f"\n{RUNS} runs: {memory >> 20} MB before, {psutil.Process().memory_info().rss >> 20} MB after")


@pytest.mark.parametrize(
    ("leave", "count"), [(False, AT_ONCE), (True, 100)], ids=["read to the end", "all clients leave"]
)
async def test_many_runs_at_once_leave_nothing(
    upstream: Upstream, tmp_path: Path, leave: bool, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock = TidyClock()
    async with serving(upstream_config(upstream.base_url), tmp_path, clock) as server:
        sessions = [await server.session() for _ in range(count)]
        ground = Ground.now()
        streams = await asyncio.gather(*(server.send(session) for session in sessions))
        if leave:
            for stream in streams:
                stream.response.close()
        else:
            await asyncio.gather(*(stream.rest() for stream in streams))
            assert {stream.record["status"] for stream in streams} == {"completed"}
        server.open.clear()
        await server.http.close()
        await ground.is_reached_again(server, clock)
        rows = await server.services.db.read("SELECT status, count(*) FROM runs GROUP BY status")
        assert [tuple(row) for row in rows] == [("completed", count)]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
