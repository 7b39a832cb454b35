"""Kept files as they were read: from the table, or read now and put there. Knows no message and no model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from odysseus.extract.extract import DEFAULTS, extract
from odysseus.extract.kinds import BINARY, called_by
from odysseus.extract.result import Extracted, ExtractLimits
from odysseus.extract.shrink import LONGEST_SIDE, MOST_BYTES, can_shrink, shrink
from odysseus.store.file_texts import FileText, FileTextStore
from odysseus.store.uploads import Upload, UploadStore

SEEN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What every model that sees takes as it is."""
GONE = "This file is no longer there."


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A kept file and what is in it. `shown` is the picture for models that see: its bytes, or a smaller one's."""

    upload: Upload
    found: Extracted
    shown: Path | None = None

    @property
    def mime(self) -> str:
        """What it is by its content."""
        return self.found.mime or BINARY


class FileReader:
    """Reads each content once for each type that its name can say. `limits` hold for one file."""

    def __init__(self, uploads: UploadStore, texts: FileTextStore, limits: ExtractLimits = DEFAULTS) -> None:
        self._uploads = uploads
        self._texts = texts
        self._limits = limits
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def read_all(self, uploads: Sequence[Upload], *, anew: bool = False) -> Sequence[ReadFile]:
        """All of them in their order. `anew`: what could not be read, or not wholly, is tried once more."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.read(upload, anew=anew)) for upload in uploads]
        return [task.result() for task in tasks]

    async def read(self, upload: Upload, *, anew: bool = False) -> ReadFile:
        """One of them. Content that is gone or cannot be read is kind `failed` with a note. Raises StoreError."""
        if not upload.sha256:
            return ReadFile(upload, Extracted("failed", note=GONE, mime=upload.mime))
        key = (upload.sha256, called_by(upload.name))
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = await self._texts.get(*key)
            if known is None or (anew and _may_go_better(known)):
                found = await extract(self._uploads.path(upload), upload.name, self._limits)
                known = FileText(**asdict(found))
                await self._texts.put(*key, known)
            found = msgspec.convert(asdict(known), Extracted)
            return ReadFile(upload, found, await self._shown(upload, found))

    async def _shown(self, upload: Upload, found: Extracted) -> Path | None:
        """The picture for models that see, made smaller once where it must be; None when there is none to show."""
        if not found.mime.startswith("image/") or (found.kind == "failed" and can_shrink()):
            return None  # without a library for pictures one is shown that was not looked into
        path, small = self._uploads.path(upload), self._uploads.small_path(upload)
        fits = max(found.width or 0, found.height or 0) <= LONGEST_SIDE and upload.size <= MOST_BYTES
        if found.mime in SEEN and fits:
            return path
        if not await asyncio.to_thread(small.is_file):
            shrunk = await shrink(path) if can_shrink() else None
            if shrunk is None:
                return None
            await self._uploads.keep_small(upload, shrunk.data)
        return small


def _may_go_better(known: FileText) -> bool:
    """Whether it was the time, the memory or a library that was missing, which may be there now."""
    return known.kind == "failed" or (known.kind == "image" and bool(known.note))
