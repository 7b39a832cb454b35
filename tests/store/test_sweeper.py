"""Sweeping: at the start, every hour, and also after it went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from serving import GUARD

from odysseus.store.db import Connection
from odysseus.store.sweeper import SECONDS, Sweeper
from odysseus.store.uploads import KEPT_SECONDS, UploadStore
from store.databases import Stores


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(GUARD):
        while not done():
            await asyncio.sleep(0)


async def run_sql(stores: Stores, sql: str) -> None:
    def work(db: Connection) -> None:
        db.execute(sql)

    await stores.db.write(work)


@asynccontextmanager
async def sweeping(stores: Stores, uploads: UploadStore) -> AsyncIterator[None]:
    """A sweeper that has swept once and waits for its hour."""
    sweeper = Sweeper(uploads, stores.clock)
    sweeper.start()
    try:
        await until(lambda: bool(stores.clock._timers))
        yield
    finally:
        await sweeper.close()


async def test_it_sweeps_at_the_start_and_every_hour(stores: Stores, tmp_path: Path) -> None:
    uploads = UploadStore(stores.db, tmp_path / "uploads", stores.clock)
    old = await uploads.add("a", "", b"a")
    stores.clock.advance(KEPT_SECONDS)
    new = await uploads.add("b", "", b"b")
    async with sweeping(stores, uploads):
        assert (uploads.path(old).exists(), uploads.path(new).exists()) == (False, True)
        for _ in range(int(KEPT_SECONDS / SECONDS) - 1):
            stores.clock.advance(SECONDS)
            await until(lambda: bool(stores.clock._timers))
        assert uploads.path(new).exists()
        stores.clock.advance(SECONDS)
        await until(lambda: not uploads.path(new).exists())


async def test_it_goes_on_after_a_sweep_that_failed(
    stores: Stores, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    uploads = UploadStore(stores.db, tmp_path / "uploads", stores.clock)
    old = await uploads.add("a", "", b"a")
    stores.clock.advance(KEPT_SECONDS)
    await run_sql(stores, "ALTER TABLE file_texts RENAME TO hidden")
    async with sweeping(stores, uploads):
        assert "could not be swept" in caplog.text
        assert uploads.path(old).exists()
        await run_sql(stores, "ALTER TABLE hidden RENAME TO file_texts")
        stores.clock.advance(SECONDS)
        await until(lambda: not uploads.path(old).exists())
