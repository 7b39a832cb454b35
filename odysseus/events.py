"""The vocabulary: everything a run can say, as small frozen values.

Providers make the deltas, the run adds the rest, a dialect writes each as bytes. Nothing here knows how an event is
made, stored or written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

RunStatus = Literal["completed", "stopped", "failed", "timeout", "interrupted"]
StopReason = Literal[
    "user_stop",
    "replaced",
    "client_disconnected",
    "wall_clock_timeout",
    "idle_timeout",
    "error",
    "server_restart",
    "server_shutdown",
]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]
Mode = Literal["chat", "agent"]
ApprovalDecision = Literal["approve", "approve_task", "deny"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the reasoning channel, never part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The route that answers. `context_length` is its window in tokens, None when not known."""

    model: str
    endpoint_id: str
    endpoint_label: str
    context_length: int | None = None


@dataclass(frozen=True, slots=True)
class Retrying:
    """The endpoint failed before it said anything and is asked again after so many seconds."""

    attempt: int
    attempts: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class FellBack:
    """Another candidate answers, since the selected one failed before it said anything."""

    selected_model: str
    answered_by: str
    reason: str
    candidate_index: int
    selected_endpoint_id: str
    answered_by_endpoint_id: str
    answered_by_label: str
    context_length: int | None = None


@dataclass(frozen=True, slots=True)
class AgentPrepared:
    """What an agent run did before its first request, in seconds by step."""

    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RoundBegun:
    """A new round of the agent begins; round 1 has no such event."""

    round: int


@dataclass(frozen=True, slots=True)
class CallWritten:
    """A piece of a call's arguments as the model writes them. The first of a call may be empty."""

    call_id: str
    tool: str
    arguments: str
    round: int


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call's row opens. `command` says in one line what is called, for people."""

    call_id: str
    tool: str
    command: str
    round: int


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A call goes on. `elapsed` in seconds; `tail` is the newest output of a subprocess."""

    call_id: str
    tool: str
    message: str
    elapsed: float
    round: int
    tail: str = ""


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A call's row closes: exactly one for each ToolStarted.

    `exit_code` is 0 for success, None while the user is asked, and another number for a failure. `extras` are the
    contract's further fields of `tool_output` (chat stream, section 3).
    """

    call_id: str
    tool: str
    command: str
    output: str
    exit_code: int | None
    round: int
    elapsed: float = 0.0
    extras: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserAsked:
    """A question or an approval card, which ends the turn (chat stream, section 4)."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """The user has decided on a sealed call; the first event of the run that the decision starts."""

    approval_id: str
    decision: ApprovalDecision


@dataclass(frozen=True, slots=True)
class ImageMade:
    """A picture that a tool made."""

    url: str
    image_id: str
    prompt: str
    model: str
    size: str


@dataclass(frozen=True, slots=True)
class UiControlled:
    """The agent asks the page for one of the contract's actions."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlanUpdated:
    """The whole plan, as a Markdown checklist."""

    plan: str


@dataclass(frozen=True, slots=True)
class WorkspaceRejected:
    """The wished workspace cannot be used; the run works in the session's own folder."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FilesAttached:
    """The files of a message as they were read (the contract's `attachments.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PassagesUsed:
    """Passages of the user's library that the model was given (the contract's `rag_sources.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WebSourcesUsed:
    """Web results that the model was given before it answered (the contract's `web_sources.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class MemoriesUsed:
    """Memories that the model was given (the contract's `memories_used.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Compacted:
    """Older turns were summarised for the model; the history keeps them. `context_length` in tokens."""

    context_length: int
    messages_compacted: int


@dataclass(frozen=True, slots=True)
class ContextTrimmed:
    """Older messages were left out for the model, since the window is full. Tokens are as counted."""

    context_length: int
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class RoundsExhausted:
    """The run has used its rounds; a next message goes on from there."""

    rounds: int


@dataclass(frozen=True, slots=True)
class BudgetExceeded:
    """The run has used its tool calls (`kind` "tool_calls") or its money (`kind` "cost", US dollars)."""

    kind: Literal["tool_calls", "cost"]
    limit: float
    used: float


@dataclass(frozen=True, slots=True)
class LoopBroken:
    """The model went round in circles; it gets one more round, without tools."""

    reason: str
    message: str
    round: int
    detail: str


@dataclass(frozen=True, slots=True)
class NudgesExhausted:
    """The model kept announcing an action without taking it."""

    reason: str
    message: str
    round: int
    nudges: int
    matched: str


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """A document operation was accepted; its text follows."""

    title: str
    language: str


@dataclass(frozen=True, slots=True)
class DocumentWritten:
    """The whole text of the document that was opened."""

    content: str


@dataclass(frozen=True, slots=True)
class DocumentUpdated:
    """A document's new version."""

    doc_id: str
    content: str
    version: int
    title: str
    language: str


@dataclass(frozen=True, slots=True)
class DocumentSuggested:
    """Changes that the user may take or leave: id, find, replace, reason each."""

    doc_id: str
    suggestions: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Noted:
    """A message of the model's own history, kept for its next prompt. Internal: no dialect shows it."""

    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Tokens of one request to a model. `estimated` says that the provider sent no numbers."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    model: str | None = None
    round: int = 1
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Metrics:
    """The run's figures as the contract's `metrics.data` (chat stream, section 3): seconds and tokens."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunTimedOut:
    """A watchdog ended the run."""

    reason: Literal["wall_clock_timeout", "idle_timeout"]
    message: str
    wall_seconds: float
    idle_seconds: float


@dataclass(frozen=True, slots=True)
class MessageSaved:
    """The assistant message is committed under this id."""

    message_id: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The terminal record, as the contract's section 7 has it, committed before this event."""

    mode: Mode
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The last event of a failed or interrupted run. `message` is fit for the user."""

    message: str
    status: int


@dataclass(frozen=True, slots=True)
class StreamDone:
    """The last event of a run that completed or was stopped."""


Event = (
    TextDelta
    | ReasoningDelta
    | ModelInfo
    | Retrying
    | FellBack
    | AgentPrepared
    | RoundBegun
    | CallWritten
    | ToolStarted
    | ToolProgressed
    | ToolEnded
    | UserAsked
    | ApprovalResolved
    | ImageMade
    | UiControlled
    | PlanUpdated
    | WorkspaceRejected
    | FilesAttached
    | PassagesUsed
    | WebSourcesUsed
    | MemoriesUsed
    | Compacted
    | ContextTrimmed
    | RoundsExhausted
    | BudgetExceeded
    | LoopBroken
    | NudgesExhausted
    | DocumentOpened
    | DocumentWritten
    | DocumentUpdated
    | DocumentSuggested
    | Noted
    | UsageReport
    | Metrics
    | RunTimedOut
    | MessageSaved
    | RunEnded
    | RunFailed
    | StreamDone
)
