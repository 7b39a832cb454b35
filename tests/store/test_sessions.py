"""Sessions: changes that do not undo each other, the order of the list, what a deletion takes along."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from odysseus.errors import NotFound
from odysseus.store.runs import Piece, RunStart
from odysseus.store.sessions import TITLE_LIMIT, title_of
from store.databases import Stores


async def test_changes_at_once_do_not_undo_each_other(stores: Stores) -> None:
    session = await stores.session("old")
    changes: list[dict[str, Any]] = [
        {"name": "new"},
        {"pinned": True},
        {"archived": True},
        {"mode": "agent"},
        {"model": "other"},
    ]
    await asyncio.gather(*(stores.sessions.change(session.id, change) for change in changes))
    kept = await stores.sessions.get(session.id)
    assert (kept.name, kept.pinned, kept.archived, kept.mode, kept.model) == ("new", True, True, "agent", "other")


async def test_a_change_and_the_start_of_a_run_do_not_undo_each_other(stores: Stores) -> None:
    session = await stores.session()
    start = RunStart("r", session.id, "chat", "the question", "far", "big")
    await asyncio.gather(stores.sessions.change(session.id, {"pinned": True}), stores.runs.begin(start))
    kept = await stores.sessions.get(session.id)
    assert (kept.pinned, kept.name, kept.endpoint_id, kept.model) == (True, "the question", "far", "big")


async def test_what_is_gone_cannot_be_read_changed_or_deleted(stores: Stores) -> None:
    session = await stores.session()
    await stores.sessions.delete(session.id)
    with pytest.raises(NotFound):
        await stores.sessions.get(session.id)
    with pytest.raises(NotFound):
        await stores.sessions.change(session.id, {"name": "x"})
    with pytest.raises(NotFound):
        await stores.sessions.delete(session.id)
    with pytest.raises(NotFound):
        await stores.runs.begin(RunStart("r", session.id, "chat", "m", "up", "m"))
    assert await stores.db.read("SELECT * FROM messages") == []


async def test_a_deletion_takes_all_rows_along_and_no_other_sessions(stores: Stores) -> None:
    gone, kept = await stores.session("gone"), await stores.session("kept")
    for session in (gone, kept):
        await stores.runs.begin(RunStart(session.id, session.id, "chat", f"words {session.name}", "up", "m"))
        await stores.runs.checkpoint([Piece(session.id, "text", "thought")])
    await stores.sessions.delete(gone.id)
    for table, column in (("messages", "session_id"), ("runs", "session_id"), ("run_pieces", "run_id")):
        assert {row[0] for row in await stores.db.read(f"SELECT {column} FROM {table}")} == {kept.id}
    assert await stores.sessions.list("gone") == []
    assert [session.id for session in await stores.sessions.list("words")] == [kept.id]


async def test_pinned_ones_come_first_then_the_last_used(stores: Stores) -> None:
    names = {}
    for name in ("a", "b", "c", "d"):
        stores.clock.now += 1
        names[name] = await stores.session(name)
    await stores.sessions.change(names["b"].id, {"pinned": True})
    await stores.sessions.change(names["c"].id, {"archived": True})
    stores.clock.now += 1
    await stores.say(names["a"].id, "hello")
    assert [session.name for session in await stores.sessions.list()] == ["b", "a", "d"]
    assert [session.name for session in await stores.sessions.list(archived=True)] == ["c"]


async def test_sessions_of_one_moment_keep_their_order(stores: Stores) -> None:
    for number in range(10):
        await stores.session(str(number))
    assert [session.name for session in await stores.sessions.list()] == [str(number) for number in reversed(range(10))]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Öl im Glas", "öl"),
        ("ÉTUDE", "étude"),
        ("100% sure", "%"),
        ("snake_case", "e_c"),
        ("a\\b", "\\"),
        ("ПРИВЕТ", "привет"),
    ],
)
async def test_names_are_found_in_any_case_and_by_any_character(stores: Stores, name: str, query: str) -> None:
    session = await stores.session(name)
    await stores.session("another one")
    assert [found.id for found in await stores.sessions.list(query)] == [session.id]


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("short", "short"),
        ("\n \n  first line  \nsecond", "first line"),
        ("", ""),
        ("word " * 30, "word " * 11 + "word…"),
        ("x" * 100, "x" * TITLE_LIMIT + "…"),
        ("字" * 100, "字" * TITLE_LIMIT + "…"),
    ],
)
def test_the_title_is_the_first_line_cut_at_a_word(message: str, title: str) -> None:
    assert title_of(message) == title
