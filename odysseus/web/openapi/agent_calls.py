"""The calls of the named agents, for other programs. One entry for each: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from odysseus.web.agent_request import AgentBody
from odysseus.web.openapi.agent_types import (
    AgentAnswer,
    AgentForm,
    AgentHealth,
    AgentInfo,
    AgentProblem,
    AgentStreamEvent,
    Ready,
)
from odysseus.web.openapi.operation import EVENTS, JSON, MULTIPART, Answer, Body, Operation, Parameter, Problems, said

PROBLEM_JSON = "application/problem+json"
RETRY = {"Retry-After": "Seconds after which it may be asked again"}
AGENTS = Problems(
    "AgentProblem",
    PROBLEM_JSON,
    AgentProblem,
    {
        400: "The request cannot be read, or a field is missing or wrong",
        401: "The server has a token, and this request has not",
        403: "The Host or the Origin is not one that may ask",
        404: "There is no such agent",
        413: "A file, all files or the body are too large",
        415: "The body or a file has a type that is not read",
        429: "There are too many sessions",
        500: "The agent failed",
        503: "The agent is not ready, or the server is shutting down",
        507: "The disk is full",
    },
    always=(401, 403, 500, 503),
    headers={429: RETRY, 503: RETRY},
)
NAME = Parameter("agent_name", "path", "The agent, as the settings name it")
MESSAGE = Body(AgentBody, (JSON, MULTIPART), form=AgentForm, example={"message": "Say hello."})
ULID = r"^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"
SESSION = Parameter("session_id", "path", "The session's ULID", Annotated[str, Meta(pattern=ULID)])
SESSION_ID = {"X-Session-Id": "The session, to go on with"}

CALLS: Sequence[Operation] = (
    Operation(
        method="post",
        path="/agent/{agent_name}/chat",
        id="agentChat",
        tag="Agents",
        summary="Ask an agent, and get the whole answer",
        parameters=(NAME,),
        body=MESSAGE,
        answers={200: Answer("The answer", {JSON: AgentAnswer})},
        errors=(404, 429, 507),
        problems=AGENTS,
    ),
    Operation(
        method="post",
        path="/agent/{agent_name}/chat/stream",
        id="agentStream",
        tag="Agents",
        summary="Ask an agent, and read the answer as it comes",
        description="A client that leaves stops the run.",
        parameters=(NAME,),
        body=MESSAGE,
        answers={
            200: Answer("Server-sent events. The schema is that of one event.", {EVENTS: AgentStreamEvent}, SESSION_ID)
        },
        errors=(404, 429, 507),
        problems=AGENTS,
    ),
    Operation(
        method="delete",
        path="/sessions/{session_id}",
        id="endAgentSession",
        tag="Agents",
        summary="Forget a session of an agent",
        parameters=(SESSION,),
        answers={204: Answer("There is no such session now")},
        errors=(400, 507),
        problems=AGENTS,
    ),
    *(
        Operation(
            method="get",
            path=path,
            id=name,
            tag="Agents",
            summary=summary,
            parameters=(NAME,) if "{" in path else (),
            answers={
                200: Answer("It is healthy", {JSON: AgentHealth}),
                503: Answer("It is not, or there is none", {JSON: AgentHealth, PROBLEM_JSON: AgentProblem}),
            },
            errors=(404,) if "{" in path else (),
            problems=AGENTS,
        )
        for path, name, summary in (
            ("/health", "agentsHealth", "How the default agent is, and which there are"),
            ("/health/agent", "defaultAgentHealth", "How the default agent is"),
            ("/health/agent/{agent_name}", "agentHealth", "How an agent is"),
        )
    ),
    Operation(
        method="get",
        path="/api/agents",
        id="listAgents",
        tag="Agents",
        summary="List the agents of the settings, for the page",
        answers=said("The agents, the default one first", list[AgentInfo]),
    ),
    Operation(
        method="get",
        path="/ready",
        id="ready",
        tag="Agents",
        summary="Whether agents can be called",
        answers={
            200: Answer("They can", {JSON: Ready}),
            503: Answer("They cannot yet", {JSON: Ready, PROBLEM_JSON: AgentProblem}),
        },
        problems=AGENTS,
    ),
)
