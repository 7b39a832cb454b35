"""Memories: each kept once, found by any of its words, forgotten by id or text."""

from __future__ import annotations

import asyncio

import pytest

from odysseus.errors import Conflict, NotFound
from odysseus.store.db import Connection
from odysseus.store.memories import MOST_MEMORIES, Memory, MemoryStore
from store.databases import Stores


@pytest.fixture
def memories(stores: Stores) -> MemoryStore:
    return MemoryStore(stores.db, stores.clock)


async def test_a_memory_is_kept_on_one_line_with_where_it_comes_from(stores: Stores, memories: MemoryStore) -> None:
    made, new = await memories.remember("  Likes\n green\ttea ", "preference", "s1")
    now = stores.clock.now
    assert new
    assert made == Memory(made.id, "Likes green tea", "preference", False, "s1", now, now)
    assert await memories.list() == [made]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Likes tea", "likes TEA"),
        ("Likes tea", " Likes \n\n tea\t"),
        ("Wohnt in der Straße 5", "wohnt in der STRASSE 5"),
        ("ПРИВЕТ", "привет"),
        ("caf\u00e9", "cafe\u0301"),
        ("a\u00a0b", "a b"),
    ],
)
async def test_the_same_text_is_kept_once(memories: MemoryStore, first: str, second: str) -> None:
    kept, _ = await memories.remember(first, "fact")
    assert await memories.remember(second, "other") == (kept, False)
    assert await memories.list() == [kept]


async def test_the_same_text_at_once_is_kept_once(memories: MemoryStore) -> None:
    told = await asyncio.gather(*(memories.remember("Likes tea", "fact") for _ in range(8)))
    assert sum(new for _, new in told) == 1
    assert len({memory.id for memory, _ in told}) == 1


async def test_a_memory_is_forgotten_by_its_id_or_its_text(memories: MemoryStore) -> None:
    tea, _ = await memories.remember("Likes tea", "fact")
    cats, _ = await memories.remember("Has two cats", "fact")
    assert await memories.forget(memory_id=tea.id) == tea
    assert await memories.forget(text=" has TWO  cats") == cats
    assert await memories.list() == []


@pytest.mark.parametrize("text", ["", "Likes", "Likes tea and coffee", "%"])
async def test_only_the_whole_text_is_forgotten(memories: MemoryStore, text: str) -> None:
    tea, _ = await memories.remember("Likes tea", "fact")
    with pytest.raises(NotFound):
        await memories.forget(text=text)
    with pytest.raises(NotFound):
        await memories.forget(memory_id=text or "x")
    assert await memories.list() == [tea]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["Trinkt Öl?", "Has 100% wool", "Likes green tea"]),
        ("tea", ["Likes green tea"]),
        ("TEA likes", ["Likes green tea"]),
        ("tea wool", []),
        ("öl", ["Trinkt Öl?"]),
        ("%", ["Has 100% wool"]),
        ("_", []),
    ],
)
async def test_the_list_finds_every_word_in_any_order_and_case(
    memories: MemoryStore, query: str, found: list[str]
) -> None:
    for text in ("Likes green tea", "Has 100% wool", "Trinkt Öl?"):
        await memories.remember(text, "fact")
    assert [memory.text for memory in await memories.list(query)] == found


async def test_pinned_ones_come_first_and_the_list_can_be_short(stores: Stores, memories: MemoryStore) -> None:
    for text in ("a", "b", "c"):
        stores.clock.now += 1
        await memories.remember(text, "fact")

    async def pin(db: Connection) -> None:
        await db.execute("UPDATE memories SET pinned = 1 WHERE text = 'a'")

    await stores.db.write(pin)
    assert [(memory.text, memory.pinned) for memory in await memories.list(limit=2)] == [("a", True), ("c", False)]


async def test_there_is_room_for_so_many(stores: Stores, memories: MemoryStore) -> None:
    first, _ = await memories.remember("fact 0", "fact")

    async def fill(db: Connection) -> None:
        await db.executemany(
            "INSERT INTO memories (id, text, created_at, updated_at) VALUES (?1, 'fact ' || ?1, 0, 0)",
            [(str(number),) for number in range(1, MOST_MEMORIES)],
        )

    await stores.db.write(fill)
    with pytest.raises(Conflict, match="1,000"):
        await memories.remember("one more", "fact")
    assert await memories.remember("FACT 0", "fact") == (first, False)
    await memories.forget(memory_id=first.id)
    assert (await memories.remember("one more", "fact"))[1]
