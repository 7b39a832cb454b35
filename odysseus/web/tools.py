"""What the agent can do on this server: its tools, and the MCP servers that some of them come from."""

from __future__ import annotations

from aiohttp import web

from odysseus.runs.agent_work import AgentWish
from odysseus.web.answers import json_answer
from odysseus.web.services import services


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/tools"""
    box = services(request).desk.toolbox(AgentWish())
    return json_answer(
        {
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "effects": sorted(tool.effects),
                    "policy": tool.policy,
                    "available": True,
                    "note": "",
                }
                for tool in box.tools.values()
            ]
            + [
                {"name": name, "description": "", "effects": [], "policy": "deny", "available": False, "note": reason}
                for name, reason in box.withheld.items()
            ],
            "servers": [
                {"name": state.name, "state": state.state, "note": state.note}
                for state in services(request).mcp.states()
            ],
        }
    )
