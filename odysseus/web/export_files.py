"""The kept files of a conversation that leaves: small pictures for the page, entries with their bytes for JSON."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from odysseus.archive.conversation import files_of
from odysseus.errors import NotFound
from odysseus.extract.shrink import shrink
from odysseus.store.messages import Message
from odysseus.store.uploads import HEAD_BYTES, Upload, UploadStore, picture_type

PICTURE_BYTES = 300_000
"""A picture with more is made smaller."""
PICTURE_SIDE = 1024
"""Pixels of one that is made smaller."""
ALL_PICTURES = 20_000_000
"""Bytes of all pictures in a page; those beyond are named only."""
FILES_BYTES = 30_000_000
"""Bytes of all files in an exported JSON; those beyond are named only."""


class Pictures:
    """The pictures of one page, as far as there is room for them."""

    def __init__(self, uploads: UploadStore) -> None:
        self._uploads = uploads
        self._left = ALL_PICTURES

    async def of(self, batch: Sequence[Message]) -> Mapping[str, str]:
        """The pictures of these messages as data addresses, by upload id."""
        ids = dict.fromkeys(one for message in batch for one in files_of(message.metadata))
        return {one: address for one in ids if (address := await self._address(one))}

    async def _address(self, upload_id: str) -> str:
        upload = await _found(self._uploads, upload_id)
        if upload is None or self._left <= 0:
            return ""
        path = self._uploads.path(upload)
        kind = picture_type(await asyncio.to_thread(_read, path, HEAD_BYTES))
        if not kind:
            return ""
        if upload.size <= PICTURE_BYTES:
            data = await asyncio.to_thread(_read, path, PICTURE_BYTES)
        else:
            small = await shrink(path, PICTURE_SIDE, PICTURE_BYTES)
            kind, data = (small.mime, small.data) if small else ("", b"")
        self._left -= len(data)
        return f"data:{kind};base64,{base64.b64encode(data).decode()}" if data and self._left >= 0 else ""


async def entries(
    uploads: UploadStore, upload_ids: Iterable[str], *, with_bytes: bool
) -> AsyncIterator[Mapping[str, Any]]:
    """What is known of the files, with their bytes in base64 where that is wanted and there is room."""
    left = FILES_BYTES if with_bytes else 0
    for upload_id in upload_ids:
        upload = await _found(uploads, upload_id)
        if upload is None:
            continue
        entry = {name: getattr(upload, name) for name in ("id", "name", "mime", "size", "sha256")}
        if upload.size <= left:
            data = await asyncio.to_thread(_read, uploads.path(upload), upload.size)
            if len(data) == upload.size:
                left -= upload.size
                entry["data"] = base64.b64encode(data).decode()
        yield entry


async def _found(uploads: UploadStore, upload_id: str) -> Upload | None:
    try:
        return await uploads.get(upload_id)
    except NotFound:
        return None


def _read(path: Path, most: int) -> bytes:
    """The file's beginning; empty when its bytes are gone."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        return b""
