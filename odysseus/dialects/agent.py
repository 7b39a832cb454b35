"""The agent stream: a run's events as named SSE events (agent stream contract, section 3). One encoder per run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import orjson

from odysseus.events import (
    CallWritten,
    Event,
    ReasoningDelta,
    RunEnded,
    RunFailed,
    StreamDone,
    TextDelta,
    ToolEnded,
)

ERRORS = "https://holodeck.dev/errors/"
AGENT_ERROR = f"{ERRORS}agent-error"
KEEPALIVE = b": keepalive\n\n"
ENDINGS: Mapping[str, tuple[str, int, str]] = {
    "timeout": ("Agent Timeout", 504, "The agent did not finish in time."),
    "stopped": ("Agent Stopped", 503, "The run was stopped."),
}


def event_frame(kind: str, data: Mapping[str, Any]) -> bytes:
    """One frame."""
    return b"event: " + kind.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"


def start_frame(session_id: str, message_id: str) -> bytes:
    """The first frame of every stream."""
    return event_frame("stream_start", {"session_id": session_id, "message_id": message_id})


def error_frame(title: str, status: int, detail: str, kind: str = AGENT_ERROR) -> bytes:
    """The last frame of a stream that failed."""
    return event_frame("error", {"type": kind, "title": title, "status": status, "detail": detail})


def tokens_used(record: Mapping[str, Any]) -> dict[str, int]:
    """The run's tokens by the names of this dialect."""
    usage = record["usage"]
    return {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
    }


def milliseconds(record: Mapping[str, Any]) -> int:
    """The run's time."""
    return int(record["timing"]["total_time"] * 1000 + 0.5)


class AgentEncoder:
    """Encodes one run. A call that has begun is always ended, also when the run ends before it."""

    def __init__(self, message_id: str, *, reasoning: bool = False) -> None:
        self._message = {"message_id": message_id}
        self._reasoning = reasoning
        self._open: dict[str, None] = {}
        self._record: Mapping[str, Any] = {}

    def __call__(self, event: Event) -> bytes | None:
        """The event's frame or frames; None for what this dialect does not tell."""
        told = _TOLD.get(type(event))
        return told(self, event) if told else None

    def _text(self, event: TextDelta) -> bytes:
        return event_frame("message_delta", {"delta": event.text, **self._message})

    def _thought(self, event: ReasoningDelta) -> bytes | None:
        return event_frame("reasoning_delta", {"delta": event.text, **self._message}) if self._reasoning else None

    def _written(self, event: CallWritten) -> bytes:
        frames = b""
        if event.call_id not in self._open:
            self._open[event.call_id] = None
            begun = {"tool_call_id": event.call_id, "name": event.tool, **self._message}
            frames = event_frame("tool_call_start", begun)
        if event.arguments:
            frames += event_frame("tool_call_args", {"tool_call_id": event.call_id, "args_delta": event.arguments})
        return frames

    def _ended(self, event: ToolEnded) -> bytes | None:
        return self._end(event.call_id, "error" if event.exit_code else "success")

    def _end(self, call_id: str, status: str) -> bytes | None:
        if call_id not in self._open:
            return None
        del self._open[call_id]
        return event_frame("tool_call_end", {"tool_call_id": call_id, "status": status})

    def _keep(self, event: RunEnded) -> None:
        self._record = event.record

    def _failed(self, event: RunFailed) -> bytes:
        return self._close() + error_frame("Agent Error", event.status, event.message)

    def _done(self, _: StreamDone) -> bytes:
        record = self._record
        if record["status"] in ENDINGS:
            return self._close() + error_frame(*ENDINGS[record["status"]])
        figures = {"tokens_used": tokens_used(record), "execution_time_ms": milliseconds(record)}
        return self._close() + event_frame("stream_end", {**self._message, **figures})

    def _close(self) -> bytes:
        return b"".join(self._end(call_id, "error") or b"" for call_id in list(self._open))


_TOLD = cast(
    Mapping[type[Event], Callable[[AgentEncoder, Event], bytes | None]],
    {
        TextDelta: AgentEncoder._text,
        ReasoningDelta: AgentEncoder._thought,
        CallWritten: AgentEncoder._written,
        ToolEnded: AgentEncoder._ended,
        RunEnded: AgentEncoder._keep,
        RunFailed: AgentEncoder._failed,
        StreamDone: AgentEncoder._done,
    },
)
