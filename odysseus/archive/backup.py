"""The data folder as one file: the database as it is at one moment, and every kept file. Not the models.

It may be made while a server runs on the folder. Knows the folder's layout by its exceptions only.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from odysseus import __version__
from odysseus.archive.folder import DATABASE, FORMAT, MANIFEST, VERSION, entries, interrupted
from odysseus.errors import BadRequest
from odysseus.store.copies import copy_database


@dataclass(frozen=True, slots=True)
class Made:
    """A backup: its size in bytes, how many files it holds, and how many could not be read."""

    size: int
    files: int
    left_out: int


def make_backup(data: Path, target: Path) -> Made:
    """Write the backup, whole or not at all, readable by this user only. Raises BadRequest, StoreError."""
    _check(data, target)
    try:
        descriptor, draft = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                files, left_out = _write(data, file, target.parent)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            os.replace(draft, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise BadRequest(f"The backup {target} cannot be written: {error.strerror}.") from error
    return Made(size, files, left_out)


def _check(data: Path, target: Path) -> None:
    if not (data / DATABASE).is_file():
        raise BadRequest(f"There is nothing to back up in {data}. Name the data folder with --data.")
    if interrupted(data):
        raise BadRequest(
            "A restore of this data folder was cut off. Start the server once, which ends it; then back up."
        )
    if target.exists():
        raise BadRequest(f"{target} exists already. Choose another name.")
    if not target.parent.is_dir():
        raise BadRequest(f"There is no folder {target.parent}.")
    if target.parent.resolve().is_relative_to(data):
        raise BadRequest("Put the backup outside of the data folder.")


def _write(data: Path, file: BinaryIO, beside: Path) -> tuple[int, int]:
    """Database first: what is kept later is not named in it, and does no harm. Gives files and those left out."""
    count = left_out = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, strict_timestamps=False) as archive:
        with tempfile.TemporaryDirectory(prefix="odysseus-backup-", dir=beside) as folder:
            copy = Path(folder) / DATABASE
            layout = copy_database(data / DATABASE, copy)
            manifest = {"format": FORMAT, "version": VERSION, "odysseus": __version__, "layout": layout}
            manifest["made_at"] = int(time.time())
            archive.writestr(MANIFEST, json.dumps(manifest))
            archive.write(copy, DATABASE, zipfile.ZIP_DEFLATED, 1)
        for path in _files(data):
            try:
                archive.write(path, path.relative_to(data).as_posix())
                count += 1
            except (FileNotFoundError, PermissionError, UnicodeEncodeError, ValueError):
                left_out += 1  # it went meanwhile, or is no file that a zip can hold
    return count, left_out


def _files(data: Path) -> Iterator[Path]:
    """Every regular file that belongs to the backup, but for the database. Links are not followed."""
    for entry in entries(data):
        if entry.name.startswith(DATABASE) or entry.is_symlink():
            continue
        if entry.is_file():
            yield entry
        for folder, _, names in os.walk(entry) if entry.is_dir() else ():
            paths = (Path(folder) / name for name in names if not name.startswith(".new-"))
            yield from (path for path in paths if path.is_file() and not path.is_symlink())
