"""What a session's stored messages say to a model: the turns that took place, without those that came to nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from odysseus.agent.transcript import from_entry
from odysseus.providers.base import ChatMessage
from odysseus.store.messages import Message

UNANSWERED = frozenset({"failed", "interrupted", "stopped", "timeout"})


def said(messages: Sequence[Message]) -> list[ChatMessage]:
    """The history as prompt messages. A question that failed or was stopped before a word came is left out.

    Else a message that no model can take would fail every later one, and one that was withdrawn would be answered.
    """
    pairs = zip_longest(messages, messages[1:])
    kept = [message for message, next_ in pairs if not came_to_nothing(message, next_)]
    return list(
        chain.from_iterable(
            answer_messages(message.content, message.metadata)
            if message.role == "assistant"
            else [ChatMessage("user", message.content)]
            for message in kept
        )
    )


def answer_messages(content: str, metadata: Mapping[str, Any]) -> list[ChatMessage]:
    """A stored answer as the messages it was made in: calls, their results, and the text between.

    Of an answer that was edited since, the calls stand as they were and the text is the new one.
    """
    entries = [from_entry(entry) for entry in metadata.get("transcript", ())]
    if not entries:
        return [ChatMessage("assistant", content)]
    if not metadata.get("edited"):
        return entries
    calls = [replace(entry, content="") if entry.role == "assistant" else entry for entry in entries]
    acts = [entry for entry in calls if entry.tool_calls or entry.role == "tool"]
    return [*acts, ChatMessage("assistant", content)]


def came_to_nothing(message: Message, following: Message | None) -> bool:
    """Whether a question was left without a word of an answer."""
    if message.role != "user":
        return False
    if message.metadata.get("status") in UNANSWERED:
        return True
    answer = following if following and following.role == "assistant" else None
    if answer is None or answer.content.strip() or answer.metadata.get("transcript"):
        return False
    return answer.metadata.get("status") in UNANSWERED
