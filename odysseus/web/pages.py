"""The page's files and the health check."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from odysseus import __version__
from odysseus.web.answers import json_answer
from odysseus.web.guard import COOKIE
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
    return page_file(services(request).static / "index.html")


async def static_file(request: web.Request) -> web.StreamResponse:
    """GET /static/{path}"""
    root = services(request).static
    name = request.match_info["path"]
    path = (root / name).resolve() if "\x00" not in name else root
    if not path.is_relative_to(root) or not path.is_file():
        raise web.HTTPNotFound
    return page_file(path)


def page_file(path: Path) -> web.FileResponse:
    """A file that browsers ask about again each time, since the next version has the same names."""
    return web.FileResponse(path, headers={"Cache-Control": "no-cache"})


async def health(request: web.Request) -> web.StreamResponse:
    """GET /api/health"""
    services_ = services(request)
    uptime = round(services_.clock.monotonic() - services_.started_at, 3)
    return json_answer({"status": "ok", "version": __version__, "runs": services_.runs.count(), "uptime": uptime})
