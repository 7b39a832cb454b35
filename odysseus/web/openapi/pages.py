"""The description's two calls. The document is made at its first reading, since nobody may ever read it."""

from __future__ import annotations

import asyncio

from aiohttp import web

from odysseus.web.services import services


async def openapi(_: web.Request) -> web.StreamResponse:
    """GET /openapi.json"""
    return web.Response(
        body=await asyncio.to_thread(_document), content_type="application/json", headers={"Cache-Control": "no-cache"}
    )


async def docs(request: web.Request) -> web.StreamResponse:
    """GET /docs"""
    return await services(request).assets.answer(request, "docs.html")


def _document() -> bytes:
    from odysseus.web.openapi.document import document_bytes

    return document_bytes()
