"""One connection to an MCP server through the library `mcp`: what it offers, its calls, and why it ended.

The only place that knows the library's session and types. It takes most of a second to import, so it is imported in a
thread, and only where a server is configured.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
import orjson
from mcp import types
from mcp.client import Client, Transport
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from odysseus.config import McpConfig
from odysseus.text import clean_text
from odysseus.tools.base import ToolError, ToolResult
from odysseus.tools.mcp_pipes import Pipes, child_environment

# The library tells at length what the states tell in one sentence, addresses included.
for noisy in ("mcp", "httpx2"):
    logging.getLogger(noisy).setLevel(logging.CRITICAL)

Mode = Literal["auto", "legacy"]

TOOLS_LIMIT = 200
PAGES_LIMIT = 20
CONNECT_SECONDS = 15.0
SPARE_SECONDS = 30.0
TERMINATED = "Session terminated"


class ConnectionLost(Exception):
    """The server went away before it answered."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server tells it; all of it is outside text."""

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool = False
    destructive: bool = False


class Connection:
    """A session with one server. Made in `connected`, used from any task of the loop.

    `status` is the last HTTP status over 399, 0 without one.
    """

    def __init__(self, config: McpConfig, mode: Mode) -> None:
        self.status = 0
        self.pipes = (
            Pipes(config.name, config.command, child_environment(config.env, config.keep_env))
            if config.command
            else None
        )
        self._config = config
        self._mode = mode
        self._client: Client | None = None
        self._changed = asyncio.Event()
        self._lost = self.pipes.ended if self.pipes else asyncio.Event()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Reach the server and shake hands. What it raises, `why` puts into words."""
        async with AsyncExitStack() as stack:
            client = Client(await self._transport(stack), mode=self._mode, cache=None, message_handler=self._hear)
            self._client = await stack.enter_async_context(client)
            watching = asyncio.create_task(self._watch(client))
            stack.callback(watching.cancel)
            yield

    async def tools(self) -> list[RemoteTool]:
        """All its tools, up to TOOLS_LIMIT."""
        self._changed.clear()
        found: list[RemoteTool] = []
        cursor: str | None = None
        for _ in range(PAGES_LIMIT):
            page = await self._session.list_tools(cursor=cursor)
            found += [_remote(tool) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor or len(found) >= TOOLS_LIMIT:
                break
        return found[:TOOLS_LIMIT]

    async def call(self, tool: str, arguments: Mapping[str, Any], progress: ProgressFnT) -> ToolResult:
        """Call a tool. Being cancelled, it tells the server so. Raises ConnectionLost and ToolError.

        The result is not held against the tool's output schema: a pattern in it could keep the event loop for minutes.
        """
        params = types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        request = types.CallToolRequest(params=params)
        try:
            answer = await self._session.session.send_request(request, types.CallToolResult, progress_callback=progress)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or error.message == TERMINATED:
                self._lost.set()
                raise ConnectionLost from error
            return ToolResult(clean_text(error.message) or f"Error {error.code}.", exit_code=1)
        except ValidationError as error:
            raise ToolError(
                f"The MCP server {self._config.name} answered with something that is no result of a tool."
            ) from error
        return _result(answer)

    async def news(self) -> bool:
        """Wait until something happens: True for changed tools, False when the server is lost."""
        waits = {asyncio.create_task(self._changed.wait()), asyncio.create_task(self._lost.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return not self._lost.is_set()

    @property
    def _session(self) -> Client:
        assert self._client
        return self._client

    async def _transport(self, stack: AsyncExitStack) -> Transport:
        if self.pipes:
            return self.pipes.streams()
        http = await stack.enter_async_context(await asyncio.to_thread(self._make_http))
        return streamable_http_client(self._config.url, http_client=http)

    def _make_http(self) -> httpx2.AsyncClient:
        timeout = httpx2.Timeout(CONNECT_SECONDS, read=self._config.seconds + SPARE_SECONDS)
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [self._note_status]}
        return httpx2.AsyncClient(headers=self._config.headers, timeout=timeout, event_hooks=hooks)

    async def _note_status(self, response: httpx2.Response) -> None:
        if response.status_code >= 400:
            self.status = response.status_code

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()

    async def _watch(self, client: Client) -> None:
        """Servers of the newer protocol tell of changed tools only to those who listen."""
        offers = client.server_capabilities.tools
        if client.session.discover_result is None or not (offers and offers.list_changed):
            return
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._changed.set()
        except (MCPError, SubscriptionLost) as error:
            logging.getLogger(__name__).debug("MCP server %s: %s", self._config.name, type(error).__name__)


def why(error: BaseException | None, connection: Connection) -> str:
    """Why a connection ended, in words for the user. Holds nothing of the settings and nothing the server said."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if connection.pipes and isinstance(error, OSError):
        return _why_not_started(error)
    if connection.pipes and connection.pipes.ended.is_set():
        return _how_it_ended(connection.pipes)
    if connection.status:
        return f"It answered with HTTP status {connection.status}. Check the url and the headers."
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
        return "It cannot be reached. Check that it runs, and the url."
    return "Its answer does not fit the protocol." if error else "The connection ended."


def _why_not_started(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "Its program was not found. Check the command."
    return f"Its program cannot be started: {error.strerror or 'unknown reason'}."


def _how_it_ended(pipes: Pipes) -> str:
    code = pipes.exit_code
    if code is None:
        return "It closed its output, or sent a message that is too long."
    return f"It was killed by signal {-code}." if code < 0 else f"It ended with exit code {code}."


def _remote(tool: types.Tool) -> RemoteTool:
    hints = tool.annotations or types.ToolAnnotations()
    return RemoteTool(
        tool.name,
        tool.description or tool.title or hints.title or "",
        tool.input_schema,
        bool(hints.read_only_hint),
        bool(hints.destructive_hint),
    )


def _result(answer: types.CallToolResult) -> ToolResult:
    output = "\n".join(_shown(block) for block in answer.content)
    if not output and answer.structured_content is not None:
        output = orjson.dumps(answer.structured_content).decode()
    return ToolResult(clean_text(output) or "(no output)", exit_code=1 if answer.is_error else 0)


def _shown(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type}: {block.mime_type}, {_size(block.data):,} bytes, not shown]"
        case types.ResourceLink():
            return f"[link: {block.name}, {block.uri}]"
        case types.EmbeddedResource():
            return _shown_resource(block.resource)


def _shown_resource(resource: types.TextResourceContents | types.BlobResourceContents) -> str:
    if isinstance(resource, types.TextResourceContents):
        return f"[{resource.uri}]\n{resource.text}"
    return f"[{resource.uri}: {resource.mime_type or 'unknown type'}, {_size(resource.blob):,} bytes, not shown]"


def _size(data: str) -> int:
    """How many bytes a text in base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")
