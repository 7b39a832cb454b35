"""Answers as JSON, and handlers that finish what they began even when the client leaves."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_UNFINISHED: set[asyncio.Task[web.StreamResponse]] = set()


def json_answer(value: Any, status: int = 200) -> web.Response:
    """`value` as JSON."""
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def completes(handler: Handler) -> Handler:
    """A change runs to its end although its client disconnects in the middle."""

    @functools.wraps(handler)
    async def shielded(request: web.Request) -> web.StreamResponse:
        async def handle() -> web.StreamResponse:
            return await handler(request)

        task = asyncio.create_task(handle())
        _UNFINISHED.add(task)
        task.add_done_callback(_UNFINISHED.discard)
        return await asyncio.shield(task)

    return shielded
