"""What an agent run did, as JSON steps: stored by checkpoints, and made into a stored answer's metadata. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from odysseus.events import (
    ApprovalResolved,
    BudgetExceeded,
    Compacted,
    ContextTrimmed,
    Event,
    FilesAttached,
    ImageMade,
    LoopBroken,
    MemoriesUsed,
    Noted,
    NudgesExhausted,
    PassagesUsed,
    PlanUpdated,
    QuestionGiven,
    ResearchFound,
    ResearchProgressed,
    ResearchSourced,
    RoundsExhausted,
    ToolEnded,
    ToolStarted,
    UserAsked,
    WebSourcesUsed,
    WorkspaceRejected,
)

Step = dict[str, Any]
STOPPED_EXIT = 130

NOTICES: Mapping[type[Event], str] = {
    RoundsExhausted: "rounds_exhausted",
    BudgetExceeded: "budget_exceeded",
    LoopBroken: "loop_breaker_triggered",
    NudgesExhausted: "intent_nudge_exhausted",
    WorkspaceRejected: "workspace_rejected",
    Compacted: "compacted",
    ContextTrimmed: "context_trimmed",
}
CUTS = frozenset({ToolStarted, *NOTICES})
"""Events that end a stretch of the answer's text: what comes after is drawn below them."""


def step_of(event: Event, at: int) -> Step | None:
    """The step that an event makes, if any; `at` is how many characters of the answer came before."""
    kind = type(event)
    if kind in NOTICES:
        return {"step": "notice", "at": at, "type": NOTICES[kind], **_fields(event)}
    if kind not in _STEPS or (kind is ResearchProgressed and "research_id" not in event.data):  # type: ignore[union-attr]
        return None
    name, fields = _STEPS[kind]
    return {**fields(event), "step": name, "at": at}


def metadata_of(steps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The part of a message's metadata that the steps make; a row that has no end is closed."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    found: dict[str, Any] = {"notices": [], "images": [], "transcript": []}
    for step in steps:
        kind = step["step"]
        given = {key: value for key, value in step.items() if key != "step"}
        if kind == "start":
            rows[step["call_id"], step["round"]] = {**given, "output": "Stopped.", "exit_code": STOPPED_EXIT}
        elif kind == "end":
            key = (step["call_id"], step["round"])
            at = rows[key]["at"] if key in rows else step["at"]
            rows[key] = {**given, "at": at}
        elif kind == "notice":
            found["notices"].append(given)
        elif kind == "image":
            found["images"].append({key: value for key, value in given.items() if key != "at"})
        elif kind == "given":
            continue
        elif kind == "note":
            found["transcript"].append(step["entry"])
        elif kind == "research":
            found["research"] = {**found.get("research", {}), **step["value"]}
        else:
            found[kind] = step["value"]
    found["tool_events"] = list(rows.values())
    return {key: value for key, value in found.items() if value}


def given_of(steps: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What the question was given, as its metadata keeps it for later prompts: `given`, `given_outside`."""
    return next((step["value"] for step in steps if step["step"] == "given"), {})


def research_id(steps: Iterable[Mapping[str, Any]]) -> str:
    """The research job that the run shows; empty when there is none."""
    return next((step["value"]["id"] for step in steps if step["step"] == "research" and "id" in step["value"]), "")


def tool_calls(steps: Iterable[Mapping[str, Any]]) -> int:
    """How many calls came to an end of their own, successful or not."""
    return sum(step["step"] == "end" and step["exit_code"] is not None for step in steps)


def _fields(event: Any) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__slots__}


def _end(event: ToolEnded) -> dict[str, Any]:
    fields = _fields(event)
    return {**fields.pop("extras"), **fields}


def _data(event: Any) -> dict[str, Any]:
    return {"value": list(event.data)}


_STEPS = cast(
    Mapping[type[Event], tuple[str, Callable[[Event], dict[str, Any]]]],
    {
        ToolStarted: ("start", _fields),
        ToolEnded: ("end", _end),
        Noted: ("note", _fields),
        ImageMade: ("image", _fields),
        UserAsked: ("ask_user", lambda event: {"value": event.data}),
        PlanUpdated: ("plan", lambda event: {"value": event.plan}),
        QuestionGiven: ("given", lambda event: {"value": {"given": event.text, "given_outside": event.outside}}),
        FilesAttached: ("attachments", _data),
        PassagesUsed: ("rag_sources", _data),
        WebSourcesUsed: ("web_sources", _data),
        MemoriesUsed: ("memories_used", _data),
        ResearchProgressed: ("research", lambda event: {"value": {"id": event.data["research_id"]}}),
        ResearchSourced: ("research", lambda event: {"value": {"sources": list(event.data)}}),
        ResearchFound: ("research", lambda event: {"value": {"findings": list(event.data)}}),
        ApprovalResolved: ("approval", lambda event: {"value": _fields(event)}),
    },
)
