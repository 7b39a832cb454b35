"""What the next request of a session would hold, by source, with its tokens: what the model sees of a chat."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from odysseus.context.budget import room_of
from odysseus.context.builder import system_text
from odysseus.context.compaction import summarised_from
from odysseus.context.trimming import Part
from odysseus.context.turns import Prompt, Turn, given_texts
from odysseus.context.window import Window
from odysseus.providers.base import ToolSpec
from odysseus.runs.agent_work import AgentWish
from odysseus.store.sessions import Session
from odysseus.web.answers import json_answer
from odysseus.web.chat import user_clock
from odysseus.web.services import Services, services
from odysseus.web.sessions import session_id

TEXT_LIMIT = 2_000
"""Characters that are shown of one text."""


async def show(request: web.Request) -> web.StreamResponse:
    """GET /api/session/{id}/context"""
    services_, brief = services(request), request.query.get("brief") == "1"
    session = await services_.sessions.get(session_id(request))
    route = await services_.router.route(session.endpoint_id, session.model, session.fallback)
    past = await services_.keeper.past(session.id)
    system, tools = _fixed(services_, session)
    clock = user_clock(request.headers)
    prompt = Prompt(
        system_text(system, clock, services_.clock.wall()),
        past.turns or (Turn(),),
        tools,
        past.summary.text if past.summary else "",
    )
    room = room_of(await route.window())
    window = Window(prompt, room, services_.keeper.counter(route.first), counted_from=math.inf if brief else 0.0)
    fit = await window.fit()
    sources = window.sources()
    answer: dict[str, Any] = {
        "model": route.first.model,
        "endpoint_id": route.first.endpoint_id,
        "context_length": room.window,
        "answer_room": room.answer,
        "used": sources.total,
        "free": max(0, room.prompt - fit.tokens),
        "summarised_from": summarised_from(room, sources.system + sources.tools + sources.summary),
        "estimated": fit.estimated,
        "sources": {name: getattr(sources, name) for name in sources.__slots__},
        "left_out": sum(part.shown is None for part in window.parts()),
        "summary": None,
        "messages": [] if brief else _messages(prompt, window.parts()),
    }
    if past.summary:
        answer["summary"] = {"text": past.summary.text, "messages": past.summary.messages, "tokens": sources.summary}
    return json_answer(answer)


def _fixed(services_: Services, session: Session) -> tuple[str, tuple[ToolSpec, ...]]:
    """The system text and the tools of the session's next message, if it wishes for nothing else."""
    profile = services_.config.agents.get(session.agent) if session.agent else None
    base = profile.instructions if profile else services_.config.chat.system_prompt
    wish = AgentWish(workspace=session.workspace, profile=profile)
    if session.mode == "chat" or (profile and not profile.tools):
        return base, ()
    return services_.desk.system_prompt(base, wish), tuple(services_.desk.toolbox(wish).specs())


def _messages(prompt: Prompt, parts: Sequence[Part]) -> Sequence[Mapping[str, Any]]:
    system = {"role": "system", "text": prompt.system[:TEXT_LIMIT], "chars": len(prompt.system)}
    told = [message for part in parts if (message := _message(part))]
    return [{**system, "images": 0, "calls": [], "given": []}, *told] if prompt.system else told


def _message(part: Part) -> Mapping[str, Any] | None:
    """A message as the model sees it; what it was given stands apart, by title."""
    message = part.shown
    if message is None:
        return None
    return {
        "role": message.role,
        "text": message.content[:TEXT_LIMIT],
        "chars": len(message.content),
        "images": len(message.images),
        "calls": [call.name for call in message.tool_calls],
        "given": [
            {"title": title, "text": text[:TEXT_LIMIT], "chars": len(text)}
            for title, text in given_texts(part.shown_given)
        ],
    }
