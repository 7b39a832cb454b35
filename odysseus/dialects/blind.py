"""The chat dialect for a pane of a blind comparison: whatever would tell the model is masked before it is encoded.

Pure. What the model says of itself cannot be masked. Records and stored metadata are masked by the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from odysseus.dialects import chat
from odysseus.events import (
    Compacted,
    ContextTrimmed,
    Event,
    FellBack,
    Metrics,
    ModelInfo,
    Retrying,
    RunEnded,
    RunFailed,
    UsageReport,
)
from odysseus.runs.log import Encode

FAILED = "This model failed. Vote to see which it is, and why."
NO_ANSWER = "The model does not answer"
STATUS = 502
TELLING = ("cached_input_tokens", "reasoning_tokens")
"""Figures that only some models have."""
UNKNOWN = {"cost": None, "context_length": None, "context_percent": None}
"""Figures that are another for each model, and have their place in an answer."""
WINDOW_NOTICES = frozenset({"compacted", "context_trimmed"})


def encoder(alias: str) -> Encode:
    """The chat dialect in which the model's name is `alias`."""

    def encode(event: Event) -> bytes | None:
        mask = _MASKS.get(type(event))
        shown = mask(event, alias) if mask else event
        return None if shown is None else chat.encode(shown)

    return encode


def masked_metadata(metadata: Mapping[str, Any], alias: str) -> dict[str, Any]:
    """A stored message's metadata, or a terminal record, with `alias` as its model."""
    shown = {key: value for key, value in metadata.items() if key not in {"fallback", "transcript"}}
    if "model" in shown:
        shown |= _route(alias) | {"finish_word": None}
    if shown.get("usage"):
        shown["usage"] = _figures(shown["usage"])
    if shown.get("failure"):
        shown["failure"] = {"status": STATUS, "message": FAILED}
    if "notices" in shown:
        shown["notices"] = [notice for notice in shown["notices"] if notice["type"] not in WINDOW_NOTICES]
    return shown


def _route(alias: str) -> dict[str, Any]:
    return {"model": alias, "requested_model": alias, "endpoint_id": "", "endpoint_label": ""}


def _figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in figures.items() if key not in TELLING}, **UNKNOWN}


def _usage(event: UsageReport, _: str) -> Event:
    return replace(event, cached_input_tokens=None, reasoning_tokens=None, cost=None, model=None)


_MASKS = cast(
    Mapping[type[Event], Callable[[Event, str], Event | None]],
    {
        ModelInfo: lambda _, alias: ModelInfo(alias, "", ""),
        Retrying: lambda event, _: replace(event, reason=NO_ANSWER),
        FellBack: lambda *_: None,
        UsageReport: _usage,
        Metrics: lambda event, alias: Metrics(_figures(event.data) | _route(alias)),
        Compacted: lambda *_: None,
        ContextTrimmed: lambda *_: None,
        RunEnded: lambda event, alias: RunEnded(event.mode, masked_metadata(event.record, alias)),
        RunFailed: lambda *_: RunFailed(FAILED, STATUS),
    },
)
