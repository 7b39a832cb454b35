"""A finished run as figures: the `metrics` event and the terminal record (chat stream, sections 3 and 7). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from odysseus.clock import iso
from odysseus.events import FellBack, FinishReason, Mode, ModelInfo, RunStatus, StopReason, UsageReport
from odysseus.runs.trace import metadata_of

USAGE_FIGURES = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "usage_source",
    "cost",
    "cached_input_tokens",
    "reasoning_tokens",
    "tokens_per_second",
    "context_length",
    "context_percent",
)
SHORTEST_RESPONSE = 0.02
"""Seconds; a rate over less says nothing."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed, in words for the user. `status` is None where no HTTP status fits."""

    status: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    status: RunStatus
    stop_reason: StopReason | None = None
    finish_reason: FinishReason | None = None
    finish_word: str | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Which run, where, for whom."""

    run_id: str
    session_id: str
    mode: Mode
    requested_model: str
    endpoint_id: str
    endpoint_label: str
    started_at: float
    record_id: int | None = None
    user_message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Produced:
    """What a run has brought: the answer, who gave it, what each request used, and the calls that were made.

    `acted` says that there were calls, also such that have not come to an end.
    """

    text: str = ""
    answering: ModelInfo | None = None
    usage: Sequence[UsageReport] = ()
    tool_calls: int = 0
    acted: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds since the run's start; None where it never came to that."""

    total: float
    first_output: float | None


def usage_source(usage: Sequence[UsageReport]) -> str:
    """`real`, `estimated`, or `mixed` over all requests of the run."""
    kinds = {report.estimated for report in usage}
    return "mixed" if len(kinds) == 2 else "estimated" if True in kinds or not kinds else "real"


def metrics(identity: Identity, produced: Produced, timing: Timing) -> dict[str, Any]:
    """The contract's `metrics.data`."""
    answering, usage = produced.answering, produced.usage
    output = sum(report.output_tokens for report in usage)
    context_length = answering.context_length if answering else None
    response = timing.total - timing.first_output if timing.first_output is not None else 0.0
    figures = {
        **_tokens(usage),
        "total_time": round(timing.total, 3),
        "response_time": round(response, 3),
        "time_to_first_token": _rounded(timing.first_output),
        "tokens_per_second": round(output / response, 2) if output and response >= SHORTEST_RESPONSE else None,
        "context_length": context_length,
        "context_percent": _share(usage, context_length),
        **_route(identity, answering, usage),
    }
    if identity.mode == "chat":
        return figures
    return {**figures, "agent_rounds": len(usage), "tool_calls": produced.tool_calls}


def terminal_record(
    identity: Identity,
    ending: Ending,
    produced: Produced,
    timing: Timing,
    *,
    message_id: str | None,
    frames: int | None,
) -> dict[str, Any]:
    """The contract's terminal record. `frames` counts the whole run."""
    text = produced.text
    figures = metrics(identity, produced, timing)
    return {
        "record_id": identity.record_id,
        "run_id": identity.run_id,
        "session_id": identity.session_id,
        "message_id": message_id,
        "user_message_id": identity.user_message_id,
        "status": ending.status,
        "stop_reason": ending.stop_reason,
        "finish_reason": ending.finish_reason,
        "finish_word": ending.finish_word,
        "partial": None if ending.status == "completed" else text,
        **_route(identity, produced.answering, produced.usage),
        "usage": {key: figures[key] for key in USAGE_FIGURES if key in figures},
        "timing": {
            "started_at": iso(identity.started_at),
            "finished_at": iso(identity.started_at + timing.total),
            "total_time": round(timing.total, 3),
            "time_to_first_token": _rounded(timing.first_output),
        },
        "rounds": len(produced.usage),
        "tool_calls": produced.tool_calls,
        "frames": frames,
        "note": _note(ending, produced),
        "failure": {"status": ending.failure.status, "message": ending.failure.message} if ending.failure else None,
    }


def message_metadata(
    record: Mapping[str, Any], thinking: str, steps: Sequence[Mapping[str, Any]] = (), fallback: FellBack | None = None
) -> dict[str, Any]:
    """What the stored answer keeps, so that a reload draws what the stream drew. The text itself is the message's."""
    metadata = {key: value for key, value in record.items() if key != "partial"} | metadata_of(steps)
    if thinking:
        metadata["thinking"] = thinking
    if fallback:
        metadata["fallback"] = {
            "selected_model": fallback.selected_model,
            "answered_by": fallback.answered_by,
            "reason": fallback.reason,
        }
    if record["status"] in {"stopped", "timeout"}:
        metadata["stopped"] = True
    return metadata


def _note(ending: Ending, produced: Produced) -> str | None:
    """What a user should know of an answer that is whole and yet not what was asked for."""
    text = produced.text
    if ending.finish_reason == "length" and not text.strip():
        return "The longest length was used up by reasoning, before any answer."
    if ending.status == "completed" and not text.strip() and not produced.acted:
        return "Only reasoning was produced, and no answer."
    if ending.finish_reason == "length":
        return "The answer was cut at the longest length."
    if ending.finish_reason == "content_filter":
        return "The provider's content filter cut the answer."
    return None


def _tokens(usage: Sequence[UsageReport]) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "input_tokens": sum(report.input_tokens for report in usage),
        "output_tokens": sum(report.output_tokens for report in usage),
        "total_tokens": sum(report.input_tokens + report.output_tokens for report in usage),
        "usage_source": usage_source(usage),
        "cost": _cost(usage),
    }
    for key in ("cached_input_tokens", "reasoning_tokens"):
        known = [value for report in usage if (value := getattr(report, key)) is not None]
        if known:
            figures[key] = sum(known)
    return figures


def _cost(usage: Sequence[UsageReport]) -> float | None:
    costs = [report.cost for report in usage]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _route(identity: Identity, answering: ModelInfo | None, usage: Sequence[UsageReport]) -> dict[str, Any]:
    told = next((report.model for report in reversed(usage) if report.model), None)
    return {
        "model": told or (answering.model if answering else identity.requested_model),
        "requested_model": identity.requested_model,
        "endpoint_id": answering.endpoint_id if answering else identity.endpoint_id,
        "endpoint_label": answering.endpoint_label if answering else identity.endpoint_label,
    }


def _share(usage: Sequence[UsageReport], context_length: int | None) -> float | None:
    if not context_length or not usage:
        return None
    return round(100 * (usage[-1].input_tokens + usage[-1].output_tokens) / context_length, 1)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
