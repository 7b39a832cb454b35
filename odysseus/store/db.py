"""The database file: one writer, one reader, whole transactions, numbered migrations.

A write is a function that gets the writer's connection inside `BEGIN IMMEDIATE`; it commits when the function returns
and rolls back when it raises. A caller that is cancelled leaves its write to finish. Knows no table.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from odysseus.errors import StoreError

log = logging.getLogger(__name__)

T = TypeVar("T")
Row = sqlite3.Row
Connection = aiosqlite.Connection

BUSY_SECONDS = 5.0

# At debug level it writes every statement with its values: the user's words and the keys of endpoints.
logging.getLogger("aiosqlite").setLevel(logging.WARNING)


class Database:
    """An open database. Make one with `open`, end it with `close`."""

    def __init__(self, writer: Connection, reader: Connection) -> None:
        self._writer = writer
        self._reader = reader
        self._lock = asyncio.Lock()
        self._writes: set[asyncio.Task[Any]] = set()

    @classmethod
    async def open(cls, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> Database:
        """Open or create the file and bring it to the current layout. Raises StoreError."""
        opened: list[Connection] = []
        try:
            # The file holds the keys of endpoints; SQLite gives its companions the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            opened.append(await _connect(path, busy_seconds))
            await _migrate(opened[0])
            opened.append(await _connect(path, busy_seconds))
            await opened[1].execute("PRAGMA query_only = ON")
        except (OSError, sqlite3.Error, StoreError) as error:
            for connection in opened:
                await connection.close()
            raise store_error(error) from error
        return cls(opened[0], opened[1])

    async def write(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` as one transaction and give its result. Raises StoreError; then nothing of it is stored."""
        task = asyncio.create_task(self._transact(work))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)

    async def read(self, sql: str, parameters: Iterable[Any] | Mapping[str, Any] = ()) -> list[Row]:
        """All rows of a query, from the last committed state. Raises StoreError."""
        try:
            return list(await self._reader.execute_fetchall(sql, parameters))
        except (sqlite3.Error, ValueError) as error:  # aiosqlite says by ValueError that it is closed
            raise store_error(error) from error

    async def read_one(self, sql: str, parameters: Iterable[Any] | Mapping[str, Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        rows = await self.read(sql, parameters)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Let the writes under way finish, then close both connections."""
        while self._writes:
            await asyncio.wait(set(self._writes))
        await self._reader.close()
        await self._writer.close()

    async def _transact(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async with self._lock:
            try:
                await self._writer.execute("BEGIN IMMEDIATE")
                result = await work(self._writer)
                await self._writer.execute("COMMIT")
            except sqlite3.Error as error:
                await self._roll_back()
                raise store_error(error) from error
            except BaseException:
                await self._roll_back()
                raise
            return result

    async def _roll_back(self) -> None:
        # SQLite has already rolled back after some errors (a full disk); then this one says that nothing is open.
        with suppress(sqlite3.OperationalError):
            await self._writer.execute("ROLLBACK")


async def _connect(path: Path, busy_seconds: float) -> Connection:
    connection = await aiosqlite.connect(path, timeout=busy_seconds, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        # SQLite's own lower() knows ASCII only.
        await connection.create_function("fold", 1, str.casefold, deterministic=True)
        await connection.execute("PRAGMA foreign_keys = ON")
        await connection.execute("PRAGMA synchronous = NORMAL")
        async with connection.execute("PRAGMA journal_mode = WAL") as cursor:
            row = await cursor.fetchone()
        if row is None or row[0] != "wal":
            raise StoreError("The data folder is on a file system that cannot hold the database (no write-ahead log).")
    except BaseException:
        await connection.close()  # its thread would keep the process alive
        raise
    return connection


def migrations() -> list[tuple[int, str]]:
    """The numbered layouts, oldest first, each with its SQL."""
    folder = files("odysseus.store") / "migrations"
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name.split("_")[0]), entry.read_text("utf-8")) for entry in found)


async def _migrate(connection: Connection) -> None:
    async with connection.execute("PRAGMA user_version") as cursor:
        row = await cursor.fetchone()
    version = int(row[0]) if row else 0
    steps = migrations()
    if version > steps[-1][0]:
        raise StoreError("The database was written by a newer Odysseus. Use that version, or another data folder.")
    for number, sql in steps:
        if number > version:
            await connection.executescript(f"BEGIN;\n{sql}\nPRAGMA user_version = {number};\nCOMMIT;")


def store_error(error: Exception) -> StoreError:
    """SQLite's error in words for a user."""
    if isinstance(error, StoreError):
        return error
    text = str(error).lower()
    if "full" in text or "no space" in text:
        return StoreError("The disk is full: nothing more can be saved. Free some space, then try again.", status=507)
    if "locked" in text or "busy" in text:
        return StoreError("The database is locked by another program. Close it, then try again.", status=503)
    if isinstance(error, OSError) or "readonly" in text or "unable to open" in text:
        return StoreError("The database cannot be written. Check the data folder's permissions.")
    if "malformed" in text or "not a database" in text:
        return StoreError("The database file is damaged. Restore a backup, or start with another data folder.")
    log.error("SQLite says: %s", error)
    return StoreError("The database could not be read or written. The log has the reason.")
