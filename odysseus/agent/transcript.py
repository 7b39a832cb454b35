"""What a run and its model said to each other, as JSON to store, and whole again for the next prompt. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from odysseus.providers.base import ChatMessage, ToolCall

SPARE_LEVELS = 16
"""How much deeper a value stands in a stored answer, or in a request."""

NOT_RUN = "This call did not run: the turn ended before it. Call it again if it is still needed."


def to_entry(message: ChatMessage) -> dict[str, Any]:
    """A message as JSON values, without what is empty."""
    entry: dict[str, Any] = {
        "role": message.role,
        "content": message.content,
        "reasoning": message.reasoning,
        "id": message.tool_call_id,
        "calls": [_call_entry(call) for call in message.tool_calls],
        "state": message.state,
    }
    return {key: value for key, value in entry.items() if value or key == "content"}


def from_entry(entry: Mapping[str, Any]) -> ChatMessage:
    """The message again."""
    return ChatMessage(
        entry["role"],
        entry["content"],
        tool_calls=tuple(ToolCall(**call) for call in entry.get("calls", ())),
        tool_call_id=entry.get("id", ""),
        reasoning=entry.get("reasoning", ""),
        state=entry.get("state"),
    )


def storable(value: Any) -> bool:
    """Whether a value that an endpoint gave can be stored, and sent back, as JSON."""
    for _ in range(SPARE_LEVELS):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:  # nested too deeply, or a number that is too large
        return False
    return True


def paired(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """The same with exactly one result behind each call, in the calls' order; results of no call are left out.

    Providers refuse anything else, so that one call cut short would end the conversation for good.
    """
    whole: list[ChatMessage] = []
    open_calls: Sequence[ToolCall] = ()
    results: dict[str, ChatMessage] = {}
    for message in messages:
        if message.role == "tool":
            results.setdefault(message.tool_call_id, message)
            continue
        whole += _results(open_calls, results)
        whole.append(message)
        open_calls, results = message.tool_calls, {}
    return whole + _results(open_calls, results)


def without_tools(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """The same for a request that offers no tools, which some providers refuse with calls in it: told as text."""
    told: list[ChatMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        if message.role == "tool":
            text = f"Result of {names.get(message.tool_call_id, 'a call')}:\n{message.content}"
            if told and told[-1].role == "user":
                told[-1] = replace(told[-1], content=f"{told[-1].content}\n\n{text}")
            else:
                told.append(ChatMessage("user", text))
        elif message.tool_calls:
            names |= {call.id: call.name for call in message.tool_calls}
            calls = [f"(I called {call.name} with {call.arguments})" for call in message.tool_calls]
            told.append(ChatMessage("assistant", "\n\n".join(filter(None, [message.content, *calls]))))
        else:
            told.append(message)
    return told


def _results(calls: Sequence[ToolCall], results: Mapping[str, ChatMessage]) -> list[ChatMessage]:
    return [results.get(call.id) or ChatMessage("tool", NOT_RUN, tool_call_id=call.id) for call in calls]


def _call_entry(call: ToolCall) -> dict[str, Any]:
    fields = {name: getattr(call, name) for name in call.__slots__}
    return {name: value for name, value in fields.items() if value or name in {"id", "name", "arguments"}}
