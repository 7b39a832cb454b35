"""Messages: their order, and what edits, deletions, cuts and copies leave."""

from __future__ import annotations

import asyncio

import pytest

from odysseus.errors import NotFound
from store.databases import Stores


async def test_the_order_is_that_of_the_writing_whatever_the_clock_says(stores: Stores) -> None:
    session = await stores.session()
    for number in range(4):
        await stores.say(session.id, f"q{number}")
        await stores.say(session.id, f"a{number}", role="assistant")
        stores.clock.now -= 3600 * (number % 2)
    assert await stores.said(session.id) == [f"{who}{number}" for number in range(4) for who in "qa"]
    positions = [message.position for message in await stores.messages.all(session.id)]
    assert positions == sorted(set(positions))


async def test_pages_go_back_to_the_first_message_without_holes(stores: Stores) -> None:
    session = await stores.session()
    await stores.say(session.id, *map(str, range(23)))
    seen: list[str] = []
    before: str | None = None
    while True:
        page = await stores.messages.page(session.id, 5, before)
        assert page.total == 23
        seen = [message.content for message in page.messages] + seen
        before = page.messages[0].id
        if not page.has_more_before:
            break
    assert seen == list(map(str, range(23)))
    assert (await stores.messages.page(session.id, 5, before)).messages == []


async def test_a_page_before_a_message_of_another_session_is_not_found(stores: Stores) -> None:
    one, other = await stores.session(), await stores.session()
    (message_id,) = await stores.say(other.id, "x")
    with pytest.raises(NotFound):
        await stores.messages.page(one.id, 5, message_id)


async def test_an_edit_changes_one_message_and_its_index(stores: Stores) -> None:
    session = await stores.session()
    first, second = await stores.say(session.id, "one apple", "two")
    await stores.messages.edit(session.id, second, "two pears")
    assert await stores.said(session.id) == ["one apple", "two pears"]
    assert [found.id for found in await stores.sessions.list("pears")] == [session.id]
    await stores.messages.edit(session.id, first, "nothing")
    assert await stores.sessions.list("apple") == []


async def test_a_deletion_is_all_or_nothing(stores: Stores) -> None:
    session, other = await stores.session(), await stores.session()
    ids = await stores.say(session.id, "a", "b", "c")
    foreign = await stores.say(other.id, "d")
    for wrong in (["nope"], foreign, [ids[0], ids[0]]):
        with pytest.raises(NotFound):
            await stores.messages.delete(session.id, [ids[0], *wrong])
    assert await stores.said(session.id) == ["a", "b", "c"]
    await stores.messages.delete(session.id, [ids[2], ids[0]])
    assert await stores.said(session.id) == ["b"]
    assert await stores.said(other.id) == ["d"]


async def test_a_cut_keeps_the_named_message_and_those_before(stores: Stores) -> None:
    session = await stores.session()
    ids = await stores.say(session.id, "a", "b", "c")
    await stores.messages.truncate(session.id, ids[1])
    assert await stores.said(session.id) == ["a", "b"]
    await stores.say(session.id, "d")
    assert await stores.said(session.id) == ["a", "b", "d"]
    with pytest.raises(NotFound):
        await stores.messages.truncate(session.id, ids[2])


async def test_a_fork_is_a_copy_that_lives_on_its_own(stores: Stores) -> None:
    session = await stores.session("name")
    ids = await stores.say(session.id, "a", "b", "c")
    stores.clock.now += 100
    fork = await stores.messages.fork(session, ids[1])
    assert await stores.sessions.get(fork.id) == fork
    assert (fork.name, fork.message_count, fork.updated_at) == ("name (copy)", 2, stores.clock.now)
    await stores.sessions.delete(session.id)
    assert await stores.said(fork.id) == ["a", "b"]
    with pytest.raises(NotFound):
        await stores.messages.fork(fork, ids[0])


async def test_changes_of_one_session_at_once_all_hold(stores: Stores) -> None:
    session = await stores.session()
    ids = await stores.say(session.id, *map(str, range(20)))
    await asyncio.gather(
        *(stores.messages.delete(session.id, [one]) for one in ids[:10]),
        *(stores.messages.edit(session.id, one, "edited") for one in ids[10:]),
        *(stores.say(session.id, f"new {number}") for number in range(5)),
    )
    said = await stores.said(session.id)
    assert said == ["edited"] * 10 + [f"new {number}" for number in range(5)]
