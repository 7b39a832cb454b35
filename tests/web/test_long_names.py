"""Names of models and endpoints in requests: one that is far too long is refused by name, and nothing is stored."""

from __future__ import annotations

from typing import Any

import pytest
from serving import Server

LONG = "m" * 501
CALLS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "a new chat": ("POST", "/api/session", {"model": LONG}, "model"),
    "a new chat's endpoint": ("POST", "/api/session", {"endpoint_id": LONG}, "endpoint_id"),
    "a change": ("PATCH", "/api/session/ID", {"model": LONG}, "model"),
    "a message": (
        "POST",
        "/api/chat_stream",
        {"session": "ID", "message": "x", "selected_model": LONG},
        "selected_model",
    ),
    "a research": ("POST", "/api/research/start", {"question": "x", "model": LONG}, "model"),
    "a comparison": ("POST", "/api/compare", {"panes": [{"model": "m"}, {"model": LONG}]}, "panes[1].model"),
    "an install": ("POST", "/api/models/install", {"name": LONG}, "name"),
}


@pytest.mark.parametrize("what", CALLS)
async def test_a_name_that_is_too_long_is_refused_and_not_stored(server: Server, what: str) -> None:
    session = await server.session()
    method, path, body, field = CALLS[what]
    given = {name: session if value == "ID" else value for name, value in body.items()}
    told = await server.call(method, path.replace("ID", session), 400, json=given)
    assert told["error"] == f"Field {field!r}: it may have at most 500 characters."
    assert len(await server.get("/api/sessions")) == 1
    assert (await server.get("/api/sessions"))[0]["model"] != LONG


async def test_a_name_as_long_as_is_allowed_is_taken(server: Server) -> None:
    made = await server.post("/api/session", {"model": LONG[:500]})
    assert made["model"] == LONG[:500]
