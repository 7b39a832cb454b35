"""One answer of OpenAI's Responses: its events to chunks, in the light of those before them.

Pure: must not know sockets, nor how a request is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from odysseus.errors import ProviderError
from odysseus.events import FinishReason, ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.base import AnsweredBy, Chunk, Finished, ProviderState
from odysseus.providers.failures import find_message, reported_error
from odysseus.providers.loose import as_count, as_list, as_mapping, as_text, without_surrogates
from odysseus.providers.responses_mapping import STATE
from odysseus.providers.tool_calls import ToolCallDelta
from odysseus.text import clean_text

_INCOMPLETE: Mapping[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}
_STATUS = {
    "server_error": 500,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,
    "vector_store_timeout": 504,
    "context_length_exceeded": 400,
    "bio_policy": 400,
    "misalignment_policy_violation": 400,
    "data_residency_mismatch": 400,
    "failed_to_download_image": 400,
    "empty_image_file": 400,
    "unsupported_image_media_type": 400,
}
_FAILURES = ("error", "response.failed", "response.cancelled")
_ENDS = ("response.completed", "response.incomplete")
_PARAGRAPH = "\n\n"
Piece = Chunk | ToolCallDelta


@dataclass(slots=True)
class _Item:
    """What is known of one item of the output. `told` counts the characters of text or arguments given on."""

    number: int
    place: int | None = None
    id: str = ""
    kind: str = ""
    told: int = 0
    closed: bool = False
    part: dict[str, Any] = field(default_factory=dict)


class ResponsesAnswer:
    """The events of one answer. What an event of an item's end tells is used only where its pieces did not come."""

    def __init__(self) -> None:
        self.done = False
        self._items: list[_Item] = []
        self._layout: list[dict[str, Any]] = []
        self._reasoned = False

    def read(self, body: Any) -> list[Piece]:
        event = as_mapping(body)
        kind = as_text(event.get("type"))
        if kind in _FAILURES or (event.get("error") and not kind):
            raise _error(event)
        response = as_mapping(event.get("response"))
        if kind in _ENDS:
            return self._end(response)
        return _answered_by(response) if response else self._read_item(kind, event)

    def read_whole(self, body: Any) -> list[Piece]:
        response = as_mapping(body)
        if response.get("error") or response.get("status") in ("failed", "cancelled"):
            raise _error({"response": response})
        if "output" not in response:
            raise ValueError("not a response")
        return [*_answered_by(response), *self._end(response)]

    def _read_item(self, kind: str, event: Mapping[str, Any]) -> list[Piece]:
        given, delta = as_mapping(event.get("item")), as_text(event.get("delta"))
        match kind.removeprefix("response."):
            case "output_item.added":
                found = self._begin(self._item(event), given)
            case "output_item.done":
                found = self._close(self._item(event), given)
            case "output_text.delta" | "refusal.delta":
                found = self._say(self._item(event), delta)
            case "function_call_arguments.delta":
                found = self._argue(self._item(event), delta)
            case "function_call_arguments.done":
                found = self._argue_rest(self._item(event), as_text(event.get("arguments")))
            case inner if inner.startswith("reasoning") and inner.endswith(".delta"):
                found = self._reason(
                    self._item(event), delta, event.get("summary_index") or event.get("content_index") or 0
                )
            case _:
                found = []
        return found

    def _item(self, event: Mapping[str, Any]) -> _Item:
        """The item that an event is about; one that names none goes on with the last."""
        item = self._named(event)
        if item is None and self._items and _names(event) == (None, ""):
            item = self._items[-1]
        return self._add(item, event)

    def _item_at_end(self, event: Mapping[str, Any]) -> _Item:
        """The same for the whole output: what came without a place is told by its kind."""
        kind = as_mapping(event.get("item")).get("type")
        placeless = (item for item in self._items if item.kind == kind and item.place is None)
        return self._add(self._named(event) or next(placeless, None), event)

    def _named(self, event: Mapping[str, Any]) -> _Item | None:
        """By its place, else by its id, which some servers change on the way and others give to every item."""
        place, id = _names(event)
        same_place = (item for item in self._items if item.place is not None and item.place == place)
        same_id = (item for item in self._items if id and item.id == id and None in (item.place, place))
        return next(same_place, None) or next(same_id, None)

    def _add(self, item: _Item | None, event: Mapping[str, Any]) -> _Item:
        place, id = _names(event)
        if item is None:
            item = _Item(len(self._items))
            self._items.append(item)
        item.place = place if item.place is None else item.place
        item.id = item.id or id
        return item

    def _begin(self, item: _Item, given: Mapping[str, Any]) -> list[Piece]:
        phase = clean_text(as_text(given.get("phase")))
        if phase:
            item.part["phase"] = phase
        item.kind = item.kind or as_text(given.get("type"))
        if item.kind != "function_call" or "call" in item.part:
            return []
        id = clean_text(as_text(given.get("call_id")) or as_text(given.get("id")))
        item.part["call"] = id
        self._layout.append(item.part)
        return [ToolCallDelta(item.number, id, as_text(given.get("name")), opens=not item.told)]

    def _close(self, item: _Item, given: Mapping[str, Any]) -> list[Piece]:
        """The item as it is at its end, once."""
        if item.closed:
            return []
        pieces = self._begin(item, given)
        item.closed = True
        if item.kind == "function_call":
            return [*pieces, *self._argue_rest(item, as_text(given.get("arguments")))]
        if item.kind == "message" and not item.told:
            return self._say(item, _joined(given.get("content"), ""))
        return self._keep(item, given) if item.kind == "reasoning" else []

    def _keep(self, item: _Item, given: Mapping[str, Any]) -> list[Piece]:
        """Reasoning that can be sent back: without its content the server would look for it, and it stores none."""
        if given.get("encrypted_content") or given.get("content"):
            sent = {name: value for name, value in given.items() if value is not None}
            self._layout.append({"sent": without_surrogates(sent)})
        told = _joined(given.get("summary"), _PARAGRAPH) or _joined(given.get("content"), _PARAGRAPH)
        return self._reason(item, told) if not item.told else []

    def _say(self, item: _Item, text: str) -> list[Piece]:
        """A piece of the answer; a second message of it begins a new paragraph."""
        if not text:
            return []
        item.kind = item.kind or "message"
        gap = ""
        if "text" not in item.part:
            gap = _PARAGRAPH if any("text" in part for part in self._layout) else ""
            item.part["text"] = 0
            self._layout += [{"text": len(gap)}, item.part] if gap else [item.part]
        item.part["text"] += len(text)
        item.told += len(text)
        return [TextDelta(gap + text)]

    def _reason(self, item: _Item, text: str, part: Any = 0) -> list[Piece]:
        """A piece of the reasoning; each part of a summary is a paragraph of its own."""
        if not text:
            return []
        item.kind = item.kind or "reasoning"
        new = not item.told or part != item.part.get("number", 0)
        gap = _PARAGRAPH if new and self._reasoned else ""
        self._reasoned = True
        item.part["number"] = part
        item.told += len(text)
        return [ReasoningDelta(gap + text)]

    def _argue(self, item: _Item, piece: str) -> list[Piece]:
        item.kind = item.kind or "function_call"
        item.told += len(piece)
        return [ToolCallDelta(item.number, arguments=piece)] if piece else []

    def _argue_rest(self, item: _Item, whole: str) -> list[Piece]:
        """The arguments when no piece of them came."""
        return self._argue(item, whole) if not item.told else []

    def _end(self, response: Mapping[str, Any]) -> list[Piece]:
        self.done = True
        pieces: list[Piece] = []
        for place, given in enumerate(as_list(response.get("output"))):
            event = {"output_index": place, "item": given}
            pieces += self._close(self._item_at_end(event), as_mapping(given))
        if any("sent" in part or "phase" in part for part in self._layout):
            pieces.append(ProviderState({STATE: self._layout}))
        return [*pieces, *_usage(response.get("usage")), _finished(response)]


