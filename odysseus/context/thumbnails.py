"""Small pictures of kept ones, for the page: made once, in a process that can be killed, and kept beside the bytes.

Knows no request. Without the library for pictures a picture stands for itself.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from weakref import WeakValueDictionary

from odysseus.errors import NotFound
from odysseus.extract.shrink import can_shrink, shrink
from odysseus.store.uploads import Upload, UploadStore

WIDTHS = (128, 256, 512, 1024)
"""Pixels of the longest side; others are rounded up, so that few are kept of a picture."""
MOST_BYTES = 200_000
SMALL_BYTES = 20_000
"""A picture of no more is small as it is."""
AT_ONCE = 2

_NONE = "There is no small picture of this file."


class Thumbnails:
    """One for the server."""

    def __init__(self, uploads: UploadStore) -> None:
        self._uploads = uploads
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def path(self, upload: Upload, width: int) -> Path:
        """Where a picture of about this width is. Raises NotFound where none can be made, StoreError."""
        if not upload.mime.startswith("image/"):
            raise NotFound(_NONE)
        if upload.size <= SMALL_BYTES or not can_shrink():
            return self._uploads.path(upload)
        longest = next((known for known in WIDTHS if known >= width), WIDTHS[-1])
        kept = self._uploads.thumbnail_path(upload, longest)
        async with self._locks.setdefault(kept.name, asyncio.Lock()):
            if not await asyncio.to_thread(kept.is_file):
                async with self._turns:
                    made = await shrink(self._uploads.path(upload), longest, MOST_BYTES)
                if made is None:
                    raise NotFound(_NONE)
                await self._uploads.keep_thumbnail(upload, longest, made.data)
        return kept
