"""What the named agents answer and stream, as types to describe it. Tests hold them to what is really sent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.web.agent_request import MESSAGE_LIMIT, MOST_FILES
from odysseus.web.openapi.operation import Binary
from odysseus.web.openapi.run_shapes import json_of, one_of

Ulid = Annotated[str, Meta(description="A ULID", examples=["01ARZ3NDEKTSV4RRFFQ69G5FAV"])]
MessageId = Annotated[str, Meta(description="The answer's ULID")]
EventName = Literal[
    "stream_start",
    "message_delta",
    "reasoning_delta",
    "tool_call_start",
    "tool_call_args",
    "tool_call_end",
    "stream_end",
    "error",
]
AgentCallId = Annotated[str, Meta(description="Which call")]


class FieldProblem(Struct):
    """What is wrong with a field."""

    field: Annotated[str, Meta(description="Its name")]
    message: Annotated[str, Meta(description="What is wrong, in words")]


class AgentProblem(Struct, kw_only=True):
    """An error, as RFC 9457 has it."""

    type: Annotated[str, Meta(description="A URI that names the kind")]
    title: Annotated[str, Meta(description="The kind in words")]
    status: Annotated[int, Meta(description="The HTTP status")]
    detail: Annotated[str, Meta(description="What was wrong, and what to do")]
    instance: Annotated[str, Meta(description="The path of the request")]
    errors: Annotated[list[FieldProblem] | UnsetType, Meta(description="The fields that are wrong")] = UNSET


class AgentForm(Struct, kw_only=True):
    """A message with its files, as a form."""

    message: Annotated[str, Meta(min_length=1, max_length=MESSAGE_LIMIT, description="The user's text")]
    session_id: Annotated[str, Meta(description="The session to go on with; absent: a new one")] = ""
    include_reasoning: Annotated[bool, Meta(description="Whether the stream tells the reasoning")] = False
    files: Annotated[list[Binary], Meta(max_length=MOST_FILES, description="Files, each with its content type")] = []


class TokensUsed(Struct):
    """Tokens of the whole run."""

    prompt_tokens: Annotated[int, Meta(description="Of the prompts")]
    completion_tokens: Annotated[int, Meta(description="Of the answers")]
    total_tokens: Annotated[int, Meta(description="Both")]


class MadeCall(Struct):
    """A call of a tool."""

    name: Annotated[str, Meta(description="The tool")]
    arguments: Annotated[Any, Meta(description="Its arguments: an object, or the text when it is none")]
    status: Annotated[Literal["success", "error"], Meta(description="How it went")]


class AgentAnswer(Struct):
    """The whole answer."""

    message_id: MessageId
    content: Annotated[str, Meta(description="The answer's text")]
    session_id: Ulid
    tool_calls: Annotated[list[MadeCall], Meta(description="The calls in the order they were made")]
    tokens_used: TokensUsed
    execution_time_ms: Annotated[int, Meta(description="Milliseconds")]


class AgentHealth(Struct, kw_only=True):
    """How an agent is."""

    status: Annotated[Literal["healthy", "unhealthy"], Meta(description="Whether it can answer")]
    agent_name: Annotated[str, Meta(description="The agent")]
    agent_ready: Annotated[bool, Meta(description="Whether its model can be asked")]
    active_sessions: Annotated[int, Meta(description="Sessions that have not expired")]
    uptime_seconds: Annotated[float, Meta(description="Since the server's start")]
    agents: Annotated[list[str] | UnsetType, Meta(description="All agents, when there are several")] = UNSET


class AgentInfo(Struct, kw_only=True):
    """An agent of the settings, as the page lists it."""

    name: Annotated[str, Meta(description="Its name")]
    description: Annotated[str, Meta(description="What it is for")]
    endpoint: Annotated[str, Meta(description="The id of the endpoint that it asks")]
    model: Annotated[str, Meta(description="The model that it asks; empty is the endpoint's first")]
    tools: Annotated[list[str], Meta(description="The tools that it may use")]
    allow: Annotated[list[str], Meta(description="Those of them that it uses without asking")]
    ready: Annotated[bool, Meta(description="Whether its model can be asked")]
    path: Annotated[str, Meta(description="Where it is asked; with `/stream` behind it as a stream")]


class Ready(Struct):
    """Whether agents can be called."""

    ready: Annotated[bool, Meta(description="Whether the default agent is ready")]


class StreamStart(Struct):
    """`event: stream_start`: always first, before the model answers."""

    session_id: Ulid
    message_id: MessageId


class MessageDelta(Struct):
    """`event: message_delta`, and `event: reasoning_delta` when the request wants the reasoning."""

    delta: Annotated[str, Meta(description="A piece of text; join them as they are")]
    message_id: MessageId


class ToolCallStart(Struct):
    """`event: tool_call_start`: a call begins. It always has its end."""

    tool_call_id: AgentCallId
    name: Annotated[str, Meta(description="The tool")]
    message_id: MessageId


class ToolCallArgs(Struct):
    """`event: tool_call_args`: the arguments as the model writes them."""

    tool_call_id: AgentCallId
    args_delta: Annotated[str, Meta(description="A piece of JSON; joined they are the exact arguments")]


class ToolCallEnd(Struct):
    """`event: tool_call_end`: a call has ended."""

    tool_call_id: AgentCallId
    status: Annotated[Literal["success", "error"], Meta(description="How it went")]


class StreamEnd(Struct):
    """`event: stream_end`: last of a good stream."""

    message_id: MessageId
    tokens_used: TokensUsed
    execution_time_ms: Annotated[int, Meta(description="Milliseconds")]


class AgentStreamError(Struct):
    """`event: error`: last of a failed stream."""

    type: Annotated[str, Meta(description="A URI that names the kind")]
    title: Annotated[str, Meta(description="The kind in words")]
    status: Annotated[int, Meta(description="An HTTP status")]
    detail: Annotated[str, Meta(description="What went wrong, in words")]


EVENT_TYPES = (StreamStart, MessageDelta, ToolCallStart, ToolCallArgs, ToolCallEnd, StreamEnd, AgentStreamError)
AgentEvent = Annotated[
    Any,
    one_of(*(kind.__name__ for kind in EVENT_TYPES)),
    Meta(description="The data of an event; its name tells which"),
]


class AgentStreamEvent(Struct, kw_only=True):
    """An event of the stream. A stream has comments too: `: keepalive` comes in every long silence."""

    event: Annotated[EventName, Meta(description="What it is")]
    data: Annotated[str, json_of("AgentEvent"), Meta(description="One line of JSON")]
