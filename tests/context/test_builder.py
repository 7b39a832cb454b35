"""The prompt: system text first, roles in turn, nothing empty, and the user's day."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from odysseus.context.builder import UserClock, prompt_of, system_text
from odysseus.providers.base import ChatMessage

NOON = 1_767_268_800.0  # 2026-01-01 12:00 UTC


def build_prompt(
    system: str, history: list[ChatMessage], clock: UserClock | None, now: float
) -> tuple[ChatMessage, ...]:
    """The whole prompt of a chat that fits its window."""
    return prompt_of(system_text(system, clock, now), history)


def said(*pairs: tuple[Any, str]) -> list[ChatMessage]:
    return [ChatMessage(role, content) for role, content in pairs]


def test_the_system_text_comes_first_and_then_the_history() -> None:
    history = said(("user", "a"), ("assistant", "b"), ("user", "c"))
    assert build_prompt(" be brief ", history, None, NOON) == (ChatMessage("system", "be brief"), *history)


def test_without_a_system_text_there_is_no_system_message() -> None:
    history = said(("user", "a"))
    assert build_prompt(" \n", history, None, NOON) == tuple(history)


def test_what_a_failed_or_stopped_turn_left_is_joined_to_its_neighbour() -> None:
    history = said(("user", "a"), ("user", "b"), ("assistant", " "), ("user", "c"), ("assistant", "d"), ("user", "e"))
    assert build_prompt("", history, None, NOON) == tuple(
        said(("user", "a\n\nb\n\nc"), ("assistant", "d"), ("user", "e"))
    )


@pytest.mark.parametrize("seed", range(30))
def test_roles_are_always_in_turn_and_no_word_is_lost(seed: int) -> None:
    chance = random.Random(seed)
    history = said(
        *((chance.choice(["user", "assistant"]), chance.choice(["", " ", f"w{number}"])) for number in range(30))
    )
    prompt = build_prompt("s", history, None, NOON)
    roles = [message.role for message in prompt]
    assert all(one != next_ for one, next_ in pairwise(roles))
    words = [word for message in prompt[1:] for word in message.content.split("\n\n")]
    assert words == [message.content for message in history if message.content.strip()]


@pytest.mark.parametrize(
    ("offset", "name", "line"),
    [
        (0, "", "For the user it is Thursday, 2026-01-01, about 12:00."),
        (720, "Pacific/Auckland", "For the user (Pacific/Auckland) it is Friday, 2026-01-02, about 00:00."),
        (-721, "", "For the user it is Wednesday, 2025-12-31, about 23:00."),
        (330, "Asia/Kolkata", "For the user (Asia/Kolkata) it is Thursday, 2026-01-01, about 17:00."),
    ],
)
def test_the_users_clock_ends_the_system_text(offset: int, name: str, line: str) -> None:
    clock = UserClock(offset, name)
    assert build_prompt("s", [], clock, NOON) == (ChatMessage("system", f"s\n\n{line}"),)
    assert build_prompt("", [], clock, NOON) == (ChatMessage("system", line),)


def test_the_beginning_stays_the_same_within_an_hour_so_that_caches_hit() -> None:
    clock = UserClock(0)
    assert build_prompt("s", [], clock, NOON) == build_prompt("s", [], clock, NOON + 3599)
