"""A form means the same as JSON, whatever a field is and whatever content type a part of it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import aiohttp
import pytest
from openapi_schemas import DOCUMENT, SCHEMAS
from serving import Server
from upstream import Upstream

PART_TYPES = [None, "text/plain", "text/plain; charset=utf-8", "application/json", "application/octet-stream"]
LISTS: Mapping[str, Any] = {
    "attachments": [],
    "fallback": ["up/other", "up/ü"],
    "msg_ids": ["none", "ü"],
    "panes": [{"model": "ä"}, {"model": "ü"}],
}


def form(fields: Mapping[str, Any], kind: str | None = None) -> aiohttp.FormData:
    """Fields as parts of this content type; anything but text is JSON."""
    made = aiohttp.FormData(default_to_multipart=True)
    for name, value in fields.items():
        made.add_field(name, value if isinstance(value, str) else json.dumps(value), content_type=kind)
    return made


def test_every_list_that_a_form_may_have_is_tried_here() -> None:
    bodies = [
        SCHEMAS[content["schema"]["$ref"].rpartition("/")[2]]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        for media, content in operation.get("requestBody", {}).get("content", {}).items()
        if media == "application/x-www-form-urlencoded"
    ]
    told = {name for body in bodies for name, field in body["properties"].items() if "contentSchema" in field}
    assert told == set(LISTS)
    assert not [name for body in bodies for name, field in body["properties"].items() if field.get("type") == "array"]


@pytest.mark.parametrize("kind", PART_TYPES)
async def test_a_list_in_a_form_is_json(server: Server, upstream: Upstream, kind: str | None) -> None:
    session = await server.session()
    path = f"/api/session/{session}"
    changed = await server.call("PATCH", path, data=form({"fallback": LISTS["fallback"], "name": "ü"}, kind))
    assert (changed["fallback"], changed["name"]) == (LISTS["fallback"], "ü")
    await server.call("POST", f"{path}/delete-messages", 404, data=form({"msg_ids": LISTS["msg_ids"]}, kind))
    made = await server.call("POST", "/api/compare", data=form({"panes": LISTS["panes"], "blind": False}, kind))
    assert [pane["model"] for pane in made["panes"]] == ["ä", "ü"]
    sent = {"session": session, "message": "grüße", "attachments": LISTS["attachments"], "incognito": False}
    await (await server.stream("POST", "/api/chat_stream", data=form(sent, kind))).rest()
    assert (await server.history(session))[0]["content"] == "grüße"


@pytest.mark.parametrize("text", ["[1]", "{}", "x", '["a"', "null", '[["a"]]', '[""]'])
async def test_what_is_no_list_of_texts_is_refused_in_every_form(server: Server, text: str) -> None:
    session = await server.session()
    await server.call("PATCH", f"/api/session/{session}", 400, data=form({"fallback": text}))
    await server.call("PATCH", f"/api/session/{session}", 400, data={"fallback": text})
    assert (await server.get("/api/sessions"))[0]["fallback"] == []


@pytest.mark.parametrize("kind", ["application/json", "application/octet-stream", "text/plain; charset=nonsense"])
async def test_a_part_that_is_no_text_is_refused(server: Server, kind: str) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="name"\r\nContent-Type: %b\r\n\r\n\xff\xfe\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    await server.call("POST", "/api/session", 400, data=part % kind.encode(), headers=headers)
    assert await server.get("/api/sessions") == []
