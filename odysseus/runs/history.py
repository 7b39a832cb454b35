"""What a session's stored messages say to a model: the turns that took place, without those that came to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from odysseus.providers.base import ChatMessage
from odysseus.store.messages import Message

UNANSWERED = frozenset({"failed", "interrupted", "stopped", "timeout"})


def said(messages: Sequence[Message]) -> list[ChatMessage]:
    """The history as prompt messages. A question that failed or was stopped before a word came is left out.

    Else a message that no model can take would fail every later one, and one that was withdrawn would be answered.
    """
    pairs = zip_longest(messages, messages[1:])
    return [
        ChatMessage(message.role, message.content) for message, next_ in pairs if not _came_to_nothing(message, next_)
    ]


def _came_to_nothing(message: Message, following: Message | None) -> bool:
    if message.role != "user":
        return False
    if message.metadata.get("status") in UNANSWERED:
        return True
    answer = following if following and following.role == "assistant" else None
    return answer is not None and not answer.content.strip() and answer.metadata.get("status") in UNANSWERED
