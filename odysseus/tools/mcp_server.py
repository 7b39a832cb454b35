"""One MCP server's life: started, used, found dead, started again with growing pauses, ended.

Knows of the library only through `mcp_connection`, which it is given once that is loaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from odysseus.clock import Clock
from odysseus.config import McpConfig
from odysseus.text import clean_text
from odysseus.tools.base import ToolContext, ToolError, ToolResult, one_line

if TYPE_CHECKING:
    from odysseus.tools.mcp_connection import Connection, RemoteTool

log = logging.getLogger(__name__)

State = Literal["starting", "ready", "failed", "missing"]

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
CLOSE_SECONDS = 0.9
PROGRESS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class McpTimes:
    """Seconds: for a start, before a server that stayed up counts as steady, and a call's wait for a restart."""

    start: float = 60.0
    steady: float = 60.0
    patience: float = 5.0


class McpServer:
    """One configured server. `live` runs in a task of its own, which owns all that is open; calls come from others.

    `tools` is what it offers now, empty unless it is ready; a new list is a new object. `note` says in words what is
    wrong, empty when nothing is.
    """

    def __init__(self, config: McpConfig, clock: Clock, times: McpTimes) -> None:
        self.config = config
        self.state: State = "starting"
        self.note = ""
        self.tools: list[RemoteTool] = []
        self._clock = clock
        self._times = times
        self._ready = asyncio.Event()
        self._since: float | None = None
        self._connection: Connection | None = None
        self._calls: set[asyncio.Task[ToolResult]] = set()

    async def live(self) -> None:
        """Keep the server running until cancelled; then it is gone within a second."""
        pause = FIRST_PAUSE
        legacy = False
        while True:
            self.state = "starting"
            self._since = None
            await self._attempt(legacy)
            if self._since is None:
                # Some servers end at a first message they do not know: the other handshake has the next turn.
                legacy = not legacy
            elif self._clock.monotonic() - self._since >= self._times.steady:
                pause = FIRST_PAUSE
            await self._rest(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def call(self, tool: str, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Call a tool; waits a little for a server that is being started. Raises ToolError."""
        connection = await self._connected()

        async def report(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            context.progress(one_line(clean_text(f"{share} {message or ''}"))[:PROGRESS_LIMIT], "")

        # A task of its own, so that a cancelled call returns at once, and tells the server behind that.
        calling = asyncio.create_task(connection.call(tool, arguments, report))
        self._calls.add(calling)
        calling.add_done_callback(self._forget)
        try:
            await asyncio.wait({calling})
        finally:
            calling.cancel()
        return self._outcome(calling)

    def _outcome(self, calling: asyncio.Task[ToolResult]) -> ToolResult:
        error = None if calling.cancelled() else calling.exception()
        if isinstance(error, ToolError):
            raise error
        if calling.cancelled() or error:
            raise ToolError(
                f"The MCP server {self.config.name} went away during the call, and it is not known what came of it. "
                "It is being started again: look at the state of things, then try again."
            ) from error
        return calling.result()

    def _forget(self, calling: asyncio.Task[ToolResult]) -> None:
        self._calls.discard(calling)
        if not calling.cancelled():
            # Asked for, so that the loop does not report a failure that nobody waits for any more.
            calling.exception()

    async def _connected(self) -> Connection:
        if not self._connection:
            expired = asyncio.Event()
            timer = self._clock.call_later(self._times.patience, expired.set)
            try:
                await _first(self._ready, expired)
            finally:
                timer.cancel()
        if not self._connection:
            reason = f" {self.note}" if self.note else ""
            raise ToolError(
                f"The MCP server {self.config.name} is not running.{reason} It is tried again from time to time; "
                "go on without it, or tell the user."
            )
        return self._connection

    async def _attempt(self, legacy: bool) -> None:
        """One connection from its start to its end."""
        from odysseus.tools import mcp_connection

        connection = mcp_connection.Connection(self.config, "legacy" if legacy else "auto")
        task = asyncio.create_task(self._hold(connection), name=f"mcp {self.config.name}")
        late = asyncio.Event()
        timer = self._clock.call_later(self._times.start, partial(self._too_late, task, late))
        try:
            await asyncio.wait({task})
        finally:
            timer.cancel()
            self._close()
            await end_task(task)
        error = None if task.cancelled() else task.exception()
        self._failed(self._too_late_note(connection) if late.is_set() else mcp_connection.why(error, connection), error)

    async def _hold(self, connection: Connection) -> None:
        async with connection.connected():
            self.tools = await connection.tools()
            self._connection = connection
            self._since = self._clock.monotonic()
            self._ready.set()
            self.state, self.note = "ready", ""
            log.info("The MCP server %s is ready with %d tools.", self.config.name, len(self.tools))
            while await connection.news():
                self.tools = await connection.tools()
            self._close()

    def _too_late(self, task: asyncio.Task[None], late: asyncio.Event) -> None:
        if self._since is None:
            late.set()
            task.cancel()

    def _too_late_note(self, connection: Connection) -> str:
        note = f"It did not answer within {self._times.start:g} seconds."
        if connection.pipes and connection.pipes.garbage:
            note += " It prints text on its standard output that is no message of the protocol."
        return note

    def _failed(self, note: str, error: BaseException | None) -> None:
        # Once a kind: a server that is down for hours is no news every minute.
        if self.note != note:
            log.warning("The MCP server %s failed. %s", self.config.name, note)
            log.debug("The MCP server %s failed with %s", self.config.name, type(error).__name__)
        self.state, self.note = "failed", note

    def _close(self) -> None:
        self.state = "failed"
        self._ready.clear()
        self._connection = None
        self.tools = []
        for calling in set(self._calls):
            calling.cancel()

    async def _rest(self, seconds: float) -> None:
        over = asyncio.Event()
        timer = self._clock.call_later(seconds, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait for its end; once more when its tidying up takes too long."""
    for _ in range(2):
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CLOSE_SECONDS)


async def _first(*events: asyncio.Event) -> None:
    waits = {asyncio.create_task(event.wait()) for event in events}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
