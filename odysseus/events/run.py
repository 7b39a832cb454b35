"""What every run says: its text, its route, its figures, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
