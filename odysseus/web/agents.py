"""Named agents for other programs: ask, stream, end a session, health (agent stream contract, section 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from aiohttp import web
from ulid import ULID

from odysseus.config import AgentProfile
from odysseus.dialects.agent import (
    KEEPALIVE,
    AgentEncoder,
    error_frame,
    milliseconds,
    start_frame,
    tokens_used,
)
from odysseus.dialects.sse import EventStream, NextBytes, frame_reader, serve
from odysseus.errors import BadRequest, NotFound, OdysseusError, ProviderError, ShuttingDown
from odysseus.runs.agent_work import AgentWish
from odysseus.runs.ask import Ask
from odysseus.runs.log import Subscription
from odysseus.runs.run import Run
from odysseus.text import clean_text
from odysseus.web.agent_files import read_files
from odysseus.web.agent_request import AgentCall, parse_session_id, read_call
from odysseus.web.answers import completes, json_answer
from odysseus.web.services import Services, services

SESSION_HEADER = "X-Session-Id"


async def stream(request: web.Request) -> web.StreamResponse:
    """POST /agent/{agent_name}/chat/stream"""
    services_ = services(request)
    async with read_call(request, _profile(request)) as call:
        ask = await _ask(request, call)
    profile = _profile(request)
    events = EventStream(
        heartbeat=profile.keepalive,
        send_timeout=services_.config.server.send_timeout,
        headers={SESSION_HEADER: ask.session_id},
        comment=KEEPALIVE,
    )
    feed = _Feed(services_, ask, AgentEncoder(ask.answer_id, reasoning=call.include_reasoning), events)
    try:
        return await serve(request, events, feed.next_bytes)
    finally:
        feed.close()


async def chat(request: web.Request) -> web.StreamResponse:
    """POST /agent/{agent_name}/chat"""
    async with read_call(request, _profile(request)) as call:
        ask = await _ask(request, call)
    run = await services(request).runs.start(ask, lambda _event: None)
    try:
        await run.finished()
    finally:
        run.stop("client_disconnected")
    return json_answer(_whole(run, ask))


@completes
async def end_session(request: web.Request) -> web.StreamResponse:
    """DELETE /sessions/{session_id}"""
    services_ = services(request)
    session_id = parse_session_id(clean_text(request.match_info["session_id"]))
    if session_id is None:
        raise BadRequest("Field 'session_id': expected a ULID.")
    if await services_.agent_sessions.exists(session_id):
        async with services_.runs.quiet(session_id, discard=True):
            await services_.sessions.delete(session_id)
    return web.Response(status=204)


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/agents"""
    services_ = services(request)
    return json_answer([_agent_json(services_, name, one) for name, one in services_.config.agents.items()])


async def health(request: web.Request) -> web.StreamResponse:
    """GET /health and GET /health/agent: the default agent, and which there are."""
    agents = services(request).config.agents
    if not agents:
        raise ShuttingDown("No agent is configured. Add one as [agents.name] in the settings.")
    state = await _health(services(request), next(iter(agents)))
    if request.path == "/health" and len(agents) > 1:
        state["agents"] = list(agents)
    return json_answer(state, 200 if state["agent_ready"] else 503)


async def agent_health(request: web.Request) -> web.StreamResponse:
    """GET /health/agent/{agent_name}"""
    _profile(request)
    state = await _health(services(request), request.match_info["agent_name"])
    return json_answer(state, 200 if state["agent_ready"] else 503)


async def ready(request: web.Request) -> web.StreamResponse:
    """GET /ready"""
    agents = services(request).config.agents
    able = bool(agents) and _is_ready(services(request), next(iter(agents.values())))
    return json_answer({"ready": able}, 200 if able else 503)


async def _health(services_: Services, name: str) -> dict[str, Any]:
    profile = services_.config.agents[name]
    able = _is_ready(services_, profile)
    return {
        "status": "healthy" if able else "unhealthy",
        "agent_name": name,
        "agent_ready": able,
        "active_sessions": await services_.agent_sessions.count(name, profile.session_minutes * 60),
        "uptime_seconds": round(services_.clock.monotonic() - services_.started_at, 3),
    }


