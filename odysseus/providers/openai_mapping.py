"""OpenAI-compatible chat completions as a pure mapping: parsed records to chunks, a list of models to listings.

Pure: must not know sockets, nor what came before a record.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import orjson
from msgspec import Struct

from odysseus.errors import ProviderError
from odysseus.events import FinishReason, ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.base import AnsweredBy, Chunk, Finished, ModelListing
from odysseus.providers.failures import find_message, reported_error
from odysseus.providers.openai_calls import to_state, to_tool_calls
from odysseus.providers.tool_calls import ToolCallDelta
from odysseus.text import clean_text

Piece = Chunk | ToolCallDelta

_FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
_CONTEXT_FIELDS = ("context_length", "max_model_len", "max_context_length", "context_window")
NOT_AN_ANSWER = "The endpoint answered with something that is not a chat completion. Check its base URL."
_log = logging.getLogger(__name__)


def parse(data: bytes) -> Any:
    """JSON as providers write it, lone surrogate escapes and broken UTF-8 too. Raises ValueError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _parse_odd(data)


def _parse_odd(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "replace"), strict=False)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


class _UsualDelta(Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    thinking: None = None
    refusal: None = None
    tool_calls: tuple[()] | None = None
    function_call: None = None
    reasoning_details: None = None
    thinking_blocks: None = None
    extra_content: None = None


class _UsualChoice(Struct, gc=False):
    delta: _UsualDelta
    finish_reason: None = None
    error: None = None


class _UsualBody(Struct, gc=False):
    """The record that brings a piece of text and nothing else, as nearly all do. Any other does not fit this type."""

    choices: list[_UsualChoice]
    model: str | None = None
    usage: None = None
    error: None = None


_decode_usual = msgspec.json.Decoder(_UsualBody).decode


def usual_delta(data: bytes, model: str | None) -> TextDelta | ReasoningDelta | None:
    """The piece of text in a usual record of this model; None for any other record. The fast way past `to_chunks`."""
    try:
        body = _decode_usual(data)
        (choice,) = body.choices
    except (msgspec.MsgspecError, ValueError):
        return None
    delta = choice.delta
    text, reasoning = delta.content, delta.reasoning_content or delta.reasoning
    piece = text or reasoning
    if not piece or (text and reasoning) or "\0" in piece or body.model != model:
        return None
    return TextDelta(piece) if text else ReasoningDelta(piece)


def to_chunks(body: Any, *, whole: bool = False) -> list[Piece]:
    """What a record says, or with `whole` a document that is all there is. Raises ProviderError when it reports one."""
    error = error_in(body)
    if error:
        raise reported_error(error)
    if not isinstance(body, Mapping):
        return []
    choice = _first_choice(body)
    delta = _mapping(choice.get("message" if whole else "delta"))
    said = [*_deltas(delta), *to_tool_calls(delta, whole=whole), *to_state(delta)]
    return [*_answered_by(body), *said, *_usage(body, choice), *_finished(choice)]


def document_to_chunks(body: Any) -> list[Piece]:
    """What a chat completion that was not streamed says. Raises ProviderError for any other document."""
    choice = _first_choice(body) if isinstance(body, Mapping) else {}
    if error_in(body) or "message" not in choice:
        raise reported_error(error_in(body) or body) if find_message(body) else ProviderError(NOT_AN_ANSWER)
    return to_chunks(body, whole=True)


def error_in(body: Any) -> Any:
    """The error that a body reports at its top or in its choice, else None."""
    if not isinstance(body, Mapping):
        return None
    if body.get("object") == "error":
        return body
    return body.get("error") or _first_choice(body).get("error")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The choice that was asked for: the one with index 0, wherever it stands; the first where none says so."""
    choices = [choice for choice in _sequence(body.get("choices")) if isinstance(choice, Mapping)]
    return next((choice for choice in choices if choice.get("index") == 0), choices[0] if choices else {})


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _answered_by(body: Mapping[str, Any]) -> list[Chunk]:
    model = body.get("model")
    return [AnsweredBy(clean_text(model))] if isinstance(model, str) and model else []


def _deltas(delta: Mapping[str, Any]) -> list[Chunk]:
    content = delta.get("content")
    if isinstance(content, list):
        return _blocks(content)
    named = (text for text in map(delta.get, _REASONING_FIELDS) if isinstance(text, str) and text)
    reasoning = next(named, "") or _detailed_reasoning(delta.get("reasoning_details"))
    text = next((text for text in (content, delta.get("refusal")) if isinstance(text, str) and text), "")
    return [*([ReasoningDelta(reasoning)] if reasoning else []), *([TextDelta(text)] if text else [])]


def _blocks(blocks: Sequence[Any]) -> list[Chunk]:
    """Typed blocks in place of a string; kinds that are not known are left out."""
    chunks: list[Chunk] = []
    for block in map(_mapping, blocks):
        kind = block.get("type")
        if kind in ("text", "output_text"):
            chunks += [TextDelta(text) for text in [_inner_text(block.get("text"))] if text]
        elif kind in ("thinking", "reasoning"):
            chunks += [ReasoningDelta(text) for text in [_inner_text(block.get(kind) or block.get("text"))] if text]
        else:
            _log.info("Left out a block of the kind %.40r", kind)
    return chunks


def _inner_text(value: Any) -> str:
    """A string, or a list of blocks with one each."""
    texts = [_mapping(part).get("text") for part in value] if isinstance(value, list) else [value]
    return "".join(text for text in texts if isinstance(text, str))


def _detailed_reasoning(details: Any) -> str:
    """The readable parts of reasoning that is told in details only."""
    parts = map(_mapping, details) if isinstance(details, list) else ()
    texts = [part.get("text") or part.get("summary") for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _finished(choice: Mapping[str, Any]) -> list[Chunk]:
    raw = choice.get("finish_reason")
    if not isinstance(raw, str) or not raw:
        return []
    if raw == "error":
        raise reported_error(None)
    return [Finished(_FINISH_REASONS.get(raw.lower()), clean_text(raw))]


def _usage(body: Mapping[str, Any], choice: Mapping[str, Any]) -> list[Chunk]:
    places = (body.get("usage"), choice.get("usage"), _mapping(body.get("x_groq")).get("usage"))
    usage = next(filter(None, map(_mapping, places)), {})
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None and completion is None:
        return []
    cached = _count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    report = UsageReport(
        input_tokens=prompt or 0,
        output_tokens=completion or 0,
        cached_input_tokens=_count(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
        reasoning_tokens=_count(_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cost=_number(usage.get("cost")),
    )
    return [report]


def _number(value: Any) -> float | None:
    """A finite number that is not negative."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18 else None


def _count(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def to_listings(body: Any) -> list[ModelListing]:
    """The models of a list that the endpoint gives, each once. Raises ProviderError for anything else."""
    found = body if isinstance(body, list) else _mapping(body).get("data", _mapping(body).get("models"))
    if not isinstance(found, list):
        raise reported_error(body) if find_message(body) else ProviderError("The endpoint did not list its models.")
    listings = {listing.id: listing for entry in found if (listing := _to_listing(entry))}
    return list(listings.values())


def _to_listing(entry: Any) -> ModelListing | None:
    fields = {"id": entry} if isinstance(entry, str) else _mapping(entry)
    name = fields.get("id") or fields.get("name")
    if not isinstance(name, str) or not name:
        return None
    parameters = fields.get("supported_parameters")
    modalities = _mapping(fields.get("architecture")).get("input_modalities")
    return ModelListing(
        id=clean_text(name),
        context_length=next(filter(None, (_count(fields.get(field)) for field in _CONTEXT_FIELDS)), None),
        tools="tools" in parameters if isinstance(parameters, list) else None,
        vision="image" in modalities if isinstance(modalities, list) else None,
        price=_price(_mapping(fields.get("pricing"))),
    )


def _price(pricing: Mapping[str, Any]) -> tuple[float, float] | None:
    """Dollars a token, as text, to dollars a million tokens."""
    try:
        price = float(pricing["prompt"]) * 1e6, float(pricing["completion"]) * 1e6
    except (KeyError, TypeError, ValueError):
        return None
    return price if min(price) >= 0 else None
