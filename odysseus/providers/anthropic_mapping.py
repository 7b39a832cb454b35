"""Anthropic's Messages as a pure mapping: a request to its JSON, and the list of models.

Must not know sockets, nor how an answer comes. Thinking goes back to the letter, its signatures and its place in the
answer too, as the vendor demands.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from odysseus.errors import ProviderError
from odysseus.providers.base import ChatMessage, ChatRequest, Image, ModelListing, ToolCall, ToolSpec
from odysseus.providers.failures import find_message, reported_error
from odysseus.providers.layout import TextPart, in_order
from odysseus.providers.loose import as_count, as_mapping, as_object_text, as_text
from odysseus.text import clean_text

STATE = "anthropic"
MAX_TOKENS = 8192
_EPHEMERAL = {"cache_control": {"type": "ephemeral"}}
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
Block = dict[str, Any]


def to_body(request: ChatRequest) -> dict[str, Any]:
    """The JSON of a request, with the prompt's stable beginning marked for the cache."""
    system = [block for message in request.messages if message.role == "system" for block in _text(message.content)]
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens or MAX_TOKENS,
        "messages": _messages(request.messages),
        "stream": True,
    }
    if system:
        body["system"] = _marked(system)
    if request.tools:
        body["tools"] = _marked([_tool(tool) for tool in request.tools])
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.response_schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": request.response_schema}}
    return body


def _messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """The turns, each role's in a row as one. All but the last user's turn will come again as they are."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [] if message.role == "system" else _blocks(message)
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    ours = [turn for turn in turns if turn["role"] == "user"]
    for turn in ours:
        turn["content"].sort(key=lambda block: block["type"] != "tool_result")  # nothing may come before the results
    if len(ours) > 1:
        ours[-2]["content"] = _marked(ours[-2]["content"])
    return turns


def _marked(blocks: Sequence[Block]) -> list[Block]:
    return [*blocks[:-1], {**blocks[-1], **_EPHEMERAL}]


def _blocks(message: ChatMessage) -> list[Block]:
    if message.role == "assistant":
        return _answer_blocks(message)
    blocks = [*map(_image, message.images), *_text(message.content)]
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": _call_id(message.tool_call_id), "content": blocks}]
    return blocks


def _answer_blocks(message: ChatMessage) -> list[Block]:
    blocks: list[Block] = []
    for part in in_order(message, STATE):
        if isinstance(part, TextPart):
            blocks += _text(part.text)
        else:
            blocks.append(_call(part) if isinstance(part, ToolCall) else dict(part))
    return blocks


def _text(text: str) -> list[Block]:
    """Blocks of blanks are refused, so they are left out."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _image(image: Image) -> Block:
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime, "data": data}}


def _call(call: ToolCall) -> Block:
    """Arguments go back byte for byte; those that were no object were never run, and are shown as none."""
    arguments = orjson.Fragment(as_object_text(call.arguments))
    return {"type": "tool_use", "id": _call_id(call.id), "name": call.name, "input": arguments}


def _call_id(id: str) -> str:
    """The id in the letters that are allowed here; it may come from another vendor."""
    return _UNFIT.sub(lambda found: f"_{ord(found[0]):x}_", id)


def _tool(tool: ToolSpec) -> Block:
    schema = {"type": "object", **tool.parameters}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def to_listings(body: Any) -> list[ModelListing]:
    """The models of one page. Raises ProviderError for anything else."""
    entries = as_mapping(body).get("data")
    if not isinstance(entries, list):
        raise reported_error(body) if find_message(body) else ProviderError("The endpoint did not list its models.")
    return [_listing(entry) for entry in map(as_mapping, entries) if as_text(entry.get("id"))]


def _listing(entry: Mapping[str, Any]) -> ModelListing:
    vision = as_mapping(as_mapping(entry.get("capabilities")).get("image_input")).get("supported")
    return ModelListing(
        id=clean_text(entry["id"]),
        context_length=as_count(entry.get("max_input_tokens")),
        tools=True,
        vision=vision if isinstance(vision, bool) else None,
    )


def next_page(body: Any) -> str:
    """The id after which the next page begins, empty on the last page."""
    page = as_mapping(body)
    return as_text(page.get("last_id")) if page.get("has_more") is True else ""
