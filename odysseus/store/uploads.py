"""Files that were sent or made: a row for each, and its bytes kept once by their hash.

Knows nothing of who sent a file and what is in it, but for the few types of pictures that a page may show.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path

from odysseus.clock import Clock
from odysseus.errors import NotFound, StoreError
from odysseus.store.db import Connection, Database

NAME_LIMIT = 200
HEAD_BYTES = 16
"""How much of a file `picture_type` needs."""

_PICTURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A kept file. `mime` is what its sender said of it, `size` is in bytes, `created_at` in epoch seconds."""

    id: str
    name: str
    mime: str
    size: int
    sha256: str
    created_at: float


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

    async def add(self, name: str, mime: str, data: bytes) -> Upload:
        """Keep a file under a new id that nobody can guess. Raises StoreError."""
        digest = await asyncio.to_thread(self._keep, data)
        upload = Upload(
            secrets.token_hex(16), name[:NAME_LIMIT], mime[:NAME_LIMIT], len(data), digest, self._clock.wall()
        )

        async def work(db: Connection) -> None:
            await db.execute(
                "INSERT INTO uploads (id, name, mime, size, sha256, created_at) VALUES (?, ?, ?, ?, ?, ?)",
                astuple(upload),
            )

        await self._db.write(work)
        return upload

    async def get(self, upload_id: str) -> Upload:
        """The upload. Raises NotFound."""
        row = await self._db.read_one("SELECT * FROM uploads WHERE id = ?", (upload_id,))
        if row is None:
            raise NotFound("There is no such file. It may have been deleted.")
        return Upload(**dict(row))

    def path(self, upload: Upload) -> Path:
        """Where its bytes are."""
        return self._folder / upload.sha256[:2] / upload.sha256

    def _keep(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        path = self._folder / digest[:2] / digest
        try:
            if not (path.is_file() and path.stat().st_size == len(data)):
                _write_whole(path, data)
        except OSError as error:
            raise StoreError(
                "The file could not be saved. See that the disk has space and the data folder can be written."
            ) from error
        return digest


def _write_whole(path: Path, data: bytes) -> None:
    """The file is there whole or not at all, also after a crash. Only its owner can read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
