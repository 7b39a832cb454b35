"""A request as the JSON of OpenAI-compatible chat completions, and what to leave out when a server refuses a field.

Pure: must not know sockets nor the answer.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from odysseus.providers.base import ChatMessage, ChatRequest, Image, ToolCall, ToolSpec
from odysseus.providers.failures import StatusError
from odysseus.providers.profiles import GENERIC, Limit, Profile, Schema
from odysseus.providers.text_tools import refuses_tools
from odysseus.providers.tool_calls import find_problem

CALL_STATE = ("extra_content", "provider_specific_fields")
"""Fields of a tool call that go back as they came."""
MESSAGE_STATE = ("extra_content", "reasoning_details", "thinking_blocks")
"""Fields of an assistant's message that go back as they came."""
SOURCE = "source"
"""The key in a state that says whose it is: nobody else may be sent it."""
NO_PICTURES = "[A picture was left out: this endpoint takes none.]"
_LIMITS: tuple[Limit, ...] = ("max_tokens", "max_completion_tokens")
_REFUSING = re.compile(
    rb"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed|forbid|unavailable",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Ways:
    """Which of the fields that not every server takes are sent. The first of `limits` is used, the others are left.

    Without `tools` they are a part of the text.
    """

    usage: bool
    limits: tuple[Limit, ...]
    temperature: bool
    schema: Schema
    tools: bool = True


def first_ways(profile: Profile) -> Ways:
    """What the profile says, before the server has said anything."""
    others = tuple(name for name in _LIMITS if name != profile.limit)
    return Ways(profile.asks_usage, (profile.limit, *others), True, profile.schema, profile.tools)


def without_refused(ways: Ways, request: ChatRequest, error: StatusError) -> Ways | None:
    """The ways without the fields that this answer refuses by name; None when it refuses none that was sent."""
    changed = _without_fields(ways, request, error) if error.status in (400, 422) else ways
    if changed == ways and ways.tools and refuses_tools(request, error):
        changed = replace(ways, tools=False)
    return None if changed == ways else changed


def _without_fields(ways: Ways, request: ChatRequest, error: StatusError) -> Ways:
    changed = ways
    if ways.usage and b"stream_options" in error.body:
        changed = replace(changed, usage=False)
    if _REFUSING.search(error.body):
        if request.max_tokens is not None and len(ways.limits) > 1 and ways.limits[0].encode() in error.body:
            changed = replace(changed, limits=ways.limits[1:])
        if ways.temperature and request.temperature is not None and b"temperature" in error.body:
            changed = replace(changed, temperature=False)
        if ways.schema != "none" and request.response_schema and b"response_format" in error.body:
            changed = replace(changed, schema="none")
    return changed


def to_body(
    request: ChatRequest, profile: Profile = GENERIC, ways: Ways | None = None, source: str = ""
) -> dict[str, Any]:
    """The JSON of a request. `source` names the endpoint and model: only states that came from there are sent."""
    ways = ways or first_ways(profile)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": list(_messages(request, profile, source)),
        "stream": True,
    }
    if ways.usage:
        body["stream_options"] = {"include_usage": True}
    if request.temperature is not None and ways.temperature:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body[ways.limits[0]] = request.max_tokens
    if request.tools and ways.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.response_schema and ways.schema != "none":
        body["response_format"] = _response_format(request.response_schema, ways.schema)
    return body


def _tool(tool: ToolSpec) -> dict[str, Any]:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _response_format(schema: Mapping[str, Any], way: Schema) -> dict[str, Any]:
    if way == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _messages(request: ChatRequest, profile: Profile, source: str) -> Iterator[dict[str, Any]]:
    """The messages. A tool's answer is text only on this wire: its pictures follow all answers as the user's."""
    pictures: list[Image] = []
    entries = request.mapped.each(source, request.messages, lambda message: _message(message, profile, source))
    for message, entry in zip(request.messages, entries, strict=True):
        if pictures and message.role != "tool":
            yield _picture_message(pictures, profile)
            pictures = []
        yield entry
        if message.role == "tool":
            pictures += message.images
    if pictures:
        yield _picture_message(pictures, profile)


def _picture_message(pictures: Sequence[Image], profile: Profile) -> dict[str, Any]:
    return {"role": "user", "content": _content("Pictures from the tools:", pictures, profile)}


def _message(message: ChatMessage, profile: Profile, source: str) -> dict[str, Any]:
    if message.role == "tool":
        call_id = _fitting_id(message.tool_call_id, profile)
        return {"role": "tool", "tool_call_id": call_id, "content": message.content}
    entry: dict[str, Any] = {"role": message.role, "content": _content(message.content, message.images, profile)}
    if message.role == "assistant":
        if profile.returns_reasoning:
            entry["reasoning_content"] = message.reasoning
        if message.tool_calls:
            entry["content"] = message.content or None
            entry["tool_calls"] = [_call(call, profile, source) for call in message.tool_calls]
        entry |= _own_state(message.state, source, MESSAGE_STATE)
    return entry


def _content(text: str, images: Sequence[Image], profile: Profile) -> str | list[dict[str, Any]]:
    """Text alone is a string, as every server takes it; with pictures it is a list of parts."""
    if not images:
        return text
    if not profile.images:
        return f"{text}\n\n{NO_PICTURES}".strip()
    parts = [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images]
    return [{"type": "text", "text": text}, *parts] if text else parts


def _data_url(image: Image) -> str:
    return f"data:{image.mime};base64,{b64encode(image.data).decode()}"


def _call(call: ToolCall, profile: Profile, source: str) -> dict[str, Any]:
    """A call of an earlier answer. Servers parse its arguments, so those that cannot be parsed are not sent."""
    arguments = "{}" if find_problem(call.arguments) else call.arguments
    entry = {
        "id": _fitting_id(call.id, profile),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
    return entry | _own_state(call.state, source, CALL_STATE)


def _fitting_id(call_id: str, profile: Profile) -> str:
    """The id, or for a vendor that would refuse it a short one that is always the same for it."""
    if not profile.call_ids or re.fullmatch(profile.call_ids, call_id):
        return call_id
    return sha256(call_id.encode()).hexdigest()[:9]


def _own_state(state: Mapping[str, Any] | None, source: str, fields: Sequence[str]) -> dict[str, Any]:
    if not state or state.get(SOURCE) != source:
        return {}
    return {name: state[name] for name in fields if name in state}