def _agent_json(services_: Services, name: str, profile: AgentProfile) -> dict[str, Any]:
    """An agent for the page, without its instructions."""
    return {
        "name": name,
        "description": profile.description,
        "endpoint": profile.endpoint or services_.config.chat.endpoint,
        "model": profile.model,
        "tools": list(profile.tools),
        "allow": list(profile.allow),
        "ready": _is_ready(services_, profile),
        "path": f"/agent/{name}/chat",
    }


def _is_ready(services_: Services, profile: AgentProfile) -> bool:
    return services_.router.is_ready(profile.endpoint)


def _profile(request: web.Request) -> AgentProfile:
    agents = services(request).config.agents
    profile = agents.get(request.match_info["agent_name"])
    if profile is None:
        raise NotFound(f"There is no such agent. The agents are: {', '.join(agents) or 'none'}.")
    return profile


async def _ask(request: web.Request, call: AgentCall) -> Ask:
    """What to run, in a session that is there. Raises TooMany, ShuttingDown; nothing is stored then."""
    services_ = services(request)
    profile, name = _profile(request), request.match_info["agent_name"]
    if call.files:
        await services_.router.listings()  # which models take pictures
    try:
        route = await services_.router.route(profile.endpoint, profile.model)
    except BadRequest as error:
        raise ProviderError(error.message, status=503) from error
    given = await read_files(call.files, sees=route.first.vision)
    seconds = profile.session_minutes * 60
    session_id = call.session_id
    if session_id is None or not await services_.agent_sessions.use(session_id, name, seconds):
        session_id = str(ULID())
        await services_.agent_sessions.create(session_id, name, seconds, profile.max_sessions)
    return Ask(
        session_id,
        call.message,
        "agent" if profile.tools else "chat",
        route,
        system_prompt=profile.instructions,
        temperature=profile.temperature,
        max_tokens=profile.max_tokens or None,
        given=given,
        detached=False,
        patient=True,
        answer_id=str(ULID()),
        agent=AgentWish(profile=profile),
    )


class _Feed:
    """The frames of one stream: the first at once, then those of its run, which ends with it."""

    def __init__(self, services_: Services, ask: Ask, encode: AgentEncoder, events: EventStream) -> None:
        self._services = services_
        self._ask = ask
        self._encode = encode
        self._events = events
        self._run: Run | None = None
        self._subscription: Subscription | None = None
        self._frames: NextBytes | None = None
        self._begun = False

    async def next_bytes(self) -> bytes:
        """The next bytes; empty at the end."""
        if not self._begun:
            self._begun = True
            return start_frame(self._ask.session_id, self._ask.answer_id)
        if self._frames is None:
            try:
                self._run = await self._services.runs.start(self._ask, self._encode)
            except OdysseusError as error:
                self._frames = _nothing
                return error_frame("Agent Error", error.status, error.message)
            self._subscription = self._run.log.subscribe(0, self._events.push)
            self._frames = frame_reader(self._subscription, ids=False)
        return await self._frames()

    def close(self) -> None:
        """The client has gone, or has all of it."""
        if self._subscription is not None:
            self._subscription.close()
        if self._run is not None:
            self._run.stop("client_disconnected")


async def _nothing() -> bytes:
    return b""


def _whole(run: Run, ask: Ask) -> Mapping[str, Any]:
    """The synchronous answer. Raises the run's failure."""
    record = run.record
    if record["status"] != "completed":
        told = record["failure"]["message"] if record["failure"] else "The agent was stopped before it had answered."
        raise ProviderError(told, status=503 if record["status"] == "interrupted" else 500)
    return {
        "message_id": ask.answer_id,
        "content": run.draft.text,
        "session_id": ask.session_id,
        "tool_calls": _calls(run.draft.steps),
        "tokens_used": tokens_used(record),
        "execution_time_ms": milliseconds(record),
    }


def _calls(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All calls with how they went, in the order they were made; one that never ran counts as failed."""
    ends: dict[str, list[Any]] = {}
    for step in steps:
        if step["step"] == "end":
            ends.setdefault(step["call_id"], []).append(step["exit_code"])
    made = [call for step in steps if step["step"] == "note" for call in step["entry"].get("calls", ())]
    return [
        {
            "name": call["name"],
            "arguments": _arguments(call["arguments"]),
            "status": "success" if (ends.get(call["id"]) or [1]).pop(0) in {0, None} else "error",
        }
        for call in made
    ]


def _arguments(text: str) -> Any:
    """As an object where they are one, else the text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
