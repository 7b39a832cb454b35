"""The chat dialect: each event as one frame of the chat stream (contract sections 2, 3 and 7). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import orjson

from odysseus.dialects.agent_frames import AGENT_EVENTS, agent_fields
from odysseus.dialects.sse import data_frame
from odysseus.events import (
    Event,
    FellBack,
    MessageSaved,
    Metrics,
    ModelInfo,
    ReasoningDelta,
    Retrying,
    RunEnded,
    RunFailed,
    RunTimedOut,
    StreamDone,
    TextDelta,
    UsageReport,
)

DONE = b"data: [DONE]\n\n"


def encode(event: Event) -> bytes | None:
    """The event's frame; None for what this dialect does not show."""
    kind = type(event)
    if kind is TextDelta:
        return text_frame(event.text)  # type: ignore[union-attr]
    if kind in AGENT_EVENTS:
        return data_frame(agent_fields(event))
    encoder = _ENCODERS.get(kind)
    return encoder(event) if encoder else None


def text_frame(text: str) -> bytes:
    """A piece of the answer."""
    return b'data: {"delta":' + orjson.dumps(text) + b"}\n\n"


def reasoning_frame(text: str) -> bytes:
    """A piece of the reasoning channel."""
    return b'data: {"delta":' + orjson.dumps(text) + b',"thinking":true}\n\n'


def _typed(kind: str, fields: Mapping[str, Any]) -> bytes:
    return data_frame({"type": kind, **fields})


def _model_info(event: ModelInfo) -> bytes:
    return _typed(
        "model_info",
        {"model": event.model, "endpoint_id": event.endpoint_id, "endpoint_label": event.endpoint_label},
    )


def _retrying(event: Retrying) -> bytes:
    fields = {"attempt": event.attempt, "attempts": event.attempts, "seconds": event.seconds, "reason": event.reason}
    return _typed("retry", fields)


def _fell_back(event: FellBack) -> bytes:
    return _typed("fallback", {field: getattr(event, field) for field in event.__slots__ if field != "context_length"})


def _usage(event: UsageReport) -> bytes:
    known = {
        "cached_input_tokens": event.cached_input_tokens,
        "reasoning_tokens": event.reasoning_tokens,
        "cost": event.cost,
        "model": event.model,
        "estimated": event.estimated or None,
    }
    data = {
        "input_tokens": event.input_tokens,
        "output_tokens": event.output_tokens,
        "total_tokens": event.input_tokens + event.output_tokens,
        "round": event.round,
        **{key: value for key, value in known.items() if value is not None},
    }
    return _typed("usage", {"data": data})


def _timed_out(event: RunTimedOut) -> bytes:
    return _typed(
        "run_timeout",
        {
            "reason": event.reason,
            "message": event.message,
            "wall_seconds": event.wall_seconds,
            "idle_seconds": event.idle_seconds,
        },
    )


def _failed(event: RunFailed) -> bytes:
    return b"event: error\n" + data_frame({"error": event.message, "status": event.status})


_ENCODERS = cast(
    Mapping[type[Event], Callable[[Event], bytes]],
    {
        ReasoningDelta: lambda event: reasoning_frame(event.text),
        ModelInfo: _model_info,
        Retrying: _retrying,
        FellBack: _fell_back,
        UsageReport: _usage,
        Metrics: lambda event: _typed("metrics", {"data": event.data}),
        RunTimedOut: _timed_out,
        MessageSaved: lambda event: _typed("message_saved", {"id": event.message_id}),
        RunEnded: lambda event: _typed(f"{event.mode}_terminal", {"data": event.record}),
        RunFailed: _failed,
        StreamDone: lambda _: DONE,
    },
)
