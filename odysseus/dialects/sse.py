"""Event streams on a socket: the response, its heartbeat, and the loop that writes a subscription to it.

Frames arrive as finished bytes. A client that has read everything gets new ones written straight to its socket; one
that is behind is served in slices, each with a time limit, and never holds up a run.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion11
from aiohttp_sse import EventSourceResponse

from odysseus.runs.log import Subscription

SLICE_BYTES = 73_728
"""What is written at once at most, and so what a client that does not read costs in memory."""


class EventStream(EventSourceResponse):
    """aiohttp-sse's response with a heartbeat that only fills silence, and writes of ready frames."""

    def __init__(
        self,
        *,
        heartbeat: float,
        send_timeout: float,
        headers: Mapping[str, str],
        comment: bytes = b": heartbeat %d\n\n",
    ) -> None:
        super().__init__(headers=headers, allow_all_methods=True, send_timeout=send_timeout, ping_interval=heartbeat)
        del self.headers["Connection"]  # aiohttp knows better which connections stay
        self._heartbeat = heartbeat
        self._comment = comment
        self._send_seconds = send_timeout
        self._transport: asyncio.Transport | None = None
        self._writer: AbstractStreamWriter | None = None
        self._chunked = False
        self._last_write = 0.0

    async def prepare(self, request: web.BaseRequest) -> Any:
        """Send the headers."""
        if request.version < HttpVersion11:
            self.force_close()  # without chunks only the closed connection says that the stream is over
        self._writer = await super().prepare(request)
        self._last_write = time.monotonic()
        self._chunked = request.version >= HttpVersion11
        self._transport = request.transport
        if self._transport is not None:
            _bound_buffers(self._transport)
        return self._writer

    def push(self, frames: bytes) -> bool:
        """Write frames at once, as a chunk of the response, if everything before them has left; else False."""
        transport = self._transport
        if (
            transport is None
            or len(frames) > SLICE_BYTES
            or transport.is_closing()
            or transport.get_write_buffer_size()
        ):
            return False
        self.write_frames(frames)
        return True

    def write_frames(self, frames: bytes) -> bool:
        """Hand frames to the socket, as a chunk of the response; False when there are none.

        Nobody holds them after that but the socket, which a client that does not read then costs. Raises
        ConnectionResetError when the client is gone.
        """
        if not frames:
            return False
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the client is gone")
        self._transport.write(b"%x\r\n%b\r\n" % (len(frames), frames) if self._chunked else frames)
        self._last_write = time.monotonic()
        return True

    async def drain(self) -> None:
        """Wait until the client has room again.

        Raises ConnectionResetError when it is gone or has not read for the send timeout.
        """
        assert self._writer is not None
        try:
            async with asyncio.timeout(self._send_seconds):
                await self._writer.drain()
        except TimeoutError as error:
            self._abort_transport()
            raise ConnectionResetError("the client does not read") from error

    async def _ping(self) -> None:
        """A comment after every `heartbeat` seconds without a frame. It is no part of the run and has no number."""
        count, due = 0, self._last_write + self._heartbeat
        while True:
            await asyncio.sleep(max(due - time.monotonic(), 0.001))
            if time.monotonic() >= (due := self._last_write + self._heartbeat):
                count += 1
                with suppress(ConnectionResetError, RuntimeError):
                    self.write_frames(self._comment % count if b"%d" in self._comment else self._comment)
                    await self.drain()
                due = self._last_write + self._heartbeat


def _bound_buffers(transport: asyncio.Transport) -> None:
    """Have a client that does not read show at once: keep little for it here, and little unsent in the kernel."""
    transport.set_write_buffer_limits(high=0)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, SLICE_BYTES)


NextBytes = Callable[[], Awaitable[bytes]]
"""The next bytes for a client; empty at the end of the stream."""


async def serve(request: web.Request, stream: EventStream, next_bytes: NextBytes) -> web.StreamResponse:
    """Write all that `next_bytes` gives. Returns early when the client is gone."""
    with suppress(ConnectionResetError):
        await stream.prepare(request)
        async with stream:
            while stream.write_frames(await next_bytes()):
                await stream.drain()
                await asyncio.sleep(0)
        await stream.write_eof()
    return stream


def frame_reader(subscription: Subscription, *, ids: bool) -> NextBytes:
    """Slices of a subscription's ready frames, with `id:` lines where asked for."""

    async def next_bytes() -> bytes:
        while not subscription.ended:
            lost = subscription.skip_gap()
            frames = subscription.take_frames(SLICE_BYTES)
            if frames or lost:
                first = subscription.cursor - len(frames) + 1
                return (gap_frame(*lost) if lost else b"") + (numbered(frames, first) if ids else b"".join(frames))
            await subscription.wait()
        return b""

    return next_bytes


def numbered(frames: list[bytes], first: int) -> bytes:
    """Frames with their numbers before them."""
    return b"".join(b"id: %d\n%b" % (number, frame) for number, frame in enumerate(frames, first))


def data_frame(value: object) -> bytes:
    """One frame of the default event."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


def gap_frame(first: int, last: int) -> bytes:
    """Frames `first` to `last` have left the buffer (chat stream, section 6)."""
    return data_frame({"type": "replay_gap", "from": first, "to": last})
