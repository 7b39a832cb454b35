"""Summaries: kept with what they stand for, gone with it, and taken along by a copy."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from odysseus.store.messages import Message, append_message, new_message_id
from odysseus.store.summaries import Summary, SummaryStore
from store.databases import Stores


@pytest.fixture
def summaries(stores: Stores) -> SummaryStore:
    return SummaryStore(stores.db, stores.clock)


async def talk(stores: Stores, turns: int) -> tuple[str, Sequence[Message]]:
    """A session with so many questions and answers."""
    session = await stores.session()
    for number in range(turns):
        await stores.say(session.id, f"q{number}")
        await stores.say(session.id, f"a{number}", role="assistant")
    return session.id, await stores.messages.all(session.id)


async def summarise(summaries: SummaryStore, messages: Sequence[Message], start: int, end: int) -> Summary:
    """Keep a summary of all up to `end` that builds on the one of all up to `start`."""
    before = await summaries.last(messages[0].session_id)
    made = Summary(messages[0].session_id, messages[end - 1].position, end, f"summary of {end}", outside=False)
    assert await summaries.save(made, before, messages[start:end])
    return made


async def test_the_last_one_is_that_which_stands_for_the_most(stores: Stores, summaries: SummaryStore) -> None:
    session, messages = await talk(stores, 4)
    assert await summaries.last(session) is None
    await summarise(summaries, messages, 0, 2)
    made = await summarise(summaries, messages, 2, 6)
    assert await summaries.last(session) == made
    assert await stores.messages.since(session, made.upto) == messages[6:]


@pytest.mark.parametrize("way", ["edit", "delete", "truncate"])
@pytest.mark.parametrize(("index", "left"), [(0, None), (1, None), (2, 2), (5, 2), (6, 6), (7, 6)])
async def test_a_change_takes_the_summaries_of_what_it_changes(
    stores: Stores, summaries: SummaryStore, way: str, index: int, left: int | None
) -> None:
    session, messages = await talk(stores, 4)
    await summarise(summaries, messages, 0, 2)
    await summarise(summaries, messages, 2, 6)
    if way == "edit":
        await stores.messages.edit(session, messages[index].id, "other words")
    elif way == "delete":
        await stores.messages.delete(session, [messages[index].id])
    elif index:
        await stores.messages.truncate(session, messages[index - 1].id)
    else:
        await stores.messages.delete(session, [message.id for message in messages])
    found = await summaries.last(session)
    assert (found and found.messages) == left


async def test_a_late_answer_to_an_old_question_takes_its_summary(stores: Stores, summaries: SummaryStore) -> None:
    session, messages = await talk(stores, 3)
    await summarise(summaries, messages, 0, 4)
    late = Message(new_message_id(), session, 0, "assistant", "late", {}, 0.0, messages[0].id)
    await stores.db.write(lambda db: append_message(db, late))
    assert await summaries.last(session) is None


async def test_new_messages_leave_it_as_it_is(stores: Stores, summaries: SummaryStore) -> None:
    session, messages = await talk(stores, 3)
    made = await summarise(summaries, messages, 0, 6)
    await stores.say(session, "more")
    assert await summaries.last(session) == made


async def test_what_has_changed_while_it_was_made_is_not_kept(stores: Stores, summaries: SummaryStore) -> None:
    session, messages = await talk(stores, 3)
    made = Summary(session, messages[3].position, 4, "stale", outside=False)
    await stores.messages.edit(session, messages[1].id, "a1")  # as long as before
    assert not await summaries.save(made, None, messages[:4])
    assert await summaries.last(session) is None


async def test_what_builds_on_a_summary_that_has_gone_is_not_kept(stores: Stores, summaries: SummaryStore) -> None:
    session, messages = await talk(stores, 4)
    first = await summarise(summaries, messages, 0, 2)
    await stores.messages.edit(session, messages[0].id, "other words")
    made = Summary(session, messages[5].position, 6, "stale", outside=False)
    assert not await summaries.save(made, first, messages[2:6])


@pytest.mark.parametrize(("index", "left"), [(1, 2), (4, 2), (5, 6), (7, 6), (0, None)])
async def test_a_copy_takes_the_summaries_of_what_it_has(
    stores: Stores, summaries: SummaryStore, index: int, left: int | None
) -> None:
    session, messages = await talk(stores, 5)
    await stores.messages.delete(session, [messages[0].id, messages[1].id])  # so that the places differ
    messages = messages[2:]
    await summarise(summaries, messages, 0, 2)
    await summarise(summaries, messages, 2, 6)
    fork = await stores.messages.fork(await stores.sessions.get(session), messages[index].id)
    found = await summaries.last(fork.id)
    assert (found and found.messages) == left
    if found:
        rest = await stores.messages.since(fork.id, found.upto)
        assert [message.content for message in rest] == [message.content for message in messages[left : index + 1]]
    kept = await summaries.last(session)
    assert kept
    assert kept.messages == 6


async def test_a_deleted_session_takes_them_along(stores: Stores, summaries: SummaryStore) -> None:
    session, messages = await talk(stores, 2)
    await summarise(summaries, messages, 0, 2)
    await stores.sessions.delete(session)
    assert await stores.db.read("SELECT * FROM summaries") == []
