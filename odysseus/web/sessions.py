"""Sessions: list, create, change, delete, fork (contract, section 8)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aiohttp import web
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from odysseus.clock import iso
from odysseus.errors import BadRequest
from odysseus.store.sessions import NAME_LIMIT, Session
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import Chosen, convert, list_field, read, read_fields
from odysseus.web.services import services

Name = Annotated[str, Meta(max_length=NAME_LIMIT)]
Fallback = Annotated[str, Meta(min_length=1, max_length=300)]


class NewSession(Struct, frozen=True):
    """All optional."""

    name: Annotated[Name, Meta(description="Its name; without one it is named after the first message")] = ""
    model: Annotated[Chosen, Meta(description="The model to ask; absent: the default")] = ""
    endpoint_id: Annotated[Chosen, Meta(description="The endpoint to ask; absent: the default")] = ""
    mode: Annotated[Literal["chat", "agent"] | None, Meta(description="Its mode; absent: the one of the settings")] = (
        None
    )


class SessionChange(Struct, frozen=True):
    """What is given is set. `fallback` names who is asked when the model fails, as `endpoint` or `endpoint/model`."""

    name: Annotated[Name | UnsetType, Meta(description="Its name, not empty")] = UNSET
    model: Annotated[Chosen | UnsetType, Meta(description="The model to ask")] = UNSET
    endpoint_id: Annotated[Chosen | UnsetType, Meta(description="The endpoint to ask")] = UNSET
    mode: Annotated[Literal["chat", "agent"] | UnsetType, Meta(description="The mode of messages that name none")] = (
        UNSET
    )
    fallback: Annotated[
        tuple[Fallback, ...] | UnsetType,
        Meta(description="Who is asked when the model fails, as `endpoint` or `endpoint/model`"),
    ] = UNSET
    workspace: Annotated[
        str | UnsetType, Meta(description="Whole path of the folder that its agent works in; empty for one of its own")
    ] = UNSET
    archived: Annotated[bool | UnsetType, Meta(description="Put away, or back")] = UNSET
    pinned: Annotated[bool | UnsetType, Meta(description="First in the list, or not")] = UNSET


class ForkPoint(Struct, frozen=True):
    """The last message to take along."""

    message_id: Annotated[str, Meta(description="The last message to take along")]


def session_json(session: Session, *, running: bool) -> dict[str, Any]:
    """A session as clients see it."""
    return {
        "id": session.id,
        "name": session.name or "New chat",
        "model": session.model,
        "endpoint_id": session.endpoint_id,
        "mode": session.mode,
        "fallback": list(session.fallback),
        "workspace": session.workspace,
        "archived": session.archived,
        "pinned": session.pinned,
        "created_at": iso(session.created_at),
        "updated_at": iso(session.updated_at),
        "last_message_at": None if session.last_message_at is None else iso(session.last_message_at),
        "message_count": session.message_count,
        "total_tokens": session.total_tokens,
        "running": running,
    }


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/sessions"""
    services_ = services(request)
    archived = request.query.get("archived", "").lower() in {"1", "true"}
    sessions = await services_.sessions.list(clean_text(request.query.get("q", "")), archived=archived)
    return json_answer([session_json(session, running=services_.runs.is_running(session.id)) for session in sessions])


@completes
async def create(request: web.Request) -> web.StreamResponse:
    """POST /api/session"""
    services_ = services(request)
    body = await read(request, NewSession)
    endpoint_id, model = services_.router.default()
    session = await services_.sessions.create(
        name=body.name.strip(),
        endpoint_id=body.endpoint_id or endpoint_id,
        model=body.model or ("" if body.endpoint_id else model),
        mode=body.mode or services_.config.chat.mode,
    )
    return json_answer(session_json(session, running=False))


@completes
async def change(request: web.Request) -> web.StreamResponse:
    """PATCH /api/session/{id}"""
    given = await read_fields(request)
    if "fallback" in given:
        given = {**given, "fallback": list_field(given, "fallback")}
    body = convert(given, SessionChange)
    fields = {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
    if "name" in fields:
        fields["name"] = fields["name"].strip()
        if not fields["name"]:
            raise BadRequest("Field 'name': a session's name cannot be empty.")
    if fields.get("workspace"):
        fields["workspace"] = await services(request).desk.places.check(fields["workspace"])
    session = await services(request).sessions.change(session_id(request), fields)
    return json_answer(session_json(session, running=services(request).runs.is_running(session.id)))


@completes
async def delete(request: web.Request) -> web.StreamResponse:
    """DELETE /api/session/{id}"""
    services_ = services(request)
    session = await services_.sessions.get(session_id(request))
    async with services_.runs.quiet(session.id, discard=True):
        await services_.sessions.delete(session.id)
    return json_answer({"status": "deleted"})


@completes
async def fork(request: web.Request) -> web.StreamResponse:
    """POST /api/session/{id}/fork"""
    services_ = services(request)
    body = await read(request, ForkPoint)
    session = await services_.sessions.get(session_id(request))
    return json_answer(session_json(await services_.messages.fork(session, body.message_id), running=False))


def session_id(request: web.Request) -> str:
    """The id in the address."""
    return clean_text(request.match_info["session"])
