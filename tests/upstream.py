"""A real model server on a loopback port that plays scripted replies, for tests and benchmarks.

Knows HTTP and the bytes of the OpenAI wire; must not know anything of the app.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

GUARD_SECONDS = 5.0
COUNTING = ("/tokenize", "/count_tokens")
SSE_HEADERS: Mapping[str, str] = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for an event that the test sets."""

    event: asyncio.Event


@dataclass(frozen=True, slots=True)
class Hang:
    """Stay open and silent until the client leaves."""


@dataclass(frozen=True, slots=True)
class Cut:
    """End the TCP connection in mid-body: with a reset, or with a plain close that leaves the body unfinished."""

    reset: bool = True


@dataclass(frozen=True, slots=True)
class Paced:
    """Write one frame at a time at `per_second`, on a schedule that does not drift."""

    frames: Sequence[bytes]
    per_second: float


Step = bytes | Pause | Hang | Cut | Paced


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer. `before` is played ahead of the status line."""

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: SSE_HEADERS)
    before: Sequence[Step] = ()


@dataclass(slots=True)
class Received:
    """A request as it came, and how its answer went. Times are those of the event loop."""

    path: str
    headers: Mapping[str, str]
    json: Any
    arrived_at: float
    client: tuple[str, int]
    writes: int = 0
    finished: bool = False
    disconnected_at: float | None = None


class Upstream:
    """`async with Upstream() as upstream`: point an endpoint at `upstream.base_url` and queue replies.

    Every POST is scripted whatever its path, so other wires can be played too; but there is no tokenizer (404) unless
    `counts` is set. With `respond` the answer to what is not queued depends on the request.
    `GET /v1/models` is a queue of its own.
    """

    def __init__(self) -> None:
        self.default = Reply(answer("Hello from the upstream."))
        self.models: Sequence[str] = ("fake-model",)
        self.counts = False
        self.respond: Callable[[Received], Reply] | None = None
        self.requests: list[Received] = []
        self.model_requests: list[Received] = []
        self._replies: deque[Reply] = deque()
        self._models_replies: deque[Reply] = deque()
        self._arrived: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)
        self._gone: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)
        self._open: set[asyncio.Transport] = set()
        self._port = 0

    @property
    def origin(self) -> str:
        """The address without a path, like `http://127.0.0.1:40123`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """What an OpenAI-compatible endpoint takes as its base."""
        return f"{self.origin}/v1"

    def reply(
        self,
        *steps: Step | Sequence[Step],
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        before: Sequence[Step] = (),
    ) -> Upstream:
        """Queue the answer to the next unanswered POST. Lists of steps are laid flat; returns itself to chain."""
        self._replies.append(Reply(_flat(steps), status, SSE_HEADERS if headers is None else headers, before))
        return self

    def reply_json(self, body: Any, *, status: int = 200) -> Upstream:
        """Queue a plain JSON answer."""
        return self.reply(json.dumps(body).encode(), status=status, headers={"Content-Type": "application/json"})

    def models_reply(self, *steps: Step, status: int = 200, before: Sequence[Step] = ()) -> Upstream:
        """Queue the answer to the next GET of the models in place of the list of `self.models`."""
        self._models_replies.append(Reply(steps, status, {"Content-Type": "application/json"}, before))
        return self

    async def arrived(self, index: int = 0) -> Received:
        """Wait until POST number `index` is here."""
        async with asyncio.timeout(GUARD_SECONDS):
            await self._arrived[index].wait()
        return self.requests[index]

    async def disconnected(self, index: int = 0) -> float:
        """Wait until the client of POST number `index` left before its answer was whole; the loop time of that."""
        async with asyncio.timeout(GUARD_SECONDS):
            await self._gone[index].wait()
        gone = self.requests[index].disconnected_at
        assert gone is not None
        return gone

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_post("/{path:.*}", self._play)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for transport in self._open:
            transport.abort()
        await self._runner.cleanup()

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        received = await _receive(request)
        self.model_requests.append(received)
        if self._models_replies:
            return await _write(request, self._models_replies.popleft(), received)
        listed = [{"id": name, "object": "model", "owned_by": "upstream"} for name in self.models]
        return web.json_response({"object": "list", "data": listed})

    def _usual(self, received: Received) -> Reply:
        return self.respond(received) if self.respond else self.default

    async def _play(self, request: web.Request) -> web.StreamResponse:
        if request.path.endswith(COUNTING) and not self.counts:
            return web.json_response({"error": "there is nothing here"}, status=404)
        transport = _transport(request)
        self._open.add(transport)
        received = await _receive(request)
        index = len(self.requests)
        self.requests.append(received)
        reply = self._replies.popleft() if self._replies else self._usual(received)
        self._arrived[index].set()
        try:
            response = await _write(request, reply, received)
            received.finished = True
            return response
        finally:
            self._open.discard(transport)
            if not received.finished:
                received.disconnected_at = asyncio.get_running_loop().time()
                self._gone[index].set()


