"""The memory tool on a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from contexts import context
from store.databases import opened

from odysseus.store.memories import MemoryStore
from odysseus.tools.base import ToolContext, ToolError
from odysseus.tools.memory import LISTED, TEXT_LIMIT, memory_tools


@dataclass(frozen=True)
class Mind:
    """The tool and what it writes to."""

    store: MemoryStore
    context: ToolContext
    ask: bool = False

    async def call(self, action: str, **given: Any) -> str:
        (tool,) = memory_tools(self.store, ask=self.ask)
        return str((await tool.run(tool.parse({"action": action, **given}), self.context)).output)


@pytest.fixture
async def mind(tmp_path: Path) -> AsyncIterator[Mind]:
    async with opened(tmp_path / "db.sqlite3") as stores:
        yield Mind(MemoryStore(stores.db, stores.clock), context(tmp_path, session_id="chat 1"))


async def test_a_fact_is_remembered_once_with_its_chat(mind: Mind) -> None:
    told = await mind.call("remember", text=" Likes\n tea ", category=" Preference ")
    (kept,) = await mind.store.list()
    assert (kept.text, kept.category, kept.session_id) == ("Likes tea", "preference", "chat 1")
    assert told == f"Remembered: {kept.id}  [preference] Likes tea"
    assert await mind.call("remember", text="likes TEA") == f"Known already: {kept.id}  [preference] Likes tea"
    assert await mind.store.list() == [kept]


async def test_memories_are_listed_by_words(mind: Mind) -> None:
    assert await mind.call("list") == "Nothing is remembered yet."
    await mind.call("remember", text="Likes green tea")
    await mind.call("remember", text="Has two cats", category="")
    cats, tea = await mind.store.list()
    assert await mind.call("list", text="TEA green") == f"{tea.id}  [fact] Likes green tea"
    assert await mind.call("list") == f"{cats.id}  [fact] Has two cats\n{tea.id}  [fact] Likes green tea"
    assert await mind.call("list", text="dogs") == "No memory holds all these words."


async def test_a_long_list_says_what_it_leaves_out(mind: Mind) -> None:
    for number in range(LISTED + 2):
        await mind.store.remember(f"fact {number}", "fact")
    lines = (await mind.call("list")).splitlines()
    assert (len(lines), lines[-1]) == (LISTED + 1, "[2 more. Give words in text to find them.]")


async def test_a_memory_is_forgotten_by_id_or_exact_text(mind: Mind) -> None:
    await mind.call("remember", text="Likes tea")
    await mind.call("remember", text="Has two cats")
    cats, _ = await mind.store.list()
    assert await mind.call("forget", id=f" {cats.id} ", text="Likes tea") == "Forgotten: Has two cats"
    with pytest.raises(ToolError, match=r"no such memory.*list shows what there is"):
        await mind.call("forget", text="tea")
    assert await mind.call("forget", text="likes  tea") == "Forgotten: Likes tea"
    assert await mind.store.list() == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"action": "remember"}, "nothing to remember"),
        ({"action": "remember", "text": " \n "}, "nothing to remember"),
        ({"action": "forget"}, "Give the id"),
        ({"action": "forget", "id": " ", "text": "\t"}, "Give the id"),
        ({"action": "delete"}, "Wrong arguments for manage_memory.*action"),
        ({}, "Wrong arguments for manage_memory.*action"),
        ({"action": "remember", "text": "x" * (TEXT_LIMIT + 1)}, "Wrong arguments.*text"),
        ({"action": "remember", "text": "x", "category": "x" * 41}, "Wrong arguments.*category"),
    ],
)
async def test_a_call_that_says_too_little_or_too_much_changes_nothing(
    mind: Mind, given: Mapping[str, Any], words: str
) -> None:
    (tool,) = memory_tools(mind.store)
    await mind.store.remember("Likes tea", "fact")
    with pytest.raises(ToolError, match=words):
        await tool.run(tool.parse(given), mind.context)
    assert len(await mind.store.list()) == 1


@pytest.mark.parametrize(
    ("ask", "outside", "approved", "state"),
    [
        (False, False, False, "kept"),
        (False, True, False, "proposed"),
        (True, False, False, "proposed"),
        (False, True, True, "kept"),
        (True, False, True, "kept"),
    ],
)
async def test_what_nobody_has_seen_is_only_proposed(
    mind: Mind, *, ask: bool, outside: bool, approved: bool, state: str
) -> None:
    mind = replace(mind, ask=ask, context=replace(mind.context, outside=outside, approved=approved))
    told = await mind.call("remember", text="Likes tea")
    (memory,) = await mind.store.list()
    assert (memory.state, memory.outside) == (state, outside)
    assert told.startswith("Remembered:" if state == "kept" else "Proposed:")
    assert ("Likes tea" in await mind.call("list")) == (state == "kept")


async def test_a_proposal_does_not_take_back_what_is_kept(mind: Mind) -> None:
    await mind.call("remember", text="Likes tea")
    touched = replace(mind, context=replace(mind.context, outside=True))
    assert (await touched.call("remember", text="likes tea")).startswith("Known already:")
    assert "Likes tea" in await mind.call("list")


def test_the_row_says_what_is_done() -> None:
    (tool,) = memory_tools(MemoryStore.__new__(MemoryStore))
    assert tool.command(tool.parse({"action": "remember", "text": "Likes\ntea"})) == "remember: Likes tea"
    assert tool.command(tool.parse({"action": "list"})) == "list"
    assert tool.command(tool.parse({"action": "forget", "id": "a1", "text": "x"})) == "forget: a1"
    assert (tool.effects, tool.policy, tool.reads_only) == (frozenset({"private"}), "allow", False)
