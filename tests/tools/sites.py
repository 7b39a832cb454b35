"""Real web servers on loopback for the tests of the web tools: each path plays what it is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Play = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Site:
    """A server at `origin`. Set `pages[path]`; `requests` holds what came."""

    host: str
    port: int = 0
    pages: dict[str, Play] = field(default_factory=dict)
    requests: list[web.Request] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def exempt(self) -> str:
        """Its entry in `[web] allow_hosts`."""
        return f"{self.host}:{self.port}"

    def page(self, path: str, body: str | bytes, content_type: str = "text/html; charset=utf-8", **over: object) -> str:
        """Serve a body with this very Content-Type; gives the address."""
        headers = {"Content-Type": content_type} if content_type else {}
        headers.update({name.replace("_", "-"): str(value) for name, value in over.items()})
        raw = body.encode() if isinstance(body, str) else body
        return self.play(path, _answer(200, headers, raw))

    def redirect(self, path: str, location: str, status: int = 302) -> str:
        """Serve a redirect to just this text; gives the address."""
        return self.play(path, _answer(status, {"Location": location}, b"moved"))

    def play(self, path: str, play: Play) -> str:
        """Let a handler answer; gives the address."""
        self.pages[path] = play
        return self.origin + path


def _answer(status: int, headers: Mapping[str, str], body: bytes) -> Play:
    async def play(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers=headers)
        if "Content-Type" not in headers:
            response.headers["Content-Type"] = ""
        await response.prepare(request)
        await response.write(body)
        return response

    return play


@asynccontextmanager
async def serve_site(host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Site]:
    """A running server."""
    site = Site(host)

    async def handle(request: web.Request) -> web.StreamResponse:
        site.requests.append(request)
        found = site.pages.get(request.path)
        if found is None:
            raise web.HTTPNotFound(text="SECRET of an unknown path")
        return await found(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()
