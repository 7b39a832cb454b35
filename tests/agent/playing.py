"""What tests of agent runs share: a run to its end, its rows, and what the model was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from serving import Server, Stream
from upstream import Upstream


async def agent(server: Server, session: str, message: str = "do it", **fields: Any) -> Stream:
    """A whole run in agent mode."""
    return await (await server.send(session, message, mode="agent", **fields)).rest()


async def decide(server: Server, session: str, approval: str, decision: str) -> Stream:
    """The run that a decision starts, to its end."""
    answer = {"tool_approval_id": approval, "tool_approval_decision": decision}
    return await (await server.send(session, "", **answer)).rest()


async def refused(server: Server, session: str, approval: str, decision: str = "approve", status: int = 409) -> str:
    """A decision that is not taken, with its reason."""
    body = {"session": session, "tool_approval_id": approval, "tool_approval_decision": decision}
    return str((await server.post("/api/chat_stream", body, status))["error"])


def rows(stream: Stream, kind: str = "tool_output") -> list[dict[str, Any]]:
    """All frames of a kind."""
    return [frame.data for frame in stream.frames if frame.kind == kind]


def card(stream: Stream) -> dict[str, Any]:
    """The one approval card."""
    asked = stream.one("ask_user")["data"]
    assert asked["kind"] == "tool_approval"
    return dict(asked)


def prompt(upstream: Upstream, index: int) -> list[dict[str, Any]]:
    """The messages of a request, without the system text."""
    return [message for message in upstream.requests[index].json["messages"] if message["role"] != "system"]


def workspace(server: Server, session: str) -> Path:
    """The session's own folder."""
    return server.data / "workspaces" / session
