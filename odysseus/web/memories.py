"""Memories: what the user keeps, changes and throws away of what is remembered beyond a chat."""

from __future__ import annotations

from typing import Annotated, Any

from aiohttp import web
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from odysseus.clock import iso
from odysseus.errors import BadRequest
from odysseus.store.memories import Memory, State, tidy
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import read
from odysseus.web.services import services

Text = Annotated[str, Meta(max_length=1000)]
Category = Annotated[str, Meta(max_length=40)]
FACT = "fact"


class NewMemory(Struct, frozen=True, kw_only=True):
    """A fact to remember. One that is known is not kept twice."""

    text: Annotated[Text, Meta(description="One fact, on one line")]
    category: Annotated[Category, Meta(description="Like fact, preference, person or project")] = FACT
    pinned: Annotated[bool, Meta(description="Whether every prompt has it")] = False


class MemoryChange(Struct, frozen=True, kw_only=True):
    """What is given is set."""

    text: Annotated[Text | UnsetType, Meta(description="One fact, on one line")] = UNSET
    category: Annotated[Category | UnsetType, Meta(description="Like fact, preference, person or project")] = UNSET
    pinned: Annotated[bool | UnsetType, Meta(description="Whether every prompt has it")] = UNSET
    state: Annotated[State | UnsetType, Meta(description="`kept`; a `proposed` one is not used")] = UNSET


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/memories"""
    state = request.query.get("state")
    if state not in {None, "kept", "proposed"}:
        raise BadRequest("`state` must be kept or proposed.")
    chosen: State | None = "kept" if state == "kept" else "proposed" if state else None
    found = await services(request).memories.list(clean_text(request.query.get("q", "")), state=chosen)
    return json_answer([memory_json(memory) for memory in found])


@completes
async def create(request: web.Request) -> web.StreamResponse:
    """POST /api/memories"""
    body = await read(request, NewMemory)
    memories = services(request).memories
    memory, new = await memories.remember(_text(body.text), _category(body.category), pinned=body.pinned)
    if not new and body.pinned and not memory.pinned:
        memory = await memories.change(memory.id, {"pinned": True})
    return json_answer(memory_json(memory))


@completes
async def change(request: web.Request) -> web.StreamResponse:
    """PATCH /api/memories/{memory}"""
    body = await read(request, MemoryChange)
    fields: dict[str, Any] = {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
    if "text" in fields:
        fields["text"] = _text(fields["text"])
    if "category" in fields:
        fields["category"] = _category(fields["category"])
    return json_answer(memory_json(await services(request).memories.change(_id(request), fields)))


@completes
async def delete(request: web.Request) -> web.StreamResponse:
    """DELETE /api/memories/{memory}"""
    await services(request).memories.forget(memory_id=_id(request))
    return json_answer({"status": "deleted"})


def memory_json(memory: Memory) -> dict[str, Any]:
    """A memory as the API tells it."""
    return {
        "id": memory.id,
        "text": memory.text,
        "category": memory.category,
        "pinned": memory.pinned,
        "state": memory.state,
        "outside": memory.outside,
        "session_id": memory.session_id,
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
    }


def _id(request: web.Request) -> str:
    """The id in the address; a space, which no id is, in place of nothing."""
    return clean_text(request.match_info["memory"]) or " "


def _text(text: str) -> str:
    tidied = tidy(text)
    if not tidied:
        raise BadRequest("Field 'text': it may not be empty.")
    return tidied


def _category(category: str) -> str:
    return tidy(category).casefold() or FACT
