"""Files that were sent or made: a row for each, and its bytes kept once by their hash.

A file stays while a message names it, else for a day after it was last used. Knows nothing of who sent a file and what
is in it, but for the few types of pictures that a page may show.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from odysseus.clock import Clock
from odysseus.errors import NotFound, StoreError
from odysseus.store.db import Connection, Database

T = TypeVar("T")

NAME_LIMIT = 200
HEAD_BYTES = 16
"""How much of a file `picture_type` needs."""
KEPT_SECONDS = 86_400.0
"""How long a file stays that no message names."""

_INCOMING = ".new-"
_SMALL = ".small"
_HASH = re.compile(r"[0-9a-f]{64}")
_COLUMNS = "id, name, mime, size, sha256, created_at"
_PICTURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A kept file. `mime` is what it was found to be, `size` is in bytes, `created_at` in epoch seconds.

    One without a hash is gone: only what a message says of it is known.
    """

    id: str
    name: str
    mime: str
    size: int
    sha256: str
    created_at: float


NONE_KNOWN: Mapping[str, Upload] = {}


class Incoming:
    """A file on its way in: written and hashed as it comes, never whole in memory."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.path = path
        self.size = 0
        self._file = file
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Of what has come so far."""
        return self._hash.hexdigest()

    async def write(self, data: bytes) -> None:
        """Add a piece. Raises StoreError."""
        self.size += len(data)
        await asyncio.to_thread(self._write, data)

    async def finish(self) -> None:
        """See that it is on the disk. Raises StoreError."""
        await asyncio.to_thread(self._finish)

    def close(self) -> None:
        """Let go of the file; what was not kept is gone."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise _not_saved(error) from error
        self._hash.update(data)

    def _finish(self) -> None:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _not_saved(error) from error


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that has come whole, with what it is called."""

    name: str
    mime: str
    file: Incoming


