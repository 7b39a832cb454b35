"""The tools of the configured MCP servers, as tools of the agent.

Names, schemas and effects are made here from what the servers tell, which is outside text. A server's life is in
`mcp_server`; the library is loaded in a thread, and only where a server is configured.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import logging
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from odysseus.clock import Clock
from odysseus.config import McpConfig
from odysseus.text import clean_text
from odysseus.tools.base import (
    COMMAND_LIMIT,
    Effect,
    Preview,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    one_line,
)
from odysseus.tools.mcp_server import McpServer, McpTimes, State

if TYPE_CHECKING:
    from odysseus.tools.mcp_connection import RemoteTool

log = logging.getLogger(__name__)

NAME_LIMIT = 64
DESCRIPTION_LIMIT = 600
SCHEMA_LIMIT = 32_000
MISSING = "The extra `mcp` is not installed. Install it with: pip install 'odysseus[mcp]'"
KINDS: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
    "null": None,
}


@dataclass(frozen=True, slots=True)
class McpState:
    """How a server is. `note` says in words what is wrong, empty when nothing is; `tools` is how many it offers."""

    name: str
    state: State
    note: str
    tools: int


class McpServers:
    """All configured servers. Made without a loop; `start` never waits, `close` takes a second at most."""

    def __init__(self, configs: Sequence[McpConfig], clock: Clock, times: McpTimes | None = None) -> None:
        self._servers = [McpServer(config, clock, times or McpTimes()) for config in configs]
        self._tasks: list[asyncio.Task[None]] = []
        self._made: dict[str, tuple[Sequence[RemoteTool], Sequence[Tool]]] = {}

    def start(self) -> None:
        """Begin to start the servers, in the background."""
        if self._servers:
            self._tasks = [asyncio.create_task(self._begin(), name="mcp")]

    def tools(self) -> Sequence[Tool]:
        """The tools of the servers that are up now, in the order of the settings."""
        return [tool for server in self._servers for tool in self._tools_of(server)]

    def states(self) -> Sequence[McpState]:
        """How every server is now."""
        return [
            McpState(server.config.name, server.state, server.note, len(self._tools_of(server)))
            for server in self._servers
        ]

    async def close(self) -> None:
        """End all servers; their processes are gone then."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks = []

    async def _begin(self) -> None:
        try:
            await asyncio.to_thread(importlib.import_module, "odysseus.tools.mcp_connection")
        except ImportError as error:
            log.warning("No MCP server can be used. %s (%s)", MISSING, error)
            for server in self._servers:
                server.state, server.note = "missing", MISSING
            return
        self._tasks += [asyncio.create_task(server.live()) for server in self._servers]

    def _tools_of(self, server: McpServer) -> Sequence[Tool]:
        """Made once for each list a server gives."""
        remotes, made = self._made.get(server.config.name, (None, ()))
        if remotes is not server.tools:
            made = list(make_tools(server))
            self._made[server.config.name] = (server.tools, made)
        return made


def make_tools(server: McpServer) -> Iterator[Tool]:
    """The tools of one server that can be offered to a model."""
    taken: set[str] = set()
    for remote in server.tools:
        name = tool_name(server.config.name, remote.name)
        schema = usable_schema(remote.schema)
        if schema is None or name in taken:
            log.warning("MCP server %s: %s has no usable schema, or is there twice.", server.config.name, name)
            continue
        taken.add(name)
        yield _make_tool(server, remote, name, schema)


