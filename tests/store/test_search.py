"""Search: every word, of any length and script, found where it stands; no query is an error."""

from __future__ import annotations

import random

import pytest

from odysseus.store.search import search_messages, words_of
from odysseus.store.snippets import SNIPPET, snippet_of
from store.databases import Stores

TEXTS = [
    "The quick brown fox",
    "100% of a_b and c\\d",
    'He said "NEAR the AND gate" (twice)',
    "東京都の天気は晴れ",
    "Öl und ÄRGER in Zürich",
    "naïve café",
    "an ox",
    "emoji 🚲🚲🚲 here",
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("quick", [0]),
        ("QUICK fox", [0]),
        ("fox quick", [0]),
        ("ox", [0, 6]),
        ("o", [0, 1, 4, 6, 7]),
        ("quick ox", [0]),
        ("quick zz", []),
        ("東", [3]),
        ("東京", [3]),
        ("天気は", [3]),
        ("京東", []),
        ("öl", [4]),
        ("ärger", [4]),
        ("ZÜRICH", [4]),
        ("café", [5]),
        ("CAFE naïve", [5]),
        ("cafe\u0301", [5]),
        ("zuri", [4]),
        ("zu", [4]),
        ("🚲🚲🚲", [7]),
        ("🚲", [7]),
        ("%", [1]),
        ("_", [1]),
        ("a_b", [1]),
        ("axb", []),
        ("\\", [1]),
        ("c\\d", [1]),
        ('"', [2]),
        ('"NEAR', [2]),
        ("NEAR the AND", [2]),
        ("(twice)", [2]),
    ],
)
async def test_words_are_found_where_they_stand(stores: Stores, query: str, found: list[int]) -> None:
    session = await stores.session()
    ids = await stores.say(session.id, *TEXTS)
    hits = await search_messages(stores.db, query)
    assert sorted(ids.index(hit.message_id) for hit in hits) == found
    assert [session.id for session in await stores.sessions.list(query)] == ([session.id] if found else [])


@pytest.mark.parametrize(
    "query",
    [
        '"a* OR NEAR(',
        "NEAR(a b, 2)",
        "AND OR NOT",
        "*",
        "^abc",
        "content:abc",
        "-abc",
        "'; DROP TABLE messages; --",
        "{abc} : def",
        "\ufffd\ufffd\ufffd",
        "\u0301\u0301\u0301",
        "a " * 4000,
        "abc " * 4000,
        " ".join(f"w{number}" for number in range(2000)),
        "x" * 8000,
    ],
)
async def test_no_query_is_an_error(stores: Stores, query: str) -> None:
    session = await stores.session()
    await stores.say(session.id, *TEXTS)
    assert await search_messages(stores.db, query) is not None
    assert await stores.sessions.list(query) is not None
    assert await stores.said(session.id) == TEXTS


async def test_an_empty_query_finds_nothing(stores: Stores) -> None:
    await stores.say((await stores.session()).id, "x")
    assert await search_messages(stores.db, "  ") == []


async def test_the_newest_come_first_and_there_is_a_limit(stores: Stores) -> None:
    session = await stores.session()
    ids = await stores.say(session.id, *(f"word {number}" for number in range(60)))
    assert [hit.message_id for hit in await search_messages(stores.db, "word")] == ids[:9:-1]


async def test_one_session_is_searched_in_its_order(stores: Stores) -> None:
    other, session = await stores.session(), await stores.session()
    await stores.say(other.id, "word elsewhere")
    ids = await stores.say(session.id, "word one", "nothing", "word two")
    assert [hit.message_id for hit in await search_messages(stores.db, "word", session.id)] == [ids[0], ids[2]]


async def test_the_index_holds_what_the_messages_hold_after_any_changes(stores: Stores) -> None:
    chance = random.Random(7)
    session = await stores.session()
    ids: list[str] = []
    for number in range(200):
        deed = chance.choice(["say", "say", "edit", "delete"]) if ids else "say"
        text = " ".join(chance.choices(["alpha", "beta", "gamma", "東京都", "öl"], k=3)) + f" {number}"
        if deed == "say":
            ids += await stores.say(session.id, text)
        elif deed == "edit":
            await stores.messages.edit(session.id, chance.choice(ids), text)
        else:
            await stores.messages.delete(session.id, [ids.pop(chance.randrange(len(ids)))])
    said = await stores.messages.all(session.id)
    for word in ("alpha", "beta", "gamma", "東京都", "öl"):
        hits = {hit.message_id for hit in await search_messages(stores.db, word, limit=1000)}
        assert hits == {message.id for message in said if word in message.content}


@pytest.mark.parametrize("content", ["word", "x" * 500 + " word " + "y" * 500, "word" + "z" * 500, "a\n\nword\tb"])
def test_a_snippet_shows_the_word_on_one_line(content: str) -> None:
    snippet = snippet_of(content, words_of("WORD nothere"))
    assert "word" in snippet
    assert len(snippet) <= SNIPPET + 2
    assert not set(snippet) & set("\n\t")
    assert snippet.startswith("…") == content.startswith("x")
