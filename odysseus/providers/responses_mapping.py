"""OpenAI's Responses as a pure mapping: a request to its JSON.

Must not know sockets, nor how an answer comes. Nothing is stored on the server, so the reasoning goes back with each
request.
"""

from __future__ import annotations

import base64
from collections.abc import Collection
from typing import Any

import orjson

from odysseus.providers.base import ChatMessage, ChatRequest, Image, ToolCall, ToolSpec
from odysseus.providers.layout import Part, TextPart, in_order
from odysseus.providers.loose import as_mapping, as_object_text, as_text

STATE = "openai-responses"
# Settings that some models and servers refuse and answer without, each with the words that such an error holds.
_OPTIONAL = {
    "temperature": (b"temperature",),
    "include": (b"include", b"ncrypted content", b"encrypted_content"),
    "reasoning": (b"reasoning.", b"'reasoning'", b'"reasoning"'),
    "text": (b"text.format", b"json_schema"),
}
_LEAST_TOKENS = 16  # the vendor refuses a smaller limit
Item = dict[str, Any]


def to_body(request: ChatRequest) -> dict[str, Any]:
    """The JSON of a request. Summaries of the reasoning are asked for, and the reasoning itself, encrypted."""
    body: dict[str, Any] = {
        "model": request.model,
        "input": [item for message in request.messages for item in _items(message)],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"},
    }
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    if system:
        body["instructions"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_output_tokens"] = max(_LEAST_TOKENS, request.max_tokens)
    if request.response_schema is not None:
        form = {"type": "json_schema", "name": "answer", "schema": request.response_schema, "strict": False}
        body["text"] = {"format": form}
    return body


def _items(message: ChatMessage) -> list[Item]:
    if message.role == "system":
        return []
    if message.role == "assistant":
        return _answer_items(message)
    if message.role == "tool":
        output = _content(message) if message.images else message.content
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": output}]
    content = _content(message)
    return [{"type": "message", "role": "user", "content": content}] if content else []


def _answer_items(message: ChatMessage) -> list[Item]:
    """An item of reasoning is refused without the item that it led to."""
    items: list[Item] = []
    for part in in_order(message, STATE):
        items += _part_items(part)
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _part_items(part: Part) -> list[Item]:
    if isinstance(part, TextPart):
        phase = {"phase": part.more["phase"]} if "phase" in part.more else {}
        said = {"type": "message", "role": "assistant", "content": part.text, **phase}
        return [said] if part.text.strip() else []
    return [_call(part) if isinstance(part, ToolCall) else dict(part)]


def _call(call: ToolCall) -> Item:
    """Arguments go back to the letter; those that were no object were never run, and are shown as none."""
    arguments = as_object_text(call.arguments)
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}


def _content(message: ChatMessage) -> list[Item]:
    text = [{"type": "input_text", "text": message.content}] if message.content.strip() else []
    return [*text, *map(_image, message.images)]


def _image(image: Image) -> Item:
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "input_image", "image_url": f"data:{image.mime};base64,{data}", "detail": "auto"}


def _tool(tool: ToolSpec) -> Item:
    parameters = {"type": "object", **tool.parameters}
    described = {"name": tool.name, "description": tool.description}
    return {"type": "function", **described, "parameters": parameters, "strict": False}


def refused_settings(body: bytes, sent: Collection[str]) -> list[str]:
    """Which of the settings in the request this error refuses: by its `param`, else by its words."""
    try:
        error = as_mapping(as_mapping(orjson.loads(body)).get("error"))
    except orjson.JSONDecodeError:
        error = {}
    param = as_text(error.get("param")).replace("[", ".").split(".")[0]
    if param:
        return [name for name in _OPTIONAL if name in sent and name == param]
    return [name for name, words in _OPTIONAL.items() if name in sent and any(word in body for word in words)]