def _make_tool(server: McpServer, remote: RemoteTool, name: str, schema: Mapping[str, Any]) -> Tool:
    config = server.config
    fingerprint = _digest(repr((config.name, remote.name, remote.description, schema)))

    async def run(given: Mapping[str, Any], context: ToolContext) -> ToolResult:
        return await server.call(remote.name, given, context)

    async def preview(given: Mapping[str, Any], _: ToolContext) -> Preview:
        shown = orjson.dumps(given, option=orjson.OPT_INDENT_2).decode()
        return Preview(f"{plain(remote.name)} on the MCP server {config.name}\n{shown}", fingerprint)

    return Tool(
        name=name,
        description=describe(config.name, remote.description),
        parameters=schema,
        effects=frozenset(effects_of(remote)),
        parse=partial(check_arguments, name, schema),
        run=run,
        command=lambda given: one_line(f"{plain(remote.name)} {orjson.dumps(given).decode()}")[:COMMAND_LIMIT],
        preview=preview,
        sends=lambda _given, _seen: True,
        policy=config.policy,
        seconds=config.seconds,
        outside=True,
        family=f"MCP server {config.name}",
    )


def tool_name(server: str, tool: str) -> str:
    """A tool's name for models: `server__tool` of letters, digits, `_` and `-`, unique over all servers.

    A name that had to be changed ends in a digest of what it was, so that two of them cannot become one.
    """
    prefix = server
    if "__" in server or server.endswith("_"):
        # Else `a__b` with `c` and `a` with `b__c` were the same.
        prefix = f"{re.sub('_+', '_', server).strip('_')}-{_digest(server)[:4]}"
    name = f"{prefix}__{tool}"
    if tool and re.fullmatch(rf"[A-Za-z0-9_-]{{1,{NAME_LIMIT}}}", name):
        return name
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return f"{safe[: NAME_LIMIT - 9]}_{_digest(tool)[:8]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def plain(text: str) -> str:
    """Outside text on one line, without control characters and without what templates take for their own marks."""
    shown = "".join(letter for letter in one_line(clean_text(text)) if unicodedata.category(letter)[0] != "C")
    return shown.replace("<|", "< |").replace("|>", "| >")


def describe(server: str, text: str) -> str:
    """A tool's description for models, which says where it comes from."""
    shown = plain(text[: 4 * DESCRIPTION_LIMIT])
    if len(shown) > DESCRIPTION_LIMIT:
        shown = shown[: DESCRIPTION_LIMIT - 1].rstrip() + "…"
    return f"[MCP server {server}] {shown}".rstrip()


def usable_schema(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema as it is, with `type` and `properties` where they are left out; None when it is no object's."""
    whole = {"type": "object", "properties": {}, **schema}
    if whole["type"] != "object" or not isinstance(whole["properties"], Mapping):
        return None
    try:
        # Eight levels more, since it stands deeper in a request.
        return whole if len(orjson.dumps([[[[[[[[whole]]]]]]]])) <= SCHEMA_LIMIT else None
    except orjson.JSONEncodeError:
        return None


def effects_of(remote: RemoteTool) -> tuple[Effect, ...]:
    """What a call may do, by the server's hints; the worst where it gives none."""
    if remote.destructive:
        return ("write", "network", "execute", "destructive")
    return ("read", "network") if remote.read_only else ("write", "network", "execute")


def check_arguments(name: str, schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with the required ones there and of simple types; a number in a string counts.

    Raises ToolError that names the argument. The rest of the schema is the server's to check: a pattern or a
    reference in it could keep the event loop for minutes.
    """
    properties: Mapping[str, Any] = schema["properties"]
    required = schema.get("required")
    wanted = ", ".join(properties) or "none"
    for key in required if isinstance(required, list) else ():
        if isinstance(key, str) and key not in given:
            raise ToolError(f"Wrong arguments for {name}: `{key}` is missing. Its arguments are: {wanted}.")
    return {key: _checked(name, key, properties.get(key), value) for key, value in given.items()}


def _checked(name: str, key: str, schema: Any, value: Any) -> Any:
    kinds = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(kinds, list) or not all(isinstance(kind, str) and kind in KINDS for kind in kinds):
        return value
    for strict in (True, False):
        for kind in kinds:
            try:
                found = msgspec.convert(value, KINDS[kind], strict=strict)
            except msgspec.ValidationError:
                continue
            return value if strict else found
    raise ToolError(f"Wrong arguments for {name}: `{key}` must be of the type {' or '.join(kinds)}.")
