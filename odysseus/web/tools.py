"""What the agent can do on this server: its tools with their policies, and the MCP servers that some come from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aiohttp import web
from msgspec import Meta, Struct

from odysseus.errors import NotFound
from odysseus.text import clean_text
from odysseus.tools.base import Tool
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import read
from odysseus.web.services import Services, services


class ToolChange(Struct, frozen=True, kw_only=True):
    """What holds for a tool from the next run on."""

    policy: Annotated[
        Literal["allow", "ask", "deny", "default"],
        Meta(description="Whether it runs at once, asks first, or never runs; `default` is what the settings say"),
    ]


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/tools"""
    services_ = services(request)
    states = services_.mcp.states()
    return json_answer(
        {
            "tools": [_tool_json(services_, tool) for tool in services_.policies.tools()],
            "servers": [{"name": state.name, "state": state.state, "note": state.note} for state in states],
        }
    )


@completes
async def change(request: web.Request) -> web.StreamResponse:
    """PATCH /api/tools/{tool}"""
    services_ = services(request)
    body = await read(request, ToolChange)
    name = clean_text(request.match_info["tool"])
    tool = next((tool for tool in services_.policies.tools() if tool.name == name), None)
    if tool is None:
        raise NotFound("There is no such tool now. Those of an MCP server are there while it is ready.")
    await services_.policies.choose(tool, None if body.policy == "default" else body.policy)
    return json_answer(_tool_json(services_, tool))


def _tool_json(services_: Services, tool: Tool) -> dict[str, Any]:
    policy, default = services_.policies.of(tool), services_.policies.default(tool)
    return {
        "name": tool.name,
        "family": tool.family,
        "description": tool.description,
        "effects": sorted(tool.effects),
        "policy": policy,
        "default": default,
        "fixed": default == "deny",
        "available": policy != "deny",
        "note": f"The tool {tool.name} is denied by the settings." if default == "deny" else "",
    }