def _names(event: Mapping[str, Any]) -> tuple[int | None, str]:
    """The place and the id of the item that an event is about, as far as it tells."""
    place = event.get("output_index")
    id = as_text(event.get("item_id")) or as_text(as_mapping(event.get("item")).get("id"))
    return place if isinstance(place, int) else None, id


def _answered_by(response: Mapping[str, Any]) -> list[Piece]:
    model = clean_text(as_text(response.get("model")))
    return [AnsweredBy(model)] if model else []


def _joined(parts: Any, gap: str) -> str:
    """The text of an item's parts; a refusal is text too."""
    found = (as_text(part.get("text")) or as_text(part.get("refusal")) for part in map(as_mapping, as_list(parts)))
    return gap.join(filter(None, found))


def _finished(response: Mapping[str, Any]) -> Finished:
    reason = as_text(as_mapping(response.get("incomplete_details")).get("reason"))
    if reason or response.get("status") == "incomplete":
        return Finished(_INCOMPLETE.get(reason), clean_text(reason) or "incomplete")
    return Finished("stop", "completed")


def _usage(usage: Any) -> list[Piece]:
    fields = as_mapping(usage)
    total, answer = as_count(fields.get("input_tokens")), as_count(fields.get("output_tokens"))
    if total is None and answer is None:
        return []
    cached = as_count(as_mapping(fields.get("input_tokens_details")).get("cached_tokens"))
    reasoning = as_count(as_mapping(fields.get("output_tokens_details")).get("reasoning_tokens"))
    return [UsageReport(total or 0, answer or 0, cached_input_tokens=cached, reasoning_tokens=reasoning)]


def _error(event: Mapping[str, Any]) -> ProviderError:
    """An error at the top, in its own field or in the response that failed."""
    response = as_mapping(event.get("response"))
    if "cancelled" in (response.get("status"), as_text(event.get("type")).removeprefix("response.")):
        return ProviderError("The endpoint cancelled the answer.", retryable=True)
    error = response.get("error") or event.get("error") or event
    code = as_text(as_mapping(error).get("code"))
    status = _STATUS.get(code) or (400 if code.startswith(("invalid_", "image_")) else None)
    return reported_error({"message": find_message(error), "code": status} if status else error)
