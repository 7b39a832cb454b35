"""The real application on a real loopback socket, with a client that reads streams as the seed says."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from upstream import Upstream

from odysseus.app import Place, make_app
from odysseus.clock import Clock
from odysseus.config import Config, load_config
from odysseus.web.services import SERVICES, Services

GUARD = 10.0


class HandClock:
    """A clock that moves only when the test says so; its timers go off in order."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self._timers: list[HandTimer] = []

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> HandTimer:
        timer = HandTimer(self.now + seconds, callback)
        self._timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Move on, and call back what has come due."""
        end = self.now + seconds
        while due := [timer for timer in self._timers if timer.at <= end and not timer.cancelled]:
            first = min(due, key=lambda timer: timer.at)
            self._timers.remove(first)
            self.now = max(self.now, first.at)
            first.callback()
        self.now = end


@dataclass(eq=False)
class HandTimer:
    """A pending call of a HandClock."""

    at: float
    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass(frozen=True)
class Frame:
    """One frame as it came: its number if it had one, its event name, and its data, parsed unless it is [DONE]."""

    raw: bytes
    event: str
    data: Any
    number: int | None = None

    @property
    def kind(self) -> str:
        """`delta`, the `type`, `[DONE]` or `error`."""
        if self.event == "error":
            return "error"
        if self.data == "[DONE]":
            return "[DONE]"
        return "delta" if "delta" in self.data else str(self.data["type"])


def parse_frame(raw: bytes) -> Frame:
    """Bytes up to a blank line, as a frame."""
    event, data, number = "message", "", None
    for line in raw.decode().split("\n"):
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            data += value
        elif name == "id":
            number = int(value)
    return Frame(raw, event, data if data == "[DONE]" else json.loads(data), number)


class Stream:
    """A stream being read. Comments are kept apart from frames."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.frames: list[Frame] = []
        self.comments: list[str] = []
        self._rest = b""

    @property
    def run_id(self) -> str:
        return self.response.headers.get("X-Odysseus-Run-Id", "")

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(f.data["delta"] for f in self.frames if f.kind == "delta" and not f.data.get("thinking"))

    @property
    def kinds(self) -> list[str]:
        """The frames' kinds in order, deltas in a row told once."""
        kinds = [frame.kind for frame in self.frames]
        return [kind for i, kind in enumerate(kinds) if kind != "delta" or i == 0 or kinds[i - 1] != "delta"]

    def one(self, kind: str) -> Any:
        """The data of the only frame of a kind."""
        found = [frame.data for frame in self.frames if frame.kind == kind]
        assert len(found) == 1, f"{len(found)} {kind} frames"
        return found[0]

    @property
    def record(self) -> Any:
        """The terminal record."""
        found = [f.data["data"] for f in self.frames if f.kind in {"chat_terminal", "agent_terminal"}]
        assert len(found) == 1, f"{len(found)} terminal frames"
        return found[0]

    async def until(self, done: Callable[[Stream], bool]) -> Stream:
        """Read until `done` is true."""
        async with asyncio.timeout(GUARD):
            while not done(self):
                if not await self._read():
                    raise AssertionError(f"the stream ended early: {self.kinds}")
        return self

    async def until_text(self, text: str) -> Stream:
        """Read until the answer holds `text`."""
        return await self.until(lambda stream: text in stream.text)

    async def rest(self, guard: float = GUARD) -> Stream:
        """Read to the end."""
        async with asyncio.timeout(guard):
            while await self._read():
                pass
        assert not self._rest, f"half a frame at the end: {self._rest!r}"
        return self

    async def _read(self) -> bool:
        data = await self.response.content.readany()
        *whole, self._rest = (self._rest + data).split(b"\n\n")
        for raw in whole:
            if raw.startswith(b":"):
                self.comments.append(raw.decode())
            else:
                self.frames.append(parse_frame(raw))
        return bool(data)


@dataclass
class Server:
    """A running application and a client for it."""

    url: str
    http: aiohttp.ClientSession
    services: Services
    data: Path
    open: list[aiohttp.ClientResponse] = field(default_factory=list)

    async def session(self, **fields: Any) -> str:
        """A new session's id."""
        return str((await self.post("/api/session", fields))["id"])

    async def send(self, session: str, message: str = "hello", *, query: str = "", **fields: Any) -> Stream:
        """POST a message; the stream is open and not read yet."""
        body = {"session": session, "message": message, **fields}
        return await self.stream("POST", f"/api/chat_stream{query}", json=body)

    async def resume(self, session: str, query: str = "", **kwargs: Any) -> Stream:
        """Resume the session's run."""
        return await self.stream("GET", f"/api/chat/resume/{session}{query}", **kwargs)

    async def stream(self, method: str, path: str, **kwargs: Any) -> Stream:
        response = await self.http.request(method, self.url + path, **kwargs)
        self.open.append(response)
        assert response.status == 200, await response.text()
        return Stream(response)

    async def stop(self, session: str, run_id: str) -> bool:
        headers = {"X-Odysseus-Run-Id": run_id}
        async with self.http.post(f"{self.url}/api/chat/stop/{session}", headers=headers) as response:
            assert response.status == 200
            return bool((await response.json())["stopped"])

    async def get(self, path: str, status: int = 200) -> Any:
        return await self.call("GET", path, status)

    async def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        return await self.call("POST", path, status, json=body if body is not None else {})

    async def call(self, method: str, path: str, status: int = 200, **kwargs: Any) -> Any:
        """A JSON call that must answer `status`."""
        async with self.http.request(method, self.url + path, **kwargs) as response:
            assert response.status == status, f"{response.status}: {await response.text()}"
            return await response.json()

    async def history(self, session: str) -> list[dict[str, Any]]:
        """The session's messages."""
        return list((await self.get(f"/api/history/{session}"))["history"])


def upstream_config(base_url: str, *, window: Any = 0, **sections: Any) -> Config:
    """Settings with one endpoint, the scripted upstream. `window` is its model's, 0 is not known."""
    lines = ['[chat]\nendpoint = "up"\nmodel = "fake-model"\n' if "chat" not in sections else ""]
    for section, values in sections.items():
        lines.append(f"[{section}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
    lines.append(f'[[endpoints]]\nid = "up"\nkind = "openai"\nlabel = "Upstream"\nbase_url = "{base_url}"\n')
    lines.append(f"context_length = {window}\n")
    return config_of("\n".join(lines))


def agent_config(upstream: Upstream, **agent: Any) -> Config:
    """Settings with one named agent, `support`, on the scripted upstream."""
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in agent.items())
    return config_of(
        f'[chat]\nendpoint = "up"\nmodel = "fake-model"\n[agents.support]\n{lines}'
        f'[[endpoints]]\nid = "up"\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
    )


def config_of(toml: str) -> Config:
    """Settings from TOML text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.toml"
        path.write_text(toml, "utf-8")
        return load_config(path, {})


@asynccontextmanager
async def serving(config: Config, data: Path, clock: Clock | None = None, token: str = "") -> AsyncIterator[Server]:
    """The application, served until the block ends; then everything is closed as on a shutdown."""
    data.mkdir(parents=True, exist_ok=True)
    app = make_app(config, Place(data, "127.0.0.1", token), clock)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as http:
        server = Server(f"http://{host}:{port}", http, app[SERVICES], data)
        try:
            yield server
        finally:
            for response in server.open:
                response.close()
            await runner.cleanup()
