"""Documents: versions without gaps, changes that never lose one another, walls between sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest

from odysseus.errors import BadRequest, Conflict, NotFound
from odysseus.store.documents import MOST_DOCUMENTS, Document, DocumentEntry, DocumentStore, Suggestion
from store.databases import Stores


@pytest.fixture
def documents(stores: Stores) -> DocumentStore:
    return DocumentStore(stores.db, stores.clock)


def adding(text: str) -> Callable[[Document], str]:
    return lambda document: document.content + text


async def test_a_document_begins_with_version_one_and_keeps_every_version(
    stores: Stores, documents: DocumentStore
) -> None:
    session = await stores.session()
    first = await documents.create(session.id, "Letter", "Dear", "markdown")
    stores.clock.now += 5
    second = await documents.revise(session.id, first.id, "user", lambda document: document.content + " you")
    began, now = stores.clock.now - 5, stores.clock.now
    assert first == Document(first.id, session.id, "Letter", "markdown", 1, "Dear", began, began)
    assert second == Document(first.id, session.id, "Letter", "markdown", 2, "Dear you", began, now)
    assert await documents.get(session.id, first.id) == second
    assert (await documents.get(session.id, first.id, 1)).content == "Dear"
    authors = await stores.db.read("SELECT version, author FROM document_versions ORDER BY version")
    assert [tuple(row) for row in authors] == [(1, "agent"), (2, "user")]


async def test_changes_at_once_all_count(stores: Stores, documents: DocumentStore) -> None:
    session = await stores.session()
    made = await documents.create(session.id, "t", "", "text")
    await asyncio.gather(*(documents.revise(session.id, made.id, "agent", adding(letter)) for letter in "abcdefgh"))
    newest = await documents.get(session.id, made.id)
    assert (newest.version, sorted(newest.content)) == (9, list("abcdefgh"))


async def test_a_change_that_fails_stores_nothing(stores: Stores, documents: DocumentStore) -> None:
    session = await stores.session()
    made = await documents.create(session.id, "t", "text", "text")

    def refuse(_: Document) -> str:
        raise BadRequest("It does not fit.")

    def refuse_all(_: Document) -> Sequence[Mapping[str, str]]:
        raise BadRequest("It does not fit.")

    stores.clock.now += 5
    with pytest.raises(BadRequest):
        await documents.revise(session.id, made.id, "agent", refuse)
    with pytest.raises(BadRequest):
        await documents.suggest(session.id, made.id, refuse_all)
    assert await documents.get(session.id, made.id) == made
    assert await documents.suggestions(session.id, made.id) == []


async def test_the_document_of_another_session_is_not_there(stores: Stores, documents: DocumentStore) -> None:
    mine, other = await stores.session(), await stores.session()
    made = await documents.create(mine.id, "t", "text", "text")
    await documents.suggest(mine.id, made.id, lambda _: [{"find": "text", "replace": "x", "reason": ""}])
    with pytest.raises(NotFound):
        await documents.get(other.id, made.id)
    with pytest.raises(NotFound):
        await documents.get(other.id, made.id, 1)
    with pytest.raises(NotFound):
        await documents.revise(other.id, made.id, "agent", lambda _: "taken")
    with pytest.raises(NotFound):
        await documents.suggest(other.id, made.id, lambda _: [])
    assert await documents.list(other.id) == []
    assert await documents.suggestions(other.id, made.id) == []
    assert (await documents.get(mine.id, made.id)).content == "text"


async def test_a_version_that_is_not_there_is_named_with_the_newest(stores: Stores, documents: DocumentStore) -> None:
    session = await stores.session()
    made = await documents.create(session.id, "t", "text", "text")
    with pytest.raises(NotFound, match="no version 7; the newest is 1"):
        await documents.get(session.id, made.id, 7)


async def test_the_list_shows_the_last_changed_first_without_texts(stores: Stores, documents: DocumentStore) -> None:
    session = await stores.session()
    first = await documents.create(session.id, "first", "字字", "text")
    await documents.create(session.id, "second", "", "python")
    stores.clock.now += 1
    await documents.revise(session.id, first.id, "agent", lambda _: "字字字")
    listed = await documents.list(session.id)
    assert listed[0] == DocumentEntry(first.id, session.id, "first", "text", 2, 3, stores.clock.now)
    assert [entry.title for entry in listed] == ["first", "second"]


async def test_suggestions_keep_the_version_they_were_made_on(stores: Stores, documents: DocumentStore) -> None:
    session = await stores.session()
    made = await documents.create(session.id, "t", "one two", "text")
    await documents.revise(session.id, made.id, "user", lambda _: "one two three")
    given = [{"find": "one", "replace": "1", "reason": "shorter"}, {"find": "two", "replace": "2"}]
    document, kept = await documents.suggest(session.id, made.id, lambda _: given)
    assert document.version == 2
    assert kept == [
        Suggestion(kept[0].id, made.id, 2, "one", "1", "shorter"),
        Suggestion(kept[1].id, made.id, 2, "two", "2", ""),
    ]
    assert await documents.suggestions(session.id, made.id) == kept
    assert (await documents.get(session.id, made.id)).content == "one two three"


async def test_a_session_that_is_gone_gets_no_document(stores: Stores, documents: DocumentStore) -> None:
    session = await stores.session()
    await stores.sessions.delete(session.id)
    with pytest.raises(NotFound):
        await documents.create(session.id, "t", "text", "text")
    assert await stores.db.read("SELECT * FROM documents") == []


async def test_a_session_has_room_for_so_many_documents(stores: Stores, documents: DocumentStore) -> None:
    session, other = await stores.session(), await stores.session()
    for number in range(MOST_DOCUMENTS):
        await documents.create(session.id, str(number), "", "text")
    with pytest.raises(Conflict, match="200 documents"):
        await documents.create(session.id, "one more", "", "text")
    await documents.create(other.id, "first", "", "text")
