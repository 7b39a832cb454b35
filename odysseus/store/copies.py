"""Whole copies of the database file: one that is made while others write, and whether one can be used."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from odysseus.errors import StoreError
from odysseus.store.db import BUSY_SECONDS, migrations, store_error

_UNUSABLE = "The database in the backup is damaged. Use another backup."


def copy_database(source: Path, target: Path) -> int:
    """Copy the state that is committed now into a new file; gives its layout's number. Raises StoreError.

    The copy is one file, without a log beside it. Writers go on meanwhile: they wait for no reader.
    """
    try:
        with closing(sqlite3.connect(source, timeout=BUSY_SECONDS)) as live, closing(sqlite3.connect(target)) as copy:
            live.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            return int(copy.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error as error:
        raise store_error(error) from error


def check_database(path: Path) -> None:
    """See that the file is a whole database of a layout that is known here. Raises StoreError."""
    try:
        with closing(sqlite3.connect(path)) as database:
            version = int(database.execute("PRAGMA user_version").fetchone()[0])
            if version > migrations()[-1][0]:
                raise StoreError("The backup was made by a newer Odysseus. Restore it with that version.")
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if version < 1 or not {"sessions", "messages", "runs"} <= tables:
                raise StoreError("The database in the backup is none of Odysseus. Use another backup.")
            if database.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                raise StoreError(_UNUSABLE)
            if database.execute("PRAGMA foreign_key_check").fetchone() is not None:
                raise StoreError(_UNUSABLE)
    except sqlite3.Error as error:
        raise StoreError(_UNUSABLE) from error
