"""The agent's events as frames of the chat stream (contract, sections 3 and 4). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from odysseus.events import (
    AgentPrepared,
    ApprovalResolved,
    BudgetExceeded,
    Compacted,
    ContextTrimmed,
    DocumentOpened,
    DocumentSuggested,
    DocumentUpdated,
    DocumentWritten,
    Event,
    FilesAttached,
    ImageMade,
    LoopBroken,
    MemoriesUsed,
    NudgesExhausted,
    PassagesUsed,
    PlanUpdated,
    ResearchDone,
    ResearchFound,
    ResearchProgressed,
    ResearchSourced,
    RoundBegun,
    RoundsExhausted,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    UiControlled,
    UserAsked,
    WebSourcesUsed,
    WorkspaceRejected,
)
from odysseus.text import clipped

COMMAND_LIMIT = 240


def agent_fields(event: Event) -> Mapping[str, Any]:
    """The event's frame as a JSON object, its `type` included."""
    kind, fields = _FRAMES[type(event)]
    return {"type": kind, **fields(event)}


def shown_command(command: str) -> str:
    """The first line of a command, at most 240 characters, for display."""
    lines = [line.strip() for line in command.splitlines() if line.strip()]
    shown = f"{lines[0]} …" if len(lines) > 1 else "".join(lines)
    return clipped(shown, COMMAND_LIMIT)


def _slots(event: Any) -> Mapping[str, Any]:
    return {name: getattr(event, name) for name in event.__slots__}


def _row(event: ToolStarted | ToolProgressed | ToolEnded) -> dict[str, Any]:
    return {"tool": event.tool, "round": event.round, "call_id": event.call_id}


def _started(event: ToolStarted) -> Mapping[str, Any]:
    return {**_row(event), "command": shown_command(event.command), "full_command": event.command}


def _progressed(event: ToolProgressed) -> Mapping[str, Any]:
    tail = {"tail": event.tail} if event.tail else {}
    return {**_row(event), "message": event.message, "elapsed": round(event.elapsed, 1), **tail}


def _ended(event: ToolEnded) -> Mapping[str, Any]:
    return {
        **_row(event),
        "command": shown_command(event.command),
        "output": event.output,
        "exit_code": event.exit_code,
        "elapsed": round(event.elapsed, 1),
        **event.extras,
    }


def _broken(event: LoopBroken) -> Mapping[str, Any]:
    return {"reason": event.reason, "message": event.message, "round": event.round, "detail": event.detail}


_FRAMES = cast(
    Mapping[type[Event], tuple[str, Callable[[Event], Mapping[str, Any]]]],
    {
        AgentPrepared: ("agent_prep", lambda event: {"data": event.seconds}),
        RoundBegun: ("agent_step", _slots),
        ToolStarted: ("tool_start", _started),
        ToolProgressed: ("tool_progress", _progressed),
        ToolEnded: ("tool_output", _ended),
        UserAsked: ("ask_user", _slots),
        ApprovalResolved: ("tool_approval_resolved", _slots),
        ImageMade: ("generated_image", _slots),
        UiControlled: ("ui_control", _slots),
        PlanUpdated: ("plan_update", lambda event: {"data": {"plan": event.plan}}),
        WorkspaceRejected: ("workspace_rejected", lambda event: {"data": _slots(event)}),
        FilesAttached: ("attachments", _slots),
        PassagesUsed: ("rag_sources", _slots),
        WebSourcesUsed: ("web_sources", _slots),
        MemoriesUsed: ("memories_used", _slots),
        Compacted: ("compacted", _slots),
        ContextTrimmed: ("context_trimmed", lambda event: {"data": _slots(event)}),
        RoundsExhausted: ("rounds_exhausted", _slots),
        BudgetExceeded: ("budget_exceeded", _slots),
        LoopBroken: ("loop_breaker_triggered", _broken),
        NudgesExhausted: ("intent_nudge_exhausted", _slots),
        DocumentOpened: ("doc_stream_open", _slots),
        DocumentWritten: ("doc_stream_delta", _slots),
        DocumentUpdated: ("doc_update", _slots),
        DocumentSuggested: ("doc_suggestions", _slots),
        ResearchProgressed: ("research_progress", _slots),
        ResearchSourced: ("research_sources", _slots),
        ResearchFound: ("research_findings", _slots),
        ResearchDone: ("research_done", lambda event: {"data": _slots(event)}),
    },
)
AGENT_EVENTS = frozenset(_FRAMES)
