"""Which other sites' pages may use the named agents, and the headers that tell browsers so. Never with credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from odysseus.config import AgentProfile

ANY = "*"
SHARED = ("/sessions/", "/health", "/ready")
ALLOWED = web.RequestKey("allowed_origin", str)


@dataclass(frozen=True, slots=True)
class Cors:
    """The origins that each agent allows."""

    agents: Mapping[str, frozenset[str]]

    def allowed(self, request: web.Request) -> str:
        """The request's origin as it may be allowed, `*` where any is; empty when it is not."""
        origin = request.headers.get("Origin", "")
        origins = self._origins(request.path)
        if not origin or not origins & {origin, ANY}:
            return ""
        return ANY if ANY in origins else origin

    def _origins(self, path: str) -> frozenset[str]:
        if path.startswith("/agent/"):
            return self.agents.get(path.split("/")[2], frozenset())
        shared = any(path == start or path.startswith(start) for start in SHARED)
        return frozenset().union(*self.agents.values()) if shared else frozenset()


def cors_of(agents: Mapping[str, AgentProfile]) -> Cors:
    """The origins from the settings."""
    return Cors({name: frozenset(agent.cors_origins) for name, agent in agents.items()})


def preflight() -> web.Response:
    """The answer to a browser that asks whether it may."""
    return web.Response(
        status=204,
        headers={
            "Access-Control-Allow-Methods": "GET, POST, DELETE",
            "Access-Control-Allow-Headers": "Content-Type, Authorization, Accept",
            "Access-Control-Max-Age": "600",
        },
    )


async def add_cors(request: web.Request, response: web.StreamResponse) -> None:
    """Let the page of an allowed site read the answer."""
    origin = request.get(ALLOWED)
    if origin:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = "X-Session-Id, Retry-After"
        response.headers.add("Vary", "Origin")
