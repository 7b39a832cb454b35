"""An MCP server as a child process: messages as lines over its pipes, and its end with all its children.

In place of the library's own transport, which reads lines of any length and takes seconds to end a stubborn child.
Knows no session and no tool. Imports `mcp`, so it is itself imported only where a server is configured.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

log = logging.getLogger(__name__)

LINE_LIMIT = 16_000_000
GRACE_SECONDS = 0.25
LOGGED_LIMIT = 500

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


class Pipes:
    """One run of a server's program. `ended` says that it went of itself, with `exit_code` if it told one.

    `garbage` counts the lines on its stdout that were no message.
    """

    def __init__(self, name: str, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self.garbage = 0
        self.ended = asyncio.Event()
        self.exit_code: int | None = None
        self._name = name
        self._command = command
        self._environ = environ
        self._closing = False

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """Start the program and speak with it; at the end it is gone within a second. Raises OSError."""
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._environ,
            limit=LINE_LIMIT,
            start_new_session=True,
        )
        sends, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, receives = anyio.create_memory_object_stream[SessionMessage](0)
        async with sends, incoming, outgoing, receives, anyio.create_task_group() as group:
            try:
                group.start_soon(self._read, process, sends)
                group.start_soon(self._write, process, receives)
                group.start_soon(self._note, process)
                yield incoming, outgoing
            finally:
                self._closing = True
                with anyio.CancelScope(shield=True):
                    await end_process(process)
                group.cancel_scope.cancel()

    async def _read(self, process: Process, sends: Incoming) -> None:
        """Every message of its stdout; other lines are dropped. An end, or a line over the limit, ends the session."""
        assert process.stdout
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ValueError):
            while line := await process.stdout.readline():
                if message := self._parse(line):
                    await sends.send(message)
        # Its exit code comes a moment behind the end of its pipe.
        with suppress(TimeoutError):
            self.exit_code = await asyncio.wait_for(process.wait(), GRACE_SECONDS)
        if not self._closing:
            self.ended.set()
        sends.close()

    def _parse(self, line: bytes) -> SessionMessage | None:
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValidationError:
            self.garbage += bool(line.strip())
            log.debug("The MCP server %s printed a line that is no message: %r", self._name, line[:LOGGED_LIMIT])
            return None

    async def _write(self, process: Process, receives: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin
        with suppress(OSError):
            async for item in receives:
                process.stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()
        receives.close()

    async def _note(self, process: Process) -> None:
        """Its stderr to the log, for those who look for a fault."""
        assert process.stderr
        while piece := await process.stderr.read(8192):
            for line in piece.decode("utf-8", "replace").splitlines():
                log.debug("MCP server %s: %s", self._name, line[:LOGGED_LIMIT])


def child_environment(env: Mapping[str, str], keep: Sequence[str]) -> dict[str, str]:
    """What a child gets: the few variables that every program needs, those named in `keep`, and `env` over them."""
    kept = {name: os.environ[name] for name in keep if name in os.environ}
    return {**get_default_environment(), **kept, **env}


async def end_process(process: Process) -> None:
    """Ask it to end by closing its stdin, then with a signal, then kill it and all of its group."""
    assert process.stdin
    process.stdin.close()
    for kill in (False, True):
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_SECONDS)
        # Children it leaves behind are still in its group.
        _signal_group(process, kill)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE_SECONDS)
    # Nothing public closes the pipes while a child outside the group holds their other ends, or while they are full.
    if transport := getattr(process, "_transport", None):
        transport.close()


def _signal_group(process: Process, kill: bool) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGTERM)
