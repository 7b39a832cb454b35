"""One answer of Anthropic's Messages: its events to chunks, in the light of those before them.

Pure: must not know sockets, nor how a request is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from odysseus.errors import ProviderError
from odysseus.events import FinishReason, ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.anthropic_mapping import STATE, Block
from odysseus.providers.base import AnsweredBy, Chunk, Finished, ProviderState
from odysseus.providers.failures import find_message, reported_error
from odysseus.providers.loose import as_count, as_list, as_mapping, as_text, without_surrogates
from odysseus.providers.tool_calls import ToolCallDelta
from odysseus.text import clean_text

_STOP_REASONS: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_CLOSING = ("content_block_stop", "message_stop")
Piece = Chunk | ToolCallDelta
# Text is kept as its number of characters, since the message itself holds it.
_NEW: Mapping[str, Block] = {"text": {"text": 0}, "thinking": {"thinking": "", "signature": ""}}


class AnthropicAnswer:
    """The events of one answer. A delta is sorted by its own type, so that a block without a start is read too."""

    def __init__(self) -> None:
        self.done = False
        self._layout: list[Block] = []
        self._blocks: dict[int, Block] = {}
        self._open = 0
        self._usage: dict[str, int] = {}
        self._stop: Finished | None = None

    def read(self, body: Any) -> list[Piece]:
        event = as_mapping(body)
        index = event.get("index")
        self._open = index if isinstance(index, int) else self._open
        kind = event.get("type")
        if kind == "error" or event.get("error"):
            raise _error(event)
        if kind == "message_start":
            return self._begin(as_mapping(event.get("message")))
        if kind == "content_block_start":
            return self._start(as_mapping(event.get("content_block")))
        if kind == "content_block_delta":
            return self._delta(as_mapping(event.get("delta")))
        if kind == "message_delta":
            return self._turn(as_mapping(event.get("delta")), event.get("usage"))
        return [*self._close(), *(self._end() if kind == "message_stop" else [])] if kind in _CLOSING else []

    def read_whole(self, body: Any) -> list[Piece]:
        message = as_mapping(body)
        if message.get("type") == "error" or message.get("error"):
            raise _error(message)
        if "content" not in message:
            raise ValueError("not a message")
        pieces = self._begin(message)
        for self._open, block in enumerate(as_list(message["content"])):
            pieces += [*self._start(as_mapping(block)), *self._close()]
        return [*pieces, *self._turn(message, None), *self._end()]

    def _begin(self, message: Mapping[str, Any]) -> list[Piece]:
        model = clean_text(as_text(message.get("model")))
        return [*([AnsweredBy(model)] if model else []), *self._count(message.get("usage"))]

    def _start(self, given: Mapping[str, Any]) -> list[Piece]:
        kind = given.get("type")
        self._blocks.pop(self._open, None)
        if kind == "tool_use":
            id, name = clean_text(as_text(given.get("id"))), as_text(given.get("name"))
            self._block(kind).update(id=id, input=as_mapping(given.get("input")))
            return [ToolCallDelta(self._open, id, name, opens=True)]
        if kind == "redacted_thinking":
            self._block(kind).update(given)
        if kind == "thinking":
            self._block(kind)["signature"] = as_text(given.get("signature"))
        return [*self._think(as_text(given.get("thinking"))), *self._say(as_text(given.get("text")))]

    def _delta(self, delta: Mapping[str, Any]) -> list[Piece]:
        match delta.get("type"):
            case "text_delta":
                return self._say(as_text(delta.get("text")))
            case "thinking_delta":
                return self._think(as_text(delta.get("thinking")))
            case "signature_delta":
                self._block("thinking")["signature"] = as_text(delta.get("signature"))  # it always comes whole
            case "input_json_delta":
                return self._argue(as_text(delta.get("partial_json")))
        return []

    def _close(self) -> list[Piece]:
        """Some servers give the whole input with the start of its block and no pieces of it."""
        given = self._blocks.get(self._open, {}).get("input")
        return self._argue(orjson.dumps(without_surrogates(given)).decode()) if given else []

    def _block(self, kind: str) -> Block:
        """The open block, made when there is none of this kind."""
        block = self._blocks.get(self._open)
        if block is None or block["type"] != kind:
            block = {"type": kind, **_NEW.get(kind, {})}
            self._blocks[self._open] = block
            self._layout.append(block)
        return block

    def _say(self, text: str) -> list[Piece]:
        if not text:
            return []
        self._block("text")["text"] += len(text)
        return [TextDelta(text)]

    def _think(self, text: str) -> list[Piece]:
        if not text:
            return []
        self._block("thinking")["thinking"] += text
        return [ReasoningDelta(text)]

    def _argue(self, piece: str) -> list[Piece]:
        block = self._blocks.get(self._open, {})
        if not piece or block.get("type") != "tool_use":
            return []
        block.pop("input", None)
        return [ToolCallDelta(self._open, arguments=piece)]

    def _turn(self, delta: Mapping[str, Any], usage: Any) -> list[Piece]:
        word = as_text(delta.get("stop_reason"))
        self._stop = Finished(_STOP_REASONS.get(word), clean_text(word)) if word else self._stop
        return self._count(usage)

    def _end(self) -> list[Piece]:
        """The state only when there is thinking to be sent back."""
        self.done = True
        layout = [part for block in self._layout if (part := _part(block))]
        kept = any("sent" in part for part in layout)
        state = [ProviderState({STATE: without_surrogates(layout)})] if kept else []
        return [*state, *([self._stop] if self._stop else [])]

    def _count(self, usage: Any) -> list[Piece]:
        """The counts are running totals; servers that leave one out, or send 0 later, do not take it back."""
        fields = as_mapping(usage)
        details = as_mapping(fields.get("output_tokens_details"))
        for name, value in (*fields.items(), *details.items()):
            number = as_count(value)
            if number is not None:
                self._usage[name] = max(number, self._usage.get(name, 0))
        return [_report(self._usage)] if self._usage else []


def _part(block: Block) -> Block:
    """The block's part in the layout, empty for a block without anything."""
    match block["type"]:
        case "text":
            return {"text": block["text"]} if block["text"] else {}
        case "tool_use":
            return {"call": block["id"]}
    return {"sent": block}


def _report(usage: Mapping[str, int]) -> UsageReport:
    """The vendor counts what was read from the cache and written to it beside the rest of the input."""
    cached = usage.get("cache_read_input_tokens")
    return UsageReport(
        input_tokens=usage.get("input_tokens", 0) + (cached or 0) + usage.get("cache_creation_input_tokens", 0),
        output_tokens=usage.get("output_tokens", 0),
        cached_input_tokens=cached,
        reasoning_tokens=usage.get("thinking_tokens"),
    )


def _error(event: Mapping[str, Any]) -> ProviderError:
    error = event.get("error") or event
    status = _STATUS.get(as_text(as_mapping(error).get("type")))
    return reported_error({"message": find_message(error), "code": status} if status else error)
