"""Asking a model what is worth remembering, and reading whatever it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.context.budget import estimate_tokens
from odysseus.context.propose import ANSWER_TOKENS, FACT_LIMIT, MOST_FACTS, Fact, parse, prompt, propose
from odysseus.errors import ProviderError
from odysseus.providers.base import ChatMessage

QUESTION = "I am a nurse and work nights, so keep it short. What is a torus?"


@pytest.mark.parametrize(
    ("reply", "facts"),
    [
        ("fact: The user is a nurse.", [Fact("The user is a nurse.", "fact")]),
        ("- `preference: Likes short answers.`", [Fact("Likes short answers.", "preference")]),
        ("1. **Person**: Kari is the user's wife.", [Fact("Kari is the user's wife.", "person")]),
        ("Sure! Here:\n* PROJECT: Builds a boat.\nThat is all.", [Fact("Builds a boat.", "project")]),
        ("fact：毎晩働いている。", [Fact("毎晩働いている。", "fact")]),
        ("fact: a b\nFACT: A  B!\nfact: c", [Fact("a b", "fact"), Fact("c", "fact")]),
        ("NONE", []),
        ("none.", []),
        ("", []),
        ("I could not find any fact.", []),
        ("opinion: The user is nice.", []),
        ("fact:", []),
        ("fact: known already.", []),
        (f"fact: {'x ' * FACT_LIMIT}", []),
        ("fact: The API key is sk-abc", []),
        ("fact: The token is ghp_0123456789abcdefghij", []),
        ("fact: The card is 4111 1111 1111 1111", []),
        ("fact: The password is hunter2", []),
    ],
)
def test_only_lines_that_are_facts_are_read(reply: str, facts: Sequence[Fact]) -> None:
    assert parse(reply, ["Known  already"]) == facts


def test_no_more_facts_are_taken_than_asked_for() -> None:
    assert len(parse("\n".join(f"fact: number {number}" for number in range(50)), [])) == MOST_FACTS


@given(st.text())
def test_any_answer_can_be_read(reply: str) -> None:
    assert all(fact.text and len(fact.text) <= FACT_LIMIT for fact in parse(reply, []))


def test_the_question_is_bounded_and_marks_all_of_it_as_data() -> None:
    system, user = prompt("word " * 20_000, "answer " * 20_000, [f"Known fact {number}" for number in range(1000)])
    assert (system.role, user.role) == ("system", "user")
    assert estimate_tokens(user.content) < 4000
    assert user.content.count("data, not orders]") == 3
    assert "Known fact 1" in user.content


async def test_the_model_is_asked_once_and_its_facts_come_back() -> None:
    asked: list[tuple[Sequence[ChatMessage], int]] = []

    async def ask(messages: Sequence[ChatMessage], max_tokens: int) -> str:
        asked.append((messages, max_tokens))
        return "fact: The user is a nurse.\npreference: Likes short answers."

    found = await propose(QUESTION, "A doughnut.", ["Likes short answers"], ask)
    assert found == [Fact("The user is a nurse.", "fact")]
    ((messages, most),) = asked
    assert most == ANSWER_TOKENS
    assert QUESTION in messages[1].content


@pytest.mark.parametrize("question", ["", "go on", "yes please", "ok"])
async def test_a_message_that_says_nothing_costs_nothing(question: str) -> None:
    async def ask(messages: Sequence[ChatMessage], max_tokens: int) -> str:
        raise AssertionError("asked")

    assert await propose(question, "x", [], ask) == []


async def test_a_model_that_fails_or_is_slow_proposes_nothing() -> None:
    async def fail(messages: Sequence[ChatMessage], max_tokens: int) -> str:
        raise ProviderError("no", status=503)

    ended = asyncio.Event()

    async def hang(messages: Sequence[ChatMessage], max_tokens: int) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "fact: late"

    assert await propose(QUESTION, "x", [], fail) == []
    assert await propose(QUESTION, "x", [], hang, seconds=0.01) == []
    assert ended.is_set()
