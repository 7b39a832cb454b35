"""Clients as cheap as Python has them: raw asyncio protocols that keep what came and when. Reading comes afterwards."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from bisect import bisect_left
from itertools import accumulate
from typing import Any, cast

from benchmarks.plan import Plan

GUARD_SECONDS = 60.0
DELTA = re.compile(rb'data: \{"delta":"([^"]*)"\}\n\n')
"""A text frame of the chat stream."""
CONTENT = re.compile(rb'"content":"([^"]+)"')
"""The text in a frame of the model server."""


Pieces = list[tuple[float, bytes]]
"""Reads of a connection, each with its time."""


class Reader(asyncio.Protocol):
    """One connection. `pieces` are the reads, each with its time."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._marker = b""
        self._missing = 0
        self._tail = b""
        self._found: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.pieces: Pieces = []
        self.begun_at = 0.0
        self.ended_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.begun_at = time.monotonic()
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self.pieces.append((time.monotonic(), data))
        if self._found is not None:
            self._look(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended_at = time.monotonic()
        self._closed.set_result(None)
        if self._found is not None and not self._found.done():
            self._found.set_exception(ConnectionResetError(self.body[-300:]))

    def _look(self, data: bytes) -> None:
        assert self._found is not None
        seen = self._tail + data
        self._missing -= seen.count(self._marker)
        self._tail = seen[max(0, len(seen) - len(self._marker) + 1) :]
        if self._missing <= 0:
            self._found.set_result(None)
            self._found = None

    async def until(self, marker: bytes, times: int = 1) -> None:
        """Wait until `marker` has come so many times since the beginning."""
        self._marker, self._missing, self._tail = marker, times, b""
        found = self._found = asyncio.get_running_loop().create_future()
        self._look(self.body)
        async with asyncio.timeout(GUARD_SECONDS):
            await found

    async def end(self) -> Reader:
        """Wait until the server has closed the connection."""
        async with asyncio.timeout(GUARD_SECONDS):
            await self._closed
        return self

    @property
    def seconds(self) -> float:
        """From the request to the end."""
        return self.ended_at - self.begun_at

    @property
    def body(self) -> bytes:
        """All that came, head and chunk lengths too."""
        return b"".join(data for _, data in self.pieces)

    @property
    def frames(self) -> int:
        """How many frames came."""
        return self.body.count(b"\n\n")

    def arrivals(self, pattern: re.Pattern[bytes]) -> list[tuple[float, bytes]]:
        """When each match was whole, and its first group."""
        return arrivals(self.pieces, pattern)

    def delays(self, pattern: re.Pattern[bytes] = DELTA) -> dict[bytes, float]:
        """Seconds from each frame's send time, which is its text, to its arrival."""
        return {text: at - float(text) for at, text in self.arrivals(pattern)}


def arrivals(pieces: Pieces, pattern: re.Pattern[bytes]) -> list[tuple[float, bytes]]:
    """When each match in the reads of one connection was whole, and its first group."""
    ends = list(accumulate(len(data) for _, data in pieces))
    found = pattern.finditer(b"".join(data for _, data in pieces))
    return [(pieces[bisect_left(ends, match.end())][0], match[1]) for match in found]


def request(method: str, path: str, body: Any = None, **headers: str) -> bytes:
    """A request as bytes; the answer ends with the connection."""
    content = json.dumps(body).encode() if body is not None else b""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", f"Content-Length: {len(content)}"]
    lines += ["Content-Type: application/json"] if body is not None else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


async def connect(port: int, data: bytes, receive_buffer: int = 0) -> Reader:
    """Send a request. With `receive_buffer` the kernel keeps only so many bytes for this client."""
    sock = socket.socket()
    sock.setblocking(False)
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, ("127.0.0.1", port))
    _, reader = await loop.create_connection(lambda: Reader(data), sock=sock)
    return reader


async def call(port: int, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """A JSON call. Raises RuntimeError for anything but success."""
    reader = await connect(port, request(method, path, body, **headers))
    head, _, content = (await reader.end()).body.partition(b"\r\n\r\n")
    if b" 200 " not in head[:20]:
        raise RuntimeError(f"{path}: {head[:40]!r} {content[:300]!r}")
    return json.loads(content)


async def new_session(port: int) -> str:
    """A new session's id."""
    return str((await call(port, "POST", "/api/session", {}))["id"])


async def send(port: int, session: str, plan: Plan) -> Reader:
    """Start a run that plays `plan`; the stream is open."""
    return await connect(port, send_request(session, plan))


def send_request(session: str, plan: Plan) -> bytes:
    """The request that starts a run."""
    return request("POST", "/api/chat_stream", {"session": session, "message": plan.message})


async def ask_model(port: int, plan: Plan) -> Reader:
    """Ask the model server itself."""
    body = {"model": "fake-model", "stream": True, "messages": [{"role": "user", "content": plan.message}]}
    return await connect(port, request("POST", "/v1/chat/completions", body))


def run_id(body: bytes) -> str:
    """The run's id, from the head of its stream."""
    found = re.search(rb"X-Odysseus-Run-Id: (\w+)", body, re.IGNORECASE)
    assert found, body[:300]
    return found[1].decode()
