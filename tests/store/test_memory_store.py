"""Memories: each kept once, found by any of its words, forgotten by id or text."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from odysseus.errors import Conflict, NotFound
from odysseus.store.db import Connection
from odysseus.store.memories import MOST_MEMORIES, MOST_PROPOSED, Memory, MemoryStore
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
        ("öl", ["Trinkt Öl?", "Has 100% wool"]),
        ("trinkt ol", ["Trinkt Öl?"]),
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

    def pin(db: Connection) -> None:
        db.execute("UPDATE memories SET pinned = 1 WHERE text = 'a'")

    await stores.db.write(pin)
    assert [(memory.text, memory.pinned) for memory in await memories.list(limit=2)] == [("a", True), ("c", False)]


async def test_there_is_room_for_so_many(stores: Stores, memories: MemoryStore) -> None:
    first, _ = await memories.remember("fact 0", "fact")

    def fill(db: Connection) -> None:
        db.executemany(
            "INSERT INTO memories (id, text, created_at, updated_at) VALUES (?1, 'fact ' || ?1, 0, 0)",
            [(str(number),) for number in range(1, MOST_MEMORIES)],
        )

    await stores.db.write(fill)
    with pytest.raises(Conflict, match="1,000"):
        await memories.remember("one more", "fact")
    assert await memories.remember("FACT 0", "fact") == (first, False)
    await memories.forget(memory_id=first.id)
    assert (await memories.remember("one more", "fact"))[1]


async def test_a_proposal_is_a_memory_of_its_own_state(memories: MemoryStore) -> None:
    kept, _ = await memories.remember("Likes tea", "fact")
    proposed, new = await memories.remember("Has a cat", "fact", state="proposed", outside=True)
    assert (new, proposed.state, proposed.outside) == (True, "proposed", True)
    assert await memories.list(state="kept") == [kept]
    assert await memories.list(state="proposed") == [proposed]
    assert await memories.list("cat", state="kept") == []
    assert len(await memories.list()) == 2


async def test_a_proposal_of_what_is_kept_changes_nothing(memories: MemoryStore) -> None:
    kept, _ = await memories.remember("Likes tea", "fact")
    assert await memories.remember("LIKES tea", "other", state="proposed", outside=True) == (kept, False)
    assert await memories.list() == [kept]


async def test_what_was_proposed_is_kept_once_it_is_remembered(stores: Stores, memories: MemoryStore) -> None:
    proposed, _ = await memories.remember("Likes tea", "fact", state="proposed")
    stores.clock.now += 5
    kept = replace(proposed, state="kept", updated_at=stores.clock.now)
    assert await memories.remember("likes tea", "fact") == (kept, False)
    assert await memories.list() == [kept]


async def test_a_memory_is_changed_field_by_field(stores: Stores, memories: MemoryStore) -> None:
    made, _ = await memories.remember("Likes tea", "fact", state="proposed", outside=True)
    stores.clock.now += 5
    kept = await memories.change(made.id, {"state": "kept", "pinned": True})
    assert kept == replace(made, state="kept", pinned=True, updated_at=stores.clock.now)
    reworded = await memories.change(made.id, {"text": "Likes green tea", "category": "taste"})
    assert reworded == replace(kept, text="Likes green tea", category="taste", outside=False)
    assert await memories.list() == [reworded]
    with pytest.raises(NotFound):
        await memories.change("none", {"pinned": True})


async def test_a_memory_does_not_get_the_text_of_another(memories: MemoryStore) -> None:
    tea, _ = await memories.remember("Likes tea", "fact")
    cats, _ = await memories.remember("Has cats", "fact")
    with pytest.raises(Conflict):
        await memories.change(cats.id, {"text": "LIKES TEA"})
    assert {memory.text for memory in await memories.list()} == {"Likes tea", "Has cats"}
    assert (await memories.change(tea.id, {"text": "likes tea"})).text == "likes tea"


async def test_the_oldest_proposals_make_room_and_memories_do_not(stores: Stores, memories: MemoryStore) -> None:
    await memories.remember("Likes tea", "fact")
    for number in range(MOST_PROPOSED + 3):
        stores.clock.now += 1
        await memories.remember(f"proposal {number}", "fact", state="proposed")
    texts = {memory.text for memory in await memories.list()}
    assert texts == {"Likes tea"} | {f"proposal {number}" for number in range(3, MOST_PROPOSED + 3)}
