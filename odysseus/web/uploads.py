"""Uploads: the bytes of a kept file. What a browser may do with them is decided by the bytes, not by their sender."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from odysseus.errors import NotFound
from odysseus.store.uploads import HEAD_BYTES, picture_type
from odysseus.text import clean_text
from odysseus.web.services import services

CLOSED = "default-src 'none'; sandbox; frame-ancestors 'none'"


async def download(request: web.Request) -> web.StreamResponse:
    """GET /api/upload/{upload}: a picture to show, anything else as an attachment."""
    uploads = services(request).uploads
    upload = await uploads.get(clean_text(request.match_info["upload"]))
    path = uploads.path(upload)
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


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise NotFound("The bytes of this file are gone from the data folder.") from error