def _flat(steps: Iterable[Step | Sequence[Step]]) -> list[Step]:
    found: list[Step] = []
    for step in steps:
        if isinstance(step, bytes | Pause | Hang | Cut | Paced):
            found.append(step)
        else:
            found.extend(step)
    return found


async def _receive(request: web.Request) -> Received:
    body = await request.read()
    parsed = json.loads(body) if body else None
    client = _transport(request).get_extra_info("peername")
    return Received(request.path, request.headers, parsed, asyncio.get_running_loop().time(), client)


def _transport(request: web.Request) -> asyncio.Transport:
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client left")
    return transport


async def _write(request: web.Request, reply: Reply, received: Received) -> web.StreamResponse:
    for step in reply.before:
        await _wait(step, request)
    response = web.StreamResponse(status=reply.status, headers=reply.headers)
    await response.prepare(request)
    for step in reply.steps:
        if isinstance(step, bytes):
            await response.write(step)
            received.writes += 1
        elif isinstance(step, Paced):
            await _write_paced(response, step, received)
        else:
            await _wait(step, request)
    await response.write_eof()
    return response


async def _write_paced(response: web.StreamResponse, step: Paced, received: Received) -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    for number, frame in enumerate(step.frames):
        delay = start + number / step.per_second - loop.time()
        if delay > 0:
            await asyncio.sleep(delay)
        await response.write(frame)
        received.writes += 1


async def _wait(step: Step, request: web.Request) -> None:
    if isinstance(step, Pause):
        await step.event.wait()
    elif isinstance(step, Cut):
        _cut(_transport(request), reset=step.reset)
        await asyncio.Future()
    elif isinstance(step, Hang):
        await asyncio.Future()
    else:
        raise TypeError(f"{step!r} cannot come before the headers")


def _cut(transport: asyncio.Transport, *, reset: bool) -> None:
    if reset:
        raw: socket.socket = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    else:
        transport.close()


# The usual bytes of an OpenAI-compatible stream.

DONE = b"data: [DONE]\n\n"


def frame(body: Any) -> bytes:
    """One SSE event that holds `body` as JSON."""
    return b"data: " + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def chunk(delta: Any, finish_reason: str | None = None, **more: Any) -> bytes:
    """One `chat.completion.chunk` with this delta."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "fake-model"}
    return frame({**head, "choices": [choice], **more})


def text_chunk(text: str) -> bytes:
    """A piece of the answer."""
    return chunk({"content": text})


def reasoning_chunk(text: str, name: str = "reasoning_content") -> bytes:
    """A piece of the reasoning, under the name that the server gives it."""
    return chunk({name: text})


def finish(reason: str = "stop") -> bytes:
    """The last chunk of the answer."""
    return chunk({}, reason)


def usage(prompt: int = 12, completion: int = 34, **details: Any) -> bytes:
    """The chunk that holds the token counts and no choice."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **details}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "fake-model"}
    return frame({**head, "choices": [], "usage": counts})


def answer(text: str, pieces: int = 4) -> list[bytes]:
    """A whole good answer: role, the text in `pieces`, the end, the usage, the sentinel."""
    size = max(1, -(-len(text) // pieces))
    parts = [text_chunk(text[start : start + size]) for start in range(0, len(text), size)]
    return [chunk({"role": "assistant", "content": ""}), *parts, finish(), usage(12, len(parts)), DONE]


def flood(frames: int, text: str = "word ", per_write: int = 50) -> list[bytes]:
    """A good answer of `frames` text chunks, as fast as the client takes them, `per_write` in each write."""
    one = text_chunk(text)
    whole, rest = divmod(frames, per_write)
    return [*[one * per_write] * whole, *([one * rest] if rest else []), finish(), usage(12, frames), DONE]


def paced(frames: int, per_second: float, text: str = "word ") -> list[Step]:
    """A good answer of `frames` text chunks, `per_second` of them each second."""
    return [Paced([text_chunk(text)] * frames, per_second), finish(), usage(12, frames), DONE]


def call_chunk(name: str, arguments: Mapping[str, Any] | str, index: int = 0, call_id: str = "") -> bytes:
    """A whole tool call in one piece."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"index": index, "id": call_id or f"call_{index}", "type": "function"}
    return chunk({"tool_calls": [{**call, "function": {"name": name, "arguments": text}}]})


def calls(*named: tuple[str, Mapping[str, Any] | str], text: str = "", prefix: str = "call") -> list[bytes]:
    """A whole answer that calls these tools, with ids `prefix_0`, `prefix_1` and so on."""
    said = [text_chunk(text)] if text else []
    made = [call_chunk(name, arguments, index, f"{prefix}_{index}") for index, (name, arguments) in enumerate(named)]
    return [chunk({"role": "assistant", "content": ""}), *said, *made, finish("tool_calls"), usage(20, 5), DONE]
