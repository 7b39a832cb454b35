"""A client that writes bytes of its own choice to the server's socket and reads what comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from serving import GUARD, Server


@dataclass(frozen=True)
class Answer:
    """An answer as it came: its status line, its headers in lower case, its body."""

    version: str
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Socket:
    """One open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def until(self, end: bytes) -> bytes:
        """Read up to these bytes."""
        async with asyncio.timeout(GUARD):
            return await self.reader.readuntil(end)

    async def rest(self) -> bytes:
        """Read until the server closes."""
        async with asyncio.timeout(GUARD):
            return await self.reader.read()

    async def head(self) -> Answer:
        """Read a status line and headers."""
        lines = (await self.until(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        pairs = (line.partition(": ") for line in lines[1:] if line)
        return Answer(version, int(status), {name.lower(): value for name, _, value in pairs}, b"")

    async def answer(self) -> Answer:
        """Read an answer whose body has a length, is chunked, or ends with the connection."""
        head = await self.head()
        async with asyncio.timeout(GUARD):
            if head.headers.get("transfer-encoding") == "chunked":
                body = await self._chunks()
            elif "content-length" in head.headers:
                body = await self.reader.readexactly(int(head.headers["content-length"]))
            else:
                body = await self.reader.read()
        return Answer(head.version, head.status, head.headers, body)

    async def _chunks(self) -> bytes:
        body = b""
        while size := int((await self.reader.readuntil(b"\r\n"))[:-2], 16):
            body += await self.reader.readexactly(size)
            assert await self.reader.readexactly(2) == b"\r\n"
        assert await self.reader.readexactly(2) == b"\r\n"
        return body


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Socket]:
    """A connection to the server."""
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
    try:
        yield Socket(reader, writer)
    finally:
        writer.transport.abort()


def get(path: str, *headers: str, version: str = "1.1", method: str = "GET") -> bytes:
    """A request without a body."""
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: localhost", *headers, "", ""]).encode()


def post(path: str, fields: Any, *headers: str, version: str = "1.1") -> bytes:
    """A request with a JSON body."""
    body = json.dumps(fields).encode()
    more = ("Content-Type: application/json", f"Content-Length: {len(body)}", *headers)
    return get(path, *more, version=version, method="POST") + body
