"""Tools where the server takes none: described in the system's words, called and answered in plain text.

Pure: must not know a vendor's words beyond those with which servers say that they take no tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from odysseus.providers.base import ChatMessage, ChatRequest, ToolCall, ToolSpec
from odysseus.providers.failures import StatusError
from odysseus.providers.loose import as_object_text

_STATUSES = (400, 404, 422, 500, 501)
_TOOLS = re.compile(rb"\btools?\b|tool_choice|tool\W?call|function\W?call", re.IGNORECASE)
_REFUSAL = re.compile(
    rb"not support|n.t support|unsupported|not (allowed|permitted|available|enabled|implemented)|unrecogni[sz]ed"
    rb"|unknown|unexpected|extra|forbid|requires|--jinja|--enable-auto-tool-choice|no endpoints",
    re.IGNORECASE,
)
_HOW = """You can use tools. To call one, write this on a line of its own, outside of code, and nothing after it:
<tool_call>{"name": "the tool", "arguments": {"its argument": "value"}}</tool_call>
Several calls may follow each other. The results come with the next message; then go on, or answer without a call. \
Never write a result yourself.

The tools, each with the JSON schema of its arguments:
"""


def refuses_tools(request: ChatRequest, error: StatusError) -> bool:
    """Whether the server says by this error that it takes no tools, neither new ones nor calls of the chat so far."""
    sent = bool(request.tools) or any(message.tool_calls for message in request.messages)
    told = _TOOLS.search(error.body) and _REFUSAL.search(error.body)
    return sent and error.status in _STATUSES and told is not None


def without_tools(request: ChatRequest) -> ChatRequest:
    """The same request with everything about tools in plain text."""
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    messages = list(_joined(_in_text(message, names) for message in request.messages))
    if request.tools:
        described = _HOW + "\n".join(map(_described, request.tools))
        first = messages[0] if messages and messages[0].role == "system" else None
        words = f"{first.content}\n\n{described}" if first and first.content else described
        messages = [ChatMessage("system", words), *messages[1 if first else 0 :]]
    return replace(request, messages=tuple(messages), tools=())


def written_schemas(request: ChatRequest) -> Mapping[str, Mapping[str, Any]]:
    """The tools that may be called in the text, with their schemas: none once the chat has calls of the real kind.

    A model that can call does not write its calls, and what looks like one is then a quote.
    """
    if any(not call.written for message in request.messages for call in message.tool_calls):
        return {}
    return all_schemas(request)


def all_schemas(request: ChatRequest) -> Mapping[str, Mapping[str, Any]]:
    """The schemas of all tools of the request by their names."""
    return {tool.name: tool.parameters for tool in request.tools}


def _described(tool: ToolSpec) -> str:
    shown = {"name": tool.name, "description": tool.description, "arguments": tool.parameters}
    return orjson.dumps(shown).decode()


def _in_text(message: ChatMessage, names: Mapping[str, str]) -> ChatMessage:
    if message.role == "tool":
        name = names.get(message.tool_call_id, "a tool")
        words = f"Result of {name}:\n<tool_response>\n{message.content}\n</tool_response>"
        return ChatMessage("user", words, images=message.images)
    if message.tool_calls:
        words = "\n".join([*([message.content] if message.content else []), *map(_written, message.tool_calls)])
        return replace(message, content=words, tool_calls=(), state=None)
    return message


def _written(call: ToolCall) -> str:
    name = orjson.dumps(call.name).decode()
    return f'<tool_call>{{"name": {name}, "arguments": {as_object_text(call.arguments)}}}</tool_call>'


def _joined(messages: Iterator[ChatMessage]) -> Iterator[ChatMessage]:
    """The user's messages in a row as one: some templates refuse two."""
    row: list[ChatMessage] = []
    for message in messages:
        if row and message.role != "user":
            yield _one(row)
            row = []
        if message.role == "user":
            row.append(message)
        else:
            yield message
    if row:
        yield _one(row)


def _one(row: Sequence[ChatMessage]) -> ChatMessage:
    words = "\n\n".join(message.content for message in row if message.content)
    return replace(row[0], content=words, images=tuple(image for message in row for image in message.images))
