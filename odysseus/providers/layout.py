"""The order of an answer's parts, for vendors that want what they sent among the text and the calls back in its place.

A layout is a list of `{"text": characters}`, `{"call": id}` and `{"sent": what the vendor sent}`; a part may carry more
under names of its own. Pure: must not know a vendor's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from odysseus.providers.base import ChatMessage, ToolCall
from odysseus.providers.loose import as_list, as_mapping


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of the answer. `more` is what else its part of the layout holds."""

    text: str
    more: Mapping[str, Any] = field(default_factory=dict)


Part = TextPart | ToolCall | Mapping[str, Any]
"""What stands in one place: text, a call, or what the vendor sent."""


def in_order(message: ChatMessage, vendor: str) -> list[Part]:
    """The parts of an answer as this vendor gave them.

    Where the answer was changed since, or comes from another vendor: what it sent, the text, the calls.
    """
    layout = [as_mapping(part) for part in as_list(as_mapping(message.state).get(vendor))]
    if not _fits(layout, message):
        sent: list[Part] = [part["sent"] for part in layout if "sent" in part]
        return [*sent, TextPart(message.content), *message.tool_calls]
    parts: list[Part] = []
    calls, start = iter(message.tool_calls), 0
    for part in layout:
        if "text" in part:
            parts.append(TextPart(message.content[start : start + part["text"]], part))
            start += part["text"]
        else:
            parts.append(next(calls) if "call" in part else part["sent"])
    return parts


def _fits(layout: Sequence[Mapping[str, Any]], message: ChatMessage) -> bool:
    characters = sum(part["text"] for part in layout if "text" in part)
    ids = [part["call"] for part in layout if "call" in part]
    return characters == len(message.content) and ids == [call.id for call in message.tool_calls]
