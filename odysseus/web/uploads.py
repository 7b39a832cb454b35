"""Uploads: files that are sent, and the bytes of a kept file.

What a file is, and what a browser may do with it, is decided by its bytes and not by its sender.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from odysseus.context.files import ReadFile
from odysseus.errors import BadRequest, NotFound
from odysseus.store.uploads import HEAD_BYTES, picture_type
from odysseus.text import clean_text
from odysseus.web.answers import json_answer
from odysseus.web.services import services
from odysseus.web.upload_parts import read_files

WIDEST = 4096
CLOSED = "default-src 'none'; sandbox; frame-ancestors 'none'"


async def upload(request: web.Request) -> web.StreamResponse:
    """POST /api/upload: all files are kept, or none. The answer comes when they are read."""
    services_ = services(request)
    async with AsyncExitStack() as incoming:
        sent = await read_files(request, services_.uploads, services_.config.uploads, incoming)
        kept = await services_.uploads.keep(sent)
    read = await services_.files.read_all(kept, anew=True)
    await services_.uploads.set_types({file.upload.id: file.mime for file in read})
    return json_answer({"files": [file_json(file) for file in read]})


def file_json(file: ReadFile) -> dict[str, Any]:
    """A kept file and what was read in it."""
    return {
        "id": file.upload.id,
        "name": file.upload.name,
        "mime": file.mime,
        "size": file.upload.size,
        "sha256": file.upload.sha256,
        "width": file.found.width,
        "height": file.found.height,
        "text_chars": len(file.found.text),
        "extraction": file.found.kind,
        "note": file.found.note,
    }


async def download(request: web.Request) -> web.StreamResponse:
    """GET /api/upload/{upload}: a picture to show, anything else as an attachment. `thumb` asks for a small picture."""
    uploads = services(request).uploads
    upload = await uploads.get(clean_text(request.match_info["upload"]))
    width = _width(request.query.get("thumb", ""))
    path = await services(request).thumbnails.path(upload, width) if width else uploads.path(upload)
    kind = picture_type(await asyncio.to_thread(_head, path))
    name = quote(upload.name or "file", safe="", errors="replace")
    return web.FileResponse(
        path,
        headers={
            "Content-Type": kind or "application/octet-stream",
            "Content-Disposition": f"{'inline' if kind else 'attachment'}; filename*=UTF-8''{name}",
            "Content-Security-Policy": CLOSED,
            "X-Content-Type-Options": "nosniff",
            # The bytes under an id never change.
            "Cache-Control": "private, max-age=31536000, immutable",
        },
    )


def _width(text: str) -> int:
    """Pixels; 0 for the picture itself. Raises BadRequest."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= WIDEST):
        raise BadRequest(f"`thumb` must be a width in pixels, from 1 to {WIDEST}.")
    return int(text)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise NotFound("The bytes of this file are gone from the data folder.") from error
