"""The frames of the chat stream as types, told apart by `type`. They describe; tests hold them to the dialects."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.web.openapi.agent_frames import (
    AgentPrepFrame,
    AgentStepFrame,
    ApprovalResolvedFrame,
    AskUserFrame,
    DocumentDeltaFrame,
    DocumentOpenFrame,
    DocumentSuggestionsFrame,
    DocumentUpdateFrame,
    GeneratedImageFrame,
    Notice,
    PlanUpdateFrame,
    ToolOutputFrame,
    ToolProgressFrame,
    ToolStartFrame,
    UiControlFrame,
    WorkspaceRejectedFrame,
)
from odysseus.web.openapi.context_frames import (
    AttachmentsFrame,
    CompactedFrame,
    ContextTrimmedFrame,
    MemoriesUsedFrame,
    RagSourcesFrame,
    WebSourcesFrame,
)
from odysseus.web.openapi.research_frames import ResearchChatFrame
from odysseus.web.openapi.run_shapes import (
    Chosen,
    Cost,
    EndpointId,
    EndpointLabel,
    Filled,
    Known,
    Model,
    Rate,
    Seconds,
    Source,
    TerminalRecord,
    ToFirst,
    Tokens,
    Window,
    Words,
    json_of,
    one_of,
)

Why = Annotated[str, Meta(description="Why, at most 200 characters", examples=["HTTP 503: The model is loading."])]


class Delta(Struct, kw_only=True):
    """A piece of the answer; with `thinking` a piece of the model's reasoning. It has no `type`."""

    delta: Annotated[str, Meta(description="The text; join the pieces as they are")]
    thinking: Annotated[Literal[True] | UnsetType, Meta(description="Only on reasoning")] = UNSET


class StreamError(Struct):
    """The data of `event: error`, the last frame of a run that failed. It has no `type`."""

    error: Annotated[str, Meta(description="Words for the user")]
    status: Annotated[int, Meta(description="The provider's status, or one that fits")]


class ModelInfoFrame(Struct, tag="model_info"):
    """Who is asked."""

    model: Model
    endpoint_id: EndpointId
    endpoint_label: EndpointLabel


class RetryFrame(Struct, tag="retry"):
    """The endpoint failed before it said anything, and is asked again after a pause."""

    attempt: Annotated[int, Meta(description="Which repetition comes now, from 1")]
    attempts: Annotated[int, Meta(description="How many there are at most")]
    seconds: Annotated[float, Meta(description="The pause before it")]
    reason: Why


class FallbackFrame(Struct, tag="fallback"):
    """The endpoint failed before it said anything, and the next candidate is asked."""

    selected_model: Chosen
    answered_by: Annotated[str, Meta(description="The model that is asked now")]
    reason: Why
    candidate_index: Annotated[int, Meta(description="Its place in the list of fallbacks, from 1")]
    selected_endpoint_id: Annotated[str, Meta(description="Endpoint of the chosen model")]
    answered_by_endpoint_id: Annotated[str, Meta(description="Endpoint of the new candidate")]
    answered_by_label: Annotated[str, Meta(description="Its name for people")]


class RequestUsage(Struct, kw_only=True):
    """Tokens of one request to a model."""

    input_tokens: Annotated[int, Meta(description="The prompt")]
    output_tokens: Annotated[int, Meta(description="The answer, with its reasoning")]
    total_tokens: Annotated[int, Meta(description="Both")]
    round: Annotated[int, Meta(description="Which request of the run, from 1")]
    cached_input_tokens: Known = UNSET
    reasoning_tokens: Known = UNSET
    cost: Annotated[float | UnsetType, Meta(description="US dollars; only when a price is known")] = UNSET
    model: Annotated[str | UnsetType, Meta(description="The model by the provider's own word")] = UNSET
    estimated: Annotated[Literal[True] | UnsetType, Meta(description="Only when the provider told no numbers")] = UNSET


class UsageFrame(Struct, tag="usage"):
    """Tokens of one request to a model, after its last output."""

    data: RequestUsage


