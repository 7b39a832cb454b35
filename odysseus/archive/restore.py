"""A backup back into a data folder that nobody else uses: checked whole beside it, then put in place.

What is moved is written down first, so that a restore which is cut off is ended by whoever locks the folder next. Until
the note is there the old data is untouched; from then on the new data will be in place.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from odysseus.archive.folder import ASIDE, DATABASE, FORMAT, JOURNAL, MANIFEST, STAGED, VERSION, entries, stays
from odysseus.errors import BadRequest
from odysseus.store.copies import check_database

MOST_FILES = 1_000_000
MOST_TIMES = 100
"""How many times larger than the file its content may be, beside `SPARE`."""
SPARE = 100_000_000
CHUNK = 1 << 20
_UNREADABLE = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, ValueError, RuntimeError)
"""What `zipfile` raises over bytes that are none of its own, and over ways to pack that it does not know."""
_BROKEN = "The file is no whole backup of Odysseus. Use another one."


def restore(data: Path, source: Path) -> Path | None:
    """Put the backup in the place of the data; gives where the old data is, None when there was none.

    The caller holds the folder's lock. Raises BadRequest, StoreError; then the data is as it was.
    """
    if not source.is_file():
        raise BadRequest(f"There is no file {source}.")
    staged = Path(tempfile.mkdtemp(prefix=STAGED, dir=data))
    try:
        _unpack(source, staged, shutil.disk_usage(data).free)
        check_database(staged / DATABASE)
        _sync(staged)
        aside = _note(data, staged)
    except OSError as error:
        shutil.rmtree(staged, ignore_errors=True)
        raise BadRequest(f"The backup cannot be unpacked: {error.strerror}.") from error
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    finish_restore(data)
    return aside


def finish_restore(data: Path) -> None:
    """End a restore that was cut off, and remove what one has left that never came so far. The caller has the lock."""
    note = data / JOURNAL
    if note.exists():
        told = json.loads(note.read_text("utf-8"))
        staged, aside = data / told["staged"], data / told["aside"]
        if told["out"]:
            aside.mkdir(mode=0o700, exist_ok=True)
        for name in told["out"]:
            if os.path.lexists(data / name) and not os.path.lexists(aside / name):
                os.replace(data / name, aside / name)
        for name in told["in"]:
            if (staged / name).exists():
                os.replace(staged / name, data / name)
        _sync_folder(data)
        note.unlink()
    for left in data.glob(f"{STAGED}*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink()


def _unpack(source: Path, staged: Path, free: int) -> None:
    try:
        with zipfile.ZipFile(source) as archive:
            _check_manifest(archive)
            members = [one for one in archive.infolist() if one.filename != MANIFEST and not one.is_dir()]
            _check_members(members, source.stat().st_size, free)
            for member in members:
                _extract(archive, member, staged / member.filename)
    except _UNREADABLE as error:
        raise BadRequest(_BROKEN) from error


def _check_manifest(archive: zipfile.ZipFile) -> None:
    try:
        member = archive.getinfo(MANIFEST)
        told = json.loads(archive.read(member)) if member.file_size < 65_536 else {}
    except (KeyError, ValueError) as error:
        raise BadRequest(_BROKEN) from error
    if not isinstance(told, dict) or told.get("format") != FORMAT or not isinstance(told.get("version"), int):
        raise BadRequest(_BROKEN)
    if told["version"] > VERSION:
        raise BadRequest("The backup was made by a newer Odysseus. Restore it with that version.")


def _check_members(members: Sequence[zipfile.ZipInfo], size: int, free: int) -> None:
    """Names that stay within the folder, each once, regular files only, and no more bytes than there is room for."""
    names = [member.filename for member in members]
    if len(members) > MOST_FILES or len(set(names)) != len(names):
        raise BadRequest(_BROKEN)
    if DATABASE not in names:
        raise BadRequest(_BROKEN)
    for member in members:
        mode = member.external_attr >> 16
        if not _is_inside(member.filename) or (stat.S_IFMT(mode) and not stat.S_ISREG(mode)):
            raise BadRequest("The backup holds a file that would lie outside of the data folder. It was not restored.")
    total = sum(member.file_size for member in members)
    if total > size * MOST_TIMES + SPARE:
        raise BadRequest("The backup would unpack to far more than it can hold. It was not restored.")
    if total > free:
        raise BadRequest(f"The disk has {free / 1e6:,.0f} MB free; the backup needs {total / 1e6:,.0f} MB.")


def _is_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    plain = "\\" not in name and "\0" not in name and ":" not in name.split("/", maxsplit=1)[0]
    beside = parts and parts[0] != DATABASE and parts[0].startswith(DATABASE)
    return (
        bool(parts) and plain and not name.startswith("/") and ".." not in parts and not stays(parts[0]) and not beside
    )


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = 0o600 | ((member.external_attr >> 16) & 0o100)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as out, archive.open(member) as packed:
        shutil.copyfileobj(packed, out, CHUNK)


def _note(data: Path, staged: Path) -> Path | None:
    """Write down what is to be moved: from then on the restore will be ended, whatever happens."""
    out = [entry.name for entry in entries(data)]
    name = ASIDE + time.strftime("%Y%m%d-%H%M%S")
    aside = next(
        path for number in range(1, 1000) if not (path := data / f"{name}{f'-{number}' * (number > 1)}").exists()
    )
    told = {"staged": staged.name, "aside": aside.name, "out": out, "in": [entry.name for entry in staged.iterdir()]}
    draft = staged.with_suffix(".json")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(told, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, data / JOURNAL)
    _sync_folder(data)
    return aside if out else None


def _sync(folder: Path) -> None:
    """See that the unpacked files are on the disk before the old ones go."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
