"""Tool calls and opaque state in the deltas of OpenAI-compatible chat completions, in every shape they come in.

Pure: must not know what came before a delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from odysseus.providers.base import ProviderState
from odysseus.providers.loose import as_mapping, without_surrogates
from odysseus.providers.openai_request import CALL_STATE, MESSAGE_STATE
from odysseus.providers.tool_calls import ToolCallDelta

_JOINED_FIELDS = ("text", "summary", "thinking")


def to_tool_calls(delta: Mapping[str, Any], *, whole: bool) -> list[ToolCallDelta]:
    """The pieces of calls, and a call in the older form. Of several in one list each without an index is another."""
    given = delta.get("tool_calls")
    entries = [given] if isinstance(given, Mapping) else given if isinstance(given, list) else []
    pieces = [_tool_call(as_mapping(entry), opens=whole or at > 0) for at, entry in enumerate(entries)]
    legacy = delta.get("function_call")
    return pieces or ([_tool_call({"function": legacy}, opens=whole)] if isinstance(legacy, Mapping) else [])


def _tool_call(entry: Mapping[str, Any], *, opens: bool) -> ToolCallDelta:
    function = as_mapping(entry.get("function")) or entry
    index, name = entry.get("index"), function.get("name")
    has_index = isinstance(index, int) and not isinstance(index, bool)
    state = {field: entry[field] for field in CALL_STATE if entry.get(field)}
    return ToolCallDelta(
        index=index if has_index else None,
        id=_id(entry.get("id")),
        name=name if isinstance(name, str) else "",
        arguments=_arguments(function.get("arguments")),
        state=without_surrogates(state) or None,
        opens=opens and not has_index and bool(name),
    )


def _id(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _arguments(value: Any) -> str:
    """Text to the letter; some servers give the JSON itself in place of its text."""
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(without_surrogates(value)).decode()


def to_state(delta: Mapping[str, Any]) -> list[ProviderState]:
    """The fields of a delta that the vendor wants back with the message."""
    state = {field: delta[field] for field in MESSAGE_STATE if delta.get(field)}
    return [ProviderState(without_surrogates(state))] if state else []


def joined_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a whole answer, with the pieces of each entry in its lists put together."""
    return {name: _joined(value) if isinstance(value, list) else value for name, value in state.items()}


def _joined(entries: Sequence[Any]) -> list[Any]:
    """Neighbours of one type and index are pieces of one entry, until it is signed."""
    joined: list[Any] = []
    for entry in entries:
        last = joined[-1] if joined else None
        if isinstance(last, dict) and isinstance(entry, Mapping) and _are_pieces(last, entry):
            for name, value in entry.items():
                text = name in _JOINED_FIELDS and isinstance(value, str) and isinstance(last.get(name), str)
                last[name] = last[name] + value if text else last.get(name) if value is None else value
        else:
            joined.append(dict(entry) if isinstance(entry, Mapping) else entry)
    return joined


def _are_pieces(last: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    alike = all(last.get(name) == entry.get(name) for name in ("type", "index"))
    return alike and not last.get("signature") and any(name in entry for name in (*_JOINED_FIELDS, "signature"))
