"""A session's messages: history, branches, edit, delete, truncate, search (contract, section 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

from aiohttp import web
from msgspec import Meta, Struct

from odysseus.archive.conversation import HIDDEN, Since, card_state
from odysseus.clock import iso
from odysseus.dialects.agent_frames import shown_command
from odysseus.errors import BadRequest
from odysseus.render.blocks import render_stretches
from odysseus.store.messages import Message, Page
from odysseus.store.search import Hit, search_messages
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import convert, list_field, read, read_fields
from odysseus.web.services import services
from odysseus.web.sessions import session_id

PAGE_LIMIT = 200
DEFAULT_LIMIT = 50
RENDERED_KEPT = 256
FOUND = 50
FOUND_IN_ONE = 1000


class Edit(Struct, frozen=True):
    """New text for a message."""

    msg_id: Annotated[str, Meta(description="The message")]
    content: Annotated[str, Meta(min_length=1, max_length=1_000_000, description="Its new text")]


class Ids(Struct, frozen=True):
    """Messages by id."""

    msg_ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=10_000, description="The messages")]


class TruncatePoint(Struct, frozen=True):
    """The last message to keep."""

    message_id: Annotated[str, Meta(description="The last message to keep")]


class BranchPoint(Struct, frozen=True):
    """A message of the branch to show."""

    message_id: Annotated[str, Meta(description="A message of the branch to show")]


@lru_cache(maxsize=RENDERED_KEPT)
def rendered(markdown: str, cuts: tuple[int, ...] = ()) -> tuple[str, list[int]]:
    """An answer's HTML, and the number of blocks before each cut; the same text is rendered once."""
    ends = [*cuts, len(markdown)]
    return render_stretches([markdown[start:end] for start, end in zip([0, *cuts], ends, strict=True)])


async def history(request: web.Request) -> web.StreamResponse:
    """GET /api/history/{id}"""
    services_ = services(request)
    session = await services_.sessions.get(session_id(request))
    services_.library.warm()
    limit, before = _limit(request), clean_text(request.query.get("before", ""))
    named = clean_text(request.query.get("leaf", ""))
    leaf = await services_.messages.newest_leaf(session.id, named) if named else None
    page = await services_.messages.page(session.id, limit, before, leaf)
    since = Since(await services_.approvals.states(session.id), await services_.changes.undone_runs(session.id))
    shown = await asyncio.to_thread(_show_all, page, since)
    return json_answer(
        {
            "history": shown,
            "total": page.total,
            "has_more_before": page.has_more_before,
            "name": session.name or "New chat",
            "model": session.model,
        }
    )


@completes
async def branch(request: web.Request) -> web.StreamResponse:
    """POST /api/session/{id}/branch"""
    services_ = services(request)
    body = await read(request, BranchPoint)
    session = await services_.sessions.get(session_id(request))
    if not await services_.messages.is_shown(session.id, body.message_id):
        async with services_.runs.still(session.id):
            await services_.messages.switch(session.id, body.message_id)
    return json_answer({"status": "ok"})


@completes
async def edit(request: web.Request) -> web.StreamResponse:
    """POST /api/session/{id}/edit-message"""
    body = await read(request, Edit)
    session = await services(request).sessions.get(session_id(request))
    await services(request).messages.edit(session.id, body.msg_id, body.content)
    return json_answer({"status": "ok"})


@completes
async def delete(request: web.Request) -> web.StreamResponse:
    """POST /api/session/{id}/delete-messages"""
    services_ = services(request)
    fields = await read_fields(request)
    body = convert({"msg_ids": list_field(fields, "msg_ids")}, Ids)
    session = await services_.sessions.get(session_id(request))
    async with services_.runs.quiet(session.id):
        await services_.messages.delete(session.id, body.msg_ids)
    return json_answer({"status": "ok"})


@completes
async def truncate(request: web.Request) -> web.StreamResponse:
    """POST /api/session/{id}/truncate"""
    services_ = services(request)
    body = await read(request, TruncatePoint)
    session = await services_.sessions.get(session_id(request))
    async with services_.runs.quiet(session.id):
        await services_.messages.truncate(session.id, body.message_id)
    return json_answer({"status": "ok"})


async def search(request: web.Request) -> web.StreamResponse:
    """GET /api/search"""
    query = clean_text(request.query.get("q", "")).strip()
    session = clean_text(request.query.get("session", ""))
    limit = FOUND_IN_ONE if session else FOUND
    hits = await search_messages(services(request).db, query, session, limit) if query else []
    return json_answer([hit_json(hit) for hit in hits])


def hit_json(hit: Hit) -> dict[str, Any]:
    """A message that was found."""
    return {
        "session_id": hit.session_id,
        "message_id": hit.message_id,
        "name": hit.name or "New chat",
        "snippet": hit.snippet,
        "created_at": iso(hit.created_at),
    }


def message_json(message: Message, since: Since) -> dict[str, Any]:
    """A message as clients see it; `html` is empty for the user's own words. Renders, so it belongs in a thread."""
    html, metadata = "", message.metadata
    if message.role == "assistant":
        cuts = tuple(sorted({step["at"] for step in _steps(metadata)}))
        html, counts = rendered(message.content, cuts)
        metadata = shown_metadata(message, dict(zip(cuts, counts, strict=False)), since)
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "html": html,
        "metadata": metadata,
        "created_at": iso(message.created_at),
        "parent_id": message.parent_id,
    }


def shown_metadata(message: Message, blocks: Mapping[int, int], since: Since) -> dict[str, Any]:
    """An answer's metadata for clients: rows with the number of blocks before them, cards with what became of them.

    The record's `partial` is the message's own text. The model's transcript is nobody else's.
    """
    kept = {key: value for key, value in message.metadata.items() if key not in HIDDEN}
    for key in ("tool_events", "notices"):
        if key in kept:
            kept[key] = [_placed(step, blocks) for step in kept[key]]
    asked = kept.get("ask_user")
    if asked and asked.get("kind") == "tool_approval":
        kept["ask_user"] = {**asked, "state": card_state(asked, since.approvals)}
    if kept.get("run_id") in since.undone:
        kept["undone"] = True
    if "status" in kept:
        kept["partial"] = None if kept["status"] == "completed" else message.content
    return kept


def _steps(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*metadata.get("tool_events", ()), *metadata.get("notices", ())]


def _placed(step: Mapping[str, Any], blocks: Mapping[int, int]) -> dict[str, Any]:
    shown = {**{key: value for key, value in step.items() if key != "at"}, "block": blocks[step["at"]]}
    if "command" in shown:
        shown |= {"command": shown_command(shown["command"]), "full_command": shown["command"]}
    return shown


def _show_all(page: Page, since: Since) -> list[dict[str, Any]]:
    return [
        {**message_json(message, since), "siblings": page.siblings.get(message.id, [message.id])}
        for message in page.messages
    ]


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", str(DEFAULT_LIMIT))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= PAGE_LIMIT):
        raise BadRequest(f"`limit` must be a number from 1 to {PAGE_LIMIT}.")
    return int(text)
