"""The page's files and the health check."""

from __future__ import annotations

from aiohttp import web

from odysseus import __version__
from odysseus.web.answers import json_answer
from odysseus.web.guard import COOKIE
from odysseus.web.release import INDEX
from odysseus.web.services import services

COOKIE_DAYS = 30


async def index(request: web.Request) -> web.StreamResponse:
    """GET / — with `?token=` it keeps the token in a cookie and drops it from the address."""
    if "token" in request.query:
        answer = web.Response(status=303, headers={"Location": "/"})
        answer.set_cookie(
            COOKIE, request.query["token"], max_age=COOKIE_DAYS * 86_400, httponly=True, samesite="Strict", path="/"
        )
        return answer
    return await services(request).assets.answer(request, INDEX)


async def static_file(request: web.Request) -> web.StreamResponse:
    """GET /static/{path}"""
    return await services(request).assets.answer(request, request.match_info["path"])


async def worker(request: web.Request) -> web.StreamResponse:
    """GET /sw.js — at the root, since a service worker sees only what lies below it."""
    return await services(request).assets.answer(request, None)


async def health(request: web.Request) -> web.StreamResponse:
    """GET /api/health"""
    services_ = services(request)
    limit = services_.config.uploads.max_file_bytes
    uptime = round(services_.clock.monotonic() - services_.started_at, 3)
    return json_answer(
        {
            "status": "ok",
            "version": __version__,
            "runs": services_.runs.count(),
            "uptime": uptime,
            "max_file_bytes": limit,
        }
    )
