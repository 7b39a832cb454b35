"""Conversations for the tests of the window: made from numbers, counted by a plain tokenizer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from odysseus.context.budget import Room, room_of
from odysseus.context.counting import Counter, TokenCache
from odysseus.context.given import as_data
from odysseus.context.trimming import message_tokens
from odysseus.context.turns import Prompt, Turn
from odysseus.context.window import Fit, Window
from odysseus.providers.base import ChatMessage, ToolCall

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "seven",
    "wizards",
    "brew",
    "ale",
]


def words(count: int, seed: int = 0) -> str:
    """So many words, other ones for each seed."""
    return " ".join(WORDS[(seed * 7 + index * (seed % 5 + 1)) % len(WORDS)] for index in range(count))


def plain_tokens(text: str) -> int:
    """A tokenizer of its own mind: a token for every four characters and for each line."""
    return len(text) // 4 + text.count("\n") + bool(text)


async def plain_count(texts: Sequence[str]) -> Sequence[int]:
    return [plain_tokens(text) for text in texts]


def counter(*, exact: bool = True) -> Counter:
    return Counter(TokenCache(), "plain", plain_count if exact else None)


def asks(text: str) -> ChatMessage:
    return ChatMessage("user", text)


def says(text: str) -> ChatMessage:
    return ChatMessage("assistant", text)


def round_of(name: str, lengths: Sequence[int]) -> list[ChatMessage]:
    """Calls with their results, of so many words each."""
    calls = tuple(ToolCall(f"{name}.{index}", "read_file", '{"path": "a"}') for index in range(len(lengths)))
    results = [
        ChatMessage("tool", words(length, index), tool_call_id=f"{name}.{index}")
        for index, length in enumerate(lengths)
    ]
    return [ChatMessage("assistant", "", tool_calls=calls), *results]


@st.composite
def turns(draw: Any, most: int = 12) -> list[Turn]:
    """A conversation whose last turn waits for its answer."""
    made: list[Turn] = []
    count = draw(st.integers(1, most))
    for number in range(count):
        answer: list[ChatMessage] = []
        for at, lengths in enumerate(draw(st.lists(st.lists(st.integers(0, 700), min_size=1, max_size=3), max_size=3))):
            answer += round_of(f"{number}.{at}", lengths)
        if number < count - 1:
            answer.append(says(words(draw(st.integers(1, 300)), number)))
        files = draw(st.lists(st.integers(1, 500), max_size=2))
        given = "\n\n".join(as_data(f"file {at}", words(length, at)) for at, length in enumerate(files))
        question = f"Q{number} {words(draw(st.integers(0, 120)), number)}"
        made.append(Turn(asks(question), given, tuple(answer), number + 1, 2))
    return made


def fitted(made: Sequence[Turn], room: Room | int, *, exact: bool = True, summary: str = "") -> tuple[Window, Fit]:
    """A window with a conversation in it, and its first fit."""
    size = room_of(room) if isinstance(room, int) else room
    window = Window(Prompt("Be brief.", tuple(made), summary=summary), size, counter(exact=exact))
    return window, asyncio.run(window.fit())


def tokens_of(messages: Sequence[ChatMessage]) -> int:
    """What the model's tokenizer says of a prompt."""
    return sum(message_tokens(message, plain_tokens) for message in messages)


def check_pairs(messages: Sequence[ChatMessage]) -> None:
    """Every call has its result behind it, and there is no other one."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert waiting, "a result without its call"
            assert message.tool_call_id == waiting.pop(0)
            continue
        assert not waiting, "a call without its result"
        waiting = [call.id for call in message.tool_calls]
    assert not waiting
