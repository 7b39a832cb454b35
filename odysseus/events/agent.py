"""What an agent's rounds say: calls and their rows, questions, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ApprovalDecision = Literal["approve", "approve_task", "deny"]


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