class RunFigures(Struct, kw_only=True):
    """The figures of a run."""

    input_tokens: Tokens
    output_tokens: Tokens
    total_tokens: Tokens
    usage_source: Source
    cost: Cost
    cached_input_tokens: Known = UNSET
    reasoning_tokens: Known = UNSET
    total_time: Seconds
    response_time: Annotated[float, Meta(description="Seconds from the first output to the end")]
    time_to_first_token: ToFirst
    tokens_per_second: Rate
    context_length: Window
    context_percent: Filled
    model: Model
    requested_model: Chosen
    endpoint_id: EndpointId
    endpoint_label: EndpointLabel
    agent_rounds: Annotated[int | UnsetType, Meta(description="Of an agent: requests to a model")] = UNSET
    tool_calls: Annotated[int | UnsetType, Meta(description="Of an agent: calls that came to an end")] = UNSET


class MetricsFrame(Struct, tag="metrics"):
    """The figures of the whole run, once, after the last `delta` and `usage`."""

    data: RunFigures


class RunTimeoutFrame(Struct, tag="run_timeout"):
    """A watchdog ended the run. What was said so far is kept."""

    reason: Annotated[Literal["wall_clock_timeout", "idle_timeout"], Meta(description="Which of the two limits")]
    message: Words
    wall_seconds: Annotated[float, Meta(description="The limit on the whole run")]
    idle_seconds: Annotated[float, Meta(description="The limit on a silence")]


class MessageSavedFrame(Struct, tag="message_saved"):
    """The answer is committed to the database."""

    id: Annotated[str, Meta(description="The message's id, as in the history")]


class ChatTerminalFrame(Struct, tag="chat_terminal"):
    """The record of a chat run, committed before it is sent."""

    data: TerminalRecord


class AgentTerminalFrame(Struct, tag="agent_terminal"):
    """The record of an agent run, committed before it is sent."""

    data: TerminalRecord


class ReplayGapFrame(Struct, tag="replay_gap", rename={"first": "from", "last": "to"}):
    """Frames that were asked for have left the buffer. The history has the text."""

    first: Annotated[int, Meta(description="The first missing frame")]
    last: Annotated[int, Meta(description="The last one; go on counting from here")]


class BlockFrame(Struct, tag="block"):
    """Page dialect: a block of the answer as safe HTML, as it stands now."""

    index: Annotated[int, Meta(description="Which block, from 0")]
    open: Annotated[bool, Meta(description="Whether it may still grow and be sent again")]
    html: Annotated[str, Meta(description="What to show in place of what stood there")]


class PageTextFrame(Struct, tag="page_text"):
    """Page dialect: after a gap, all the text up to its end."""

    text: Annotated[str, Meta(description="The answer so far")]
    thinking: Annotated[str, Meta(description="The reasoning so far")]


TypedFrame = (
    ModelInfoFrame
    | RetryFrame
    | FallbackFrame
    | UsageFrame
    | MetricsFrame
    | RunTimeoutFrame
    | MessageSavedFrame
    | ChatTerminalFrame
    | AgentTerminalFrame
    | ReplayGapFrame
    | BlockFrame
    | PageTextFrame
    | AgentPrepFrame
    | AgentStepFrame
    | ToolStartFrame
    | ToolProgressFrame
    | ToolOutputFrame
    | AskUserFrame
    | ApprovalResolvedFrame
    | GeneratedImageFrame
    | UiControlFrame
    | PlanUpdateFrame
    | WorkspaceRejectedFrame
    | AttachmentsFrame
    | RagSourcesFrame
    | WebSourcesFrame
    | MemoriesUsedFrame
    | CompactedFrame
    | ContextTrimmedFrame
    | Notice
    | DocumentOpenFrame
    | DocumentDeltaFrame
    | DocumentUpdateFrame
    | DocumentSuggestionsFrame
    | ResearchChatFrame
)
"""Every frame with a `type`."""

ChatFrame = Annotated[
    Any,
    one_of("Delta", "ChatEvent", "StreamError"),
    Meta(description="The data of a frame"),
]


class ChatStreamEvent(Struct, kw_only=True):
    """An event of the stream. A stream has comments too: `: heartbeat N` comes in every long silence."""

    event: Annotated[Literal["message", "error"], Meta(description="`error` is the last of a run that failed")] = (
        "message"
    )
    id: Annotated[str | UnsetType, Meta(description="The frame's number; only when it is asked for")] = UNSET
    data: Annotated[str, json_of("ChatFrame", "[DONE]"), Meta(description="One line of JSON; `[DONE]` at a good end")]
