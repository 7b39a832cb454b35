"""The database file: one writer, one reader, whole transactions, numbered migrations.

A write is a plain function that gets the writer's connection inside `BEGIN IMMEDIATE`; it commits when the function
returns and rolls back when it raises. The whole of it runs in one go in the writer's thread, where it may block, so
writes come one after the other, and a caller that is cancelled leaves its write to finish. Knows no table.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from odysseus.errors import StoreError
from odysseus.text import plain

log = logging.getLogger(__name__)

T = TypeVar("T")
Row = sqlite3.Row
Connection = sqlite3.Connection

BUSY_SECONDS = 5.0

# At debug level it writes every statement with its values: the user's words and the keys of endpoints.
logging.getLogger("aiosqlite").setLevel(logging.WARNING)


class _Worker(aiosqlite.Connection):
    """A connection and its thread. The library goes there and back for each statement, which most are not worth."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Call `work` with the connection in its thread, after all that was asked before."""
        result: T = await self._execute(work, self._conn)  # type: ignore[no-untyped-call]
        return result


class Database:
    """An open database. Make one with `open`, end it with `close`."""

    def __init__(self, writer: _Worker, reader: _Worker) -> None:
        self._writer = writer
        self._reader = reader

    @classmethod
    async def open(cls, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> Database:
        """Open or create the file and bring it to the current layout. Raises StoreError."""
        opened: list[_Worker] = []
        try:
            # The file holds the keys of endpoints; SQLite gives its companions the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            opened.append(await _connect(path, busy_seconds))
            await opened[0].run(_migrate)
            opened.append(await _connect(path, busy_seconds))
            await opened[1].execute("PRAGMA query_only = ON")
        except (OSError, sqlite3.Error, StoreError) as error:
            for connection in opened:
                await connection.close()
            raise store_error(error) from error
        return cls(opened[0], opened[1])

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` as one transaction and give its result. Raises StoreError; then nothing of it is stored."""
        return await self._writer.run(partial(_transact, work))

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
        await self._reader.close()
        await self._writer.close()


def _transact(work: Callable[[Connection], T], connection: Connection) -> T:
    try:
        connection.execute("BEGIN IMMEDIATE")
        result = work(connection)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        _roll_back(connection)
        raise store_error(error) from error
    except BaseException:
        _roll_back(connection)
        raise
    return result


def _roll_back(connection: Connection) -> None:
    # SQLite has already rolled back after some errors (a full disk); then this one says that nothing is open.
    with suppress(sqlite3.OperationalError):
        connection.execute("ROLLBACK")


async def _connect(path: Path, busy_seconds: float) -> _Worker:
    connect = partial(sqlite3.connect, path, timeout=busy_seconds, isolation_level=None)
    connection = _Worker(connect, iter_chunk_size=1)
    await connection
    try:
        await connection.run(_prepare)
    except BaseException:
        await connection.close()  # its thread would keep the process alive
        raise
    return connection


def _prepare(connection: Connection) -> None:
    connection.row_factory = sqlite3.Row
    # SQLite's own lower() knows ASCII only.
    connection.create_function("fold", 1, str.casefold, deterministic=True)
    connection.create_function("plain", 1, plain, deterministic=True)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise StoreError("The data folder is on a file system that cannot hold the database (no write-ahead log).")


def migrations() -> list[tuple[int, str]]:
    """The numbered layouts, oldest first, each with its SQL."""
    folder = files("odysseus.store") / "migrations"
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name.split("_")[0]), entry.read_text("utf-8")) for entry in found)


def _migrate(connection: Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    steps = migrations()
    if version > steps[-1][0]:
        raise StoreError("The database was written by a newer Odysseus. Use that version, or another data folder.")
    for number, sql in steps:
        if number > version:
            connection.executescript(f"BEGIN;\n{sql}\nPRAGMA user_version = {number};\nCOMMIT;")


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
