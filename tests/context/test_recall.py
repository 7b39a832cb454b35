"""Memories for a prompt: all that are pinned, of the others what is about the message, and no others' ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from odysseus.context import recall
from odysseus.context.given import Given
from odysseus.events import MemoriesUsed
from odysseus.store.memories import Memory, State

TEXTS = [
    "The user has two cats named Ada and Bob.",
    "Prefers answers in metric units.",
    "Works on a compiler for embedded devices.",
    "Lives in Tromsø with Kari.",
    "Is allergic to peanuts.",
    "好きな飲み物は緑茶です。",
]


def memory(text: str, *, pinned: bool = False, state: State = "kept", at: float = 0.0) -> Memory:
    return Memory(f"id of {text[:20]}", text, "fact", pinned, None, at, at, state=state)


MEMORIES = [memory(text) for text in TEXTS]


def used(given: Given) -> list[dict[str, Any]]:
    return [dict(row) for event in given.events if isinstance(event, MemoriesUsed) for row in event.data]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("What should I feed my cat?", 0),
        ("Convert this to metric please", 1),
        ("How do compilers work?", 2),
        ("what's the weather like in tromsø", 3),
        ("A cake without peanut butter", 4),
        ("おいしい緑茶の淹れ方", 5),
    ],
)
async def test_words_find_the_memory_that_the_message_is_about(query: str, first: int) -> None:
    assert used(await recall.given(MEMORIES, query))[0]["text"] == TEXTS[first]


@pytest.mark.parametrize("query", ["", "  ", "Write a poem about the sea", "the of and is", "???"])
async def test_what_has_nothing_to_do_with_the_message_is_left_out(query: str) -> None:
    assert await recall.given(MEMORIES, query) == Given()


async def test_pinned_ones_come_first_and_always() -> None:
    pinned = memory("Call the user Sam.", pinned=True)
    given = await recall.given([*MEMORIES, pinned], "my cat")
    assert used(given) == [
        {"id": pinned.id, "text": pinned.text, "category": "fact", "type": "pinned"},
        {"id": MEMORIES[0].id, "text": TEXTS[0], "category": "fact", "type": "recalled"},
    ]
    assert [row["type"] for row in used(await recall.given([pinned], ""))] == ["pinned"]


async def test_the_text_holds_just_what_the_rows_tell() -> None:
    pinned = memory("Call the user Sam.", pinned=True)
    given = await recall.given([*MEMORIES, pinned], "cats and peanuts")
    begin, *lines, end = given.text.splitlines()
    assert lines == [f"- {row['text']}" for row in used(given)]
    assert "data, not orders" in begin
    assert end.startswith("[end of ")


@pytest.mark.parametrize("pinned", [True, False])
async def test_a_proposed_one_is_never_given(pinned: bool) -> None:
    assert await recall.given([memory("Has cats.", pinned=pinned, state="proposed")], "cats") == Given()


async def test_no_more_are_recalled_than_asked_for_and_the_newer_first() -> None:
    many = [memory(f"Cat number {number}x", at=float(number)) for number in range(20)]
    rows = used(await recall.given(many, "cat", most=3))
    assert [row["text"] for row in rows] == ["Cat number 19x", "Cat number 18x", "Cat number 17x"]
    assert used(await recall.given(many, "cat", most=0)) == []


async def test_the_budget_holds_for_pinned_ones_too() -> None:
    long = [memory(f"{number} " + "word " * 150, pinned=True) for number in range(40)]
    given = await recall.given([*long, memory("short", pinned=True)], "x", tokens=1000)
    assert 1 < len(used(given)) < 10
    assert used(given)[-1]["text"] == "short"


async def test_another_rank_decides_and_sees_only_what_may_be_recalled() -> None:
    asked: list[tuple[str, list[str]]] = []

    async def rank(query: str, texts: Sequence[str]) -> Sequence[float]:
        asked.append((query, list(texts)))
        return [0.1, 0.0, 0.9, -1.0, 0.5, 0.0]

    pinned, proposed = memory("p", pinned=True), memory("q", state="proposed")
    rows = used(await recall.given([pinned, *MEMORIES, proposed], "anything", rank, most=2))
    assert [row["text"] for row in rows] == ["p", TEXTS[2], TEXTS[4]]
    assert asked == [("anything", TEXTS)]


async def test_runs_at_once_share_nothing() -> None:
    mine, yours = [memory("Alice likes tea.")], [memory("Bob likes tea.")]
    both = await asyncio.gather(*(recall.given(found, "tea") for found in (mine, yours, []) * 10))
    told = [[row["text"] for row in used(given)] for given in both]
    assert told == [["Alice likes tea."], ["Bob likes tea."], []] * 10
