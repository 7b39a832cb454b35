"""A session's stored messages as turns, for the window: each question with what it was given and what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from odysseus.context.turns import Turn
from odysseus.providers.base import ChatMessage
from odysseus.runs.history import answer_messages, came_to_nothing
from odysseus.store.messages import Message

GIVEN = "given"
"""Where a question's metadata holds the text that the model was given with it. Of an answer it is that of a question
which was answered again: each answer keeps its own."""

IMPORTED = "imported"
"""What metadata of a message from a file says; nobody knows who wrote it."""


def turns_of(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """The turns that took place, oldest first. Questions that came to nothing are left out."""
    turns: list[Turn] = []
    for message, following in zip_longest(messages, messages[1:]):
        if came_to_nothing(message, following):
            continue
        if message.role == "user":
            given = message.metadata.get(GIVEN, "")
            outside = bool(message.metadata.get("given_outside", True))
            question = ChatMessage("user", message.content)
            turns.append(Turn(question, given, (), message.position, 1, outside, IMPORTED in message.metadata))
            continue
        turn = _given_anew(turns.pop() if turns else Turn(), message)
        answer = (*turn.answer, *answer_messages(message.content, message.metadata))
        imported = turn.imported or IMPORTED in message.metadata
        turns.append(replace(turn, answer=answer, end=message.position, messages=turn.messages + 1, imported=imported))
    return tuple(turns)


def _given_anew(turn: Turn, answer: Message) -> Turn:
    if GIVEN not in answer.metadata:
        return turn
    return replace(turn, given=answer.metadata[GIVEN], from_outside=bool(answer.metadata.get("given_outside", True)))
