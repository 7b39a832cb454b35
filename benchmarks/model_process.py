"""The model server of the benchmarks, a process of its own: plays the plan that the last message of a request holds.

Raw asyncio, so that it is never the bottleneck. The bytes are those of tests/upstream.py.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Coroutine, Sequence
from typing import Any, cast

from upstream import DONE, chunk, finish, flood, text_chunk, usage

from benchmarks.plan import Plan, read_plan
from benchmarks.turns import Turns

STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
KEPT_STREAM = STREAM.replace(b"Connection: close\r\n", b"")
MODELS = {"object": "list", "data": [{"id": "fake-model", "object": "model"}]}
BEFORE, AFTER = text_chunk("STAMP").split(b"STAMP")


class Connection(asyncio.Protocol):
    """One request and its answer."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._received = b""
        self._writable = asyncio.Event()
        self._writable.set()
        self.key = ""
        self.open = True
        self.whole_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        self._writable.set()
        if self.key:
            self._model.closed(self.key, time.monotonic())

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if found and len(body) >= _content_length(head):
            self._received, self.whole_at = b"", time.monotonic()
            method, path, _ = head.decode().split(" ", 2)
            self._model.spawn(self._model.answer(self, method, path, body))

    def send(self, data: bytes) -> None:
        """Write a part of the body, as one chunk."""
        if self.open:
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def send_kept(self, data: bytes) -> None:
        """Write a whole body at once, and stay open for the next request."""
        if self.open:
            self.transport.write(KEPT_STREAM + b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))

    async def drained(self) -> None:
        """Wait until the client takes more."""
        await self._writable.wait()

    def end(self) -> None:
        """The body is whole."""
        self.key = ""
        if self.open:
            self.transport.write(b"0\r\n\r\n")
            self.transport.close()


class Model:
    """Who waits for which emission, and when a client closed the connection of a key."""

    def __init__(self) -> None:
        self._members: defaultdict[str, list[Connection]] = defaultdict(list)
        self._plans: dict[str, Plan] = {}
        self._joined = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = Turns()
        self._closed: defaultdict[str, asyncio.Future[float]] = defaultdict(asyncio.get_running_loop().create_future)

    def closed(self, key: str, at: float) -> None:
        """A client has closed a connection of this key before its answer was whole."""
        if not self._closed[key].done():
            self._closed[key].set_result(at)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the rest."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def answer(self, connection: Connection, method: str, path: str, body: bytes) -> None:
        """Answer one request."""
        if method == "POST":
            await self._post(connection, json.loads(body))
            return
        _, what, key, *rest = [*path.split("/"), ""]
        if what == "go":
            await self._go(key, int(rest[0]))
            _send_json(connection, {})
        elif what == "closed":
            _send_json(connection, {"at": await self._closed[key]})
        elif what == "first":
            await self._turns.sides[key].begun.wait()
            _send_json(connection, self._turns.sides[key].first)
        elif what == "gaps":
            _send_json(connection, self._turns.sides.pop(key).gaps)
        else:
            _send_json(connection, MODELS)

    async def _go(self, key: str, members: int) -> None:
        """Play the plan of `key` once so many have asked for it."""
        async with self._joined:
            await self._joined.wait_for(lambda: len(self._members[key]) >= members)
        self.spawn(_play(self._members.pop(key), self._plans.pop(key)))

    async def _post(self, connection: Connection, request: Any) -> None:
        plan = read_plan(_last_message(request))
        if plan.calls:
            self._turns.take(plan, request, connection.whole_at, connection.send_kept)
        else:
            await self._complete(connection, plan)

    async def _complete(self, connection: Connection, plan: Plan) -> None:
        connection.transport.write(STREAM)
        connection.send(chunk({"role": "assistant", "content": ""}))
        if not plan.key:
            await _play([connection], plan)
            return
        connection.key, self._plans[plan.key] = plan.key, plan
        async with self._joined:
            self._members[plan.key].append(connection)
            self._joined.notify_all()


async def _play(members: Sequence[Connection], plan: Plan) -> None:
    await (_pace(members, plan) if plan.rate else _flood(members[0], plan))
    if plan.hang:
        return
    for member in members:
        if plan.rate:
            member.send(finish() + usage(12, plan.frames) + DONE)
        member.end()


async def _flood(member: Connection, plan: Plan) -> None:
    for piece in flood(plan.frames, "x" * (plan.size - 1) + " ", plan.per_write)[: -3 if plan.hang else None]:
        member.send(piece)
        await member.drained()


async def _pace(members: Sequence[Connection], plan: Plan) -> None:
    """Each frame to all members at once, a different one first each time."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    for number in range(plan.frames):
        await asyncio.sleep(max(0.0, start + number / plan.rate - loop.time()))
        frame = BEFORE + b"%.6f " % time.monotonic() + AFTER
        first = number % len(members)
        for member in (*members[first:], *members[:first]):
            member.send(frame)


def _last_message(request: Any) -> str:
    """The text of the user's last message, which may be a string or typed blocks."""
    content = next(message for message in reversed(request["messages"]) if message["role"] == "user")["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _send_json(connection: Connection, value: Any) -> None:
    body = json.dumps(value).encode()
    connection.transport.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
        % (len(body), body)
    )
    connection.transport.close()


async def main() -> None:
    """Serve until killed; the first line says the port."""
    model = Model()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(model), "127.0.0.1", 0, backlog=2048)
    print(f"READY {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
