"""The database file: migrations, whole transactions, one writer, other programs on the same file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
from pathlib import Path

import aiosqlite
import pytest

from odysseus.errors import StoreError
from odysseus.store.db import Connection, Database, migrations, store_error
from store.databases import Gate, Stores, opened


async def count(stores: Stores) -> int:
    rows = await stores.db.read("SELECT count(*) FROM sessions")
    return int(rows[0][0])


def layout(path: Path) -> list[tuple[str, str]]:
    """Every table, index and trigger of a closed database."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT type, name FROM sqlite_schema ORDER BY name").fetchall()
    connection.close()
    return rows


async def test_a_new_file_gets_the_newest_layout_once(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite3"
    async with opened(path) as stores:
        assert (await stores.db.read("PRAGMA user_version"))[0][0] == migrations()[-1][0]
        assert (await stores.db.read("PRAGMA journal_mode"))[0][0] == "wal"
        assert (await stores.db.read("PRAGMA foreign_keys"))[0][0] == 1
        session = await stores.session("kept")
    made = layout(path)
    async with opened(path) as stores:
        assert (await stores.sessions.get(session.id)).name == "kept"
    assert layout(path) == made
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


async def test_an_empty_file_of_version_0_is_brought_up(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite3"
    sqlite3.connect(path).close()
    async with opened(path) as stores:
        assert await count(stores) == 0


async def test_migrations_are_numbered_without_holes() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


async def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE runs (a)")
    connection.close()
    before = layout(path)
    with pytest.raises(StoreError):
        await Database.open(path)
    assert layout(path) == before


@pytest.mark.parametrize("version", [99, 2**31 - 1])
async def test_a_newer_file_is_left_alone(tmp_path: Path, version: int) -> None:
    path = tmp_path / "db.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(StoreError, match="newer Odysseus"):
        await Database.open(path)
    assert layout(path) == []


@pytest.mark.parametrize("keep", [0.3, 0.9], ids=["the head and no more", "nearly all"])
async def test_a_cut_file_is_told_as_damaged_and_not_changed(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "db.sqlite3"
    async with opened(path) as stores:
        for number in range(20):
            await stores.session(f"name {number} " * 200)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(StoreError, match="damaged"):  # noqa: PT012 - it shows at the open or at the first read
        async with opened(path) as stores:
            await stores.sessions.list()
            await stores.db.read("PRAGMA quick_check")
            await stores.sessions.list("name")
    assert len(path.read_bytes()) == int(len(whole) * keep)


async def test_fifty_writers_at_once_lose_nothing(stores: Stores) -> None:
    session = await stores.session()

    async def writer(number: int) -> None:
        for turn in range(20):
            await stores.say(session.id, f"{number} {turn}")

    await asyncio.gather(*(writer(number) for number in range(50)))
    said = await stores.said(session.id)
    assert sorted(said) == sorted(f"{number} {turn}" for number in range(50) for turn in range(20))
    for number in range(50):
        own = [text for text in said if text.startswith(f"{number} ")]
        assert own == [f"{number} {turn}" for turn in range(20)]


async def test_a_write_waits_for_another_program_that_holds_the_file(stores: Stores, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "db.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writing = asyncio.create_task(stores.session("late"))
    assert await count(stores) == 0  # the reader goes on meanwhile
    assert not writing.done()
    other.execute("COMMIT")
    other.close()
    assert (await writing).name == "late"


async def test_a_file_that_stays_locked_is_one_clear_error_and_works_again_afterwards(tmp_path: Path) -> None:
    async with opened(tmp_path / "db.sqlite3", busy_seconds=0.05) as stores:
        first = await stores.session("first")
        other = sqlite3.connect(tmp_path / "db.sqlite3", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another program") as told:
            await stores.session("second")
        assert told.value.status == 503
        with pytest.raises(StoreError):
            await stores.sessions.change(first.id, {"name": "changed"})
        assert (await stores.sessions.get(first.id)).name == "first"
        other.execute("ROLLBACK")
        other.close()
        await stores.session("third")
        assert {session.name for session in await stores.sessions.list()} == {"first", "third"}


async def test_a_locked_file_at_the_start_is_told_and_the_next_start_works(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite3"
    async with opened(path) as stores:
        await stores.session("kept")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="locked by another program"):
        await Database.open(path, busy_seconds=0.05)
    other.close()
    async with opened(path) as stores:
        assert await count(stores) == 1


async def test_a_write_that_raises_is_taken_back_whole(stores: Stores) -> None:
    session = await stores.session()

    def work(db: Connection) -> None:
        db.execute("DELETE FROM sessions")
        raise ValueError("after the deed")

    with pytest.raises(ValueError, match="after the deed"):
        await stores.db.write(work)
    assert (await stores.sessions.get(session.id)).id == session.id
    await stores.session()
    assert await count(stores) == 2


async def test_a_write_with_wrong_sql_is_taken_back_whole(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    await stores.session()

    def work(db: Connection) -> None:
        db.execute("DELETE FROM sessions")
        db.execute("NONSENSE")

    with pytest.raises(StoreError) as told:
        await stores.db.write(work)
    assert "NONSENSE" not in told.value.message
    assert "NONSENSE" in caplog.text
    assert await count(stores) == 1


async def test_a_cancelled_callers_write_still_completes(stores: Stores) -> None:
    gate = Gate()

    def work(db: Connection) -> None:
        db.execute("INSERT INTO sessions (id, mode, created_at, updated_at) VALUES ('a', 'chat', 0, 0)")
        gate.wait()

    caller = asyncio.create_task(stores.db.write(work))
    await gate.inside.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    waiting = asyncio.create_task(stores.session())
    gate.go.set()
    await waiting
    assert await count(stores) == 2


async def test_a_write_runs_as_a_whole_in_the_one_thread_of_the_writer(stores: Stores) -> None:
    assert hasattr(aiosqlite.Connection, "_execute"), "aiosqlite has changed: db._Worker.run needs another way in"

    def work(db: Connection) -> tuple[int, int]:
        before = db.total_changes
        db.execute("INSERT INTO sessions (id, mode, created_at, updated_at) VALUES (hex(randomblob(8)), 'chat', 0, 0)")
        return threading.get_ident(), db.total_changes - before

    done = await asyncio.gather(*(stores.db.write(work) for _ in range(20)))
    assert {changes for _, changes in done} == {1}
    assert len({thread for thread, _ in done} - {threading.get_ident()}) == 1
    assert await count(stores) == 20


async def test_a_close_lets_the_writes_under_way_finish(tmp_path: Path) -> None:
    async with opened(tmp_path / "db.sqlite3") as stores:
        writes = [asyncio.create_task(stores.session(str(number))) for number in range(20)]
        await asyncio.sleep(0)
    assert all(write.done() and not write.exception() for write in writes)
    async with opened(tmp_path / "db.sqlite3") as stores:
        assert await count(stores) == 20


async def test_readers_see_only_what_is_committed(stores: Stores) -> None:
    gate = Gate()

    def work(db: Connection) -> None:
        db.execute("INSERT INTO sessions (id, mode, created_at, updated_at) VALUES ('a', 'chat', 0, 0)")
        gate.wait()
        db.execute("INSERT INTO sessions (id, mode, created_at, updated_at) VALUES ('b', 'chat', 0, 0)")

    writing = asyncio.create_task(stores.db.write(work))
    await gate.inside.wait()
    assert await count(stores) == 0
    gate.go.set()
    await writing
    assert await count(stores) == 2


async def test_the_reader_cannot_write(stores: Stores, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StoreError):
        await stores.db.read("DELETE FROM sessions")


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (sqlite3.OperationalError("database or disk is full"), 507, "disk is full"),
        (OSError(28, "No space left on device"), 507, "disk is full"),
        (sqlite3.OperationalError("database is locked"), 503, "locked"),
        (sqlite3.OperationalError("attempt to write a readonly database"), 500, "cannot be written"),
        (PermissionError(13, "Permission denied", "/secret/path"), 500, "cannot be written"),
        (sqlite3.DatabaseError("database disk image is malformed"), 500, "damaged"),
        (sqlite3.OperationalError("no such column: secret"), 500, "could not be read or written"),
    ],
)
def test_every_failure_has_words_for_the_user(error: Exception, status: int, words: str) -> None:
    told = store_error(error)
    assert told.status == status
    assert words in told.message
    assert "secret" not in told.message
