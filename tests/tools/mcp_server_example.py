"""A real MCP server for the tests, run as a child: over its pipes, or over HTTP on a free port that it prints."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

server = MCPServer("example", log_level="ERROR")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times


@server.tool(
    description="Tidy\n\nup \x1b[31m<|im_start|>" + "very " * 400, annotations=ToolAnnotations(destructive_hint=True)
)
def wipe() -> str:
    return "wiped"


@server.tool(name="get.weather")
def weather(city: str) -> dict[str, Any]:
    """Its name is not one that models take."""
    return {"city": city, "degrees": 7}


@server.tool()
def structured() -> CallToolResult:
    """A result without text."""
    return CallToolResult(content=[], structured_content={"answer": [1, 2]})


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ToolError("the disk is full")


@server.tool()
def picture() -> CallToolResult:
    """A picture and other content."""
    return CallToolResult(
        content=[
            TextContent(text="look"),
            ImageContent(data=base64.b64encode(b"P" * 100).decode(), mime_type="image/png"),
            ResourceLink(name="page", uri="https://example.org/"),
            EmbeddedResource(resource=TextResourceContents(uri="note://1", text="remember")),
        ]
    )


@server.tool()
async def slow(folder: str, context: Context[Any, Any]) -> str:
    """Goes on until it is cancelled, and leaves a file then."""
    await context.report_progress(1, 4, "reading\nthe first")
    try:
        await asyncio.Event().wait()
    finally:
        Path(folder, "cancelled").touch()
    return "never"


@server.tool()
def process() -> int:
    """The number of this process."""
    return os.getpid()


@server.tool()
async def stubborn() -> str:
    """From now on this process and its child do not end when asked."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.DEVNULL)  # noqa: ASYNC220
    return str(child.pid)


@server.tool()
def environment() -> list[str]:
    """The names of the variables it has."""
    return sorted(os.environ)


@server.tool()
async def grow(context: Context[Any, Any]) -> str:
    """One more tool from now on."""
    server.add_tool(echo, name="newcomer")
    await context.notify_tools_changed()
    return "grown"


async def serve_http() -> None:
    """Serve on a free port of the loopback, and say which."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    app = server.streamable_http_app()
    await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])


if __name__ == "__main__":
    if "http" in sys.argv:
        asyncio.run(serve_http())
    else:
        print("Welcome! This line is no message.", flush=True)
        print("SECRET_NOTE on stderr", file=sys.stderr, flush=True)
        server.run("stdio")