def picture_type(head: bytes) -> str:
    """The type of a picture that is safe to show, by its first bytes; empty for everything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _PICTURES if head.startswith(begin)), "")


class UploadStore:
    """Reads and writes uploads. `folder` is made with the first of them."""

    def __init__(self, db: Database, folder: Path, clock: Clock) -> None:
        self._db = db
        self._folder = folder
        self._clock = clock
        self._lock = asyncio.Lock()  # a file that is being kept is not swept away before its row is there
        self._tasks: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def incoming(self) -> AsyncIterator[Incoming]:
        """A new file to write to; it is gone afterwards unless it was kept. Raises StoreError."""
        file = await asyncio.to_thread(_new_file, self._folder)
        try:
            yield file
        finally:
            file.close()

    async def add(self, name: str, mime: str, data: bytes) -> Upload:
        """Keep bytes under a new id that nobody can guess. Raises StoreError."""
        async with self.incoming() as file:
            await file.write(data)
            return (await self.keep([Sent(name, mime, file)]))[0]

    async def keep(self, sent: Sequence[Sent]) -> Sequence[Upload]:
        """Keep files that have come whole, all or none, each under a new id. Raises StoreError."""
        for one in sent:
            await one.file.finish()
        now = self._clock.wall()
        uploads = [
            Upload(secrets.token_hex(16), one.name[:NAME_LIMIT], one.mime[:NAME_LIMIT], one.file.size, digest, now)
            for one, digest in ((one, one.file.sha256) for one in sent)
        ]
        await self._alone(self._keep(sent, uploads))
        return uploads

    async def get(self, upload_id: str) -> Upload:
        """The upload. Raises NotFound."""
        row = await self._db.read_one(f"SELECT {_COLUMNS} FROM uploads WHERE id = ?", (upload_id,))
        if row is None:
            raise _no_file()
        return Upload(**dict(row))

    async def use(self, upload_ids: Sequence[str], known: Mapping[str, Upload] = NONE_KNOWN) -> Sequence[Upload]:
        """The uploads in this order, each once; from now on they stay for another day.

        Raises NotFound for any that is not there, unless something stands for it in `known`.
        """
        wanted, now = list(dict.fromkeys(upload_ids)), self._clock.wall()

        def work(db: Connection) -> Sequence[Upload]:
            found = []
            for upload_id in wanted:
                db.execute("UPDATE uploads SET used_at = ? WHERE id = ?", (now, upload_id))
                row = db.execute(f"SELECT {_COLUMNS} FROM uploads WHERE id = ?", (upload_id,)).fetchone()
                if not row and upload_id not in known:
                    raise _no_file()
                found.append(Upload(**dict(row)) if row else known[upload_id])
            return found

        return await self._db.write(work) if wanted else []

    async def set_types(self, types: Mapping[str, str]) -> None:
        """Say what the uploads with these ids were found to be."""

        def work(db: Connection) -> None:
            db.executemany(
                "UPDATE uploads SET mime = ? WHERE id = ?", [(mime, upload_id) for upload_id, mime in types.items()]
            )

        await self._db.write(work)

    def path(self, upload: Upload) -> Path:
        """Where its bytes are."""
        return self._place(upload.sha256)

    def small_path(self, upload: Upload) -> Path:
        """Where a smaller picture made of it is, if there is one; it goes with the bytes."""
        return self.path(upload).with_suffix(_SMALL)

    async def keep_small(self, upload: Upload, data: bytes) -> None:
        """Keep a smaller picture made of it. Raises StoreError."""
        await self._put(self.small_path(upload), data)

    def thumbnail_path(self, upload: Upload, longest: int) -> Path:
        """Where a picture of so many pixels made of it is, if there is one; it goes with the bytes."""
        return self.path(upload).with_suffix(f".{longest}")

    async def keep_thumbnail(self, upload: Upload, longest: int, data: bytes) -> None:
        """Keep a picture of so many pixels made of it. Raises StoreError."""
        await self._put(self.thumbnail_path(upload, longest), data)

    async def _put(self, path: Path, data: bytes) -> None:
        async with self.incoming() as file:
            await file.write(data)
            await file.finish()
            await asyncio.to_thread(_move, file, path)

    async def forget(self, upload_ids: Sequence[str]) -> None:
        """Delete those of them at once that no message names."""

        def work(db: Connection) -> None:
            db.executemany("UPDATE uploads SET used_at = 0 WHERE id = ?", [(one,) for one in upload_ids])

        await self._db.write(work)
        await self.sweep()

    async def sweep(self) -> int:
        """Delete what no message names and nobody has used for a day, bytes and read text too; gives how many."""
        return await self._alone(self._sweep())

    async def close(self) -> None:
        """Let what is under way finish."""
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    def _place(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    async def _alone(self, work: Coroutine[Any, Any, T]) -> T:
        """Nothing else is kept or swept meanwhile. It finishes in any case; a cancelled caller leaves no sooner."""

        async def locked() -> T:
            async with self._lock:
                return await work

        task = asyncio.create_task(locked())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])  # the caller's files are needed until then
            raise

    async def _keep(self, sent: Sequence[Sent], uploads: Sequence[Upload]) -> None:
        for one, upload in zip(sent, uploads, strict=True):
            await asyncio.to_thread(_move, one.file, self.path(upload))

        def work(db: Connection) -> None:
            db.executemany(
                f"INSERT INTO uploads ({_COLUMNS}, used_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
                [(one.id, one.name, one.mime, one.size, one.sha256, one.created_at) for one in uploads],
            )

        await self._db.write(work)

    async def _sweep(self) -> int:
        until = self._clock.wall() - KEPT_SECONDS

        def work(db: Connection) -> int:
            cursor = db.execute(
                """DELETE FROM uploads WHERE used_at <= ?
                   AND NOT EXISTS (SELECT 1 FROM message_uploads WHERE upload_id = uploads.id)
                   AND id NOT IN (SELECT place FROM library_sources WHERE kind = 'upload')""",
                (until,),
            )
            db.execute("DELETE FROM file_texts WHERE sha256 NOT IN (SELECT sha256 FROM uploads)")
            return cursor.rowcount

        deleted = await self._db.write(work)
        rows = await self._db.read("SELECT DISTINCT sha256 FROM uploads")
        await asyncio.to_thread(_remove_others, self._folder, {row[0] for row in rows}, until)
        return deleted


def _no_file() -> NotFound:
    return NotFound("There is no such file. It may have been deleted.")


def _not_saved(error: OSError) -> StoreError:
    if error.errno == errno.ENOSPC:
        return StoreError("The disk is full: the file was not saved. Free some space, then try again.", status=507)
    return StoreError("The file could not be saved. See that the disk has space and the data folder can be written.")


def _new_file(folder: Path) -> Incoming:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=_INCOMING)  # only its owner can read it
    except OSError as error:
        raise _not_saved(error) from error
    return Incoming(os.fdopen(handle, "wb"), Path(name))


def _move(file: Incoming, path: Path) -> None:
    """The file is in its place whole or not at all, also after a crash."""
    try:
        if not (path.is_file() and path.stat().st_size == file.size):
            path.parent.mkdir(exist_ok=True)
            file.path.replace(path)
    except OSError as error:
        raise _not_saved(error) from error


def _remove_others(folder: Path, digests: Collection[str], until: float) -> None:
    """Remove bytes that no row has, and what a crash left of files on their way in."""
    for path in folder.rglob("*"):
        digest = path.name.partition(".")[0]
        unknown = _HASH.fullmatch(digest) and digest not in digests
        left = path.name.startswith(_INCOMING) and path.is_file() and path.stat().st_mtime <= until
        if left or (unknown and path.is_file()):
            path.unlink(missing_ok=True)
