"""The search over everything: each kind of thing is found by its words, whatever is typed, and what is gone is not."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from openapi_schemas import check
from serving import Server

from odysseus.store.db import Connection
from odysseus.store.messages import Message, append_message, new_message_id

GROUPS = ("chats", "messages", "documents", "memories", "library")


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model has to be loaded: this search asks none."""
    monkeypatch.setattr("odysseus.retrieval.vectors.installed", lambda **_: False)


async def find(server: Server, query: str, group: str = "") -> dict[str, list[Any]]:
    """The hits of the groups that have any."""
    found = await server.get(f"/api/search/all?q={quote(query)}" + (f"&group={group}" if group else ""))
    check(found, {"$ref": "#/components/schemas/FoundEverything"})
    assert tuple(found) == GROUPS
    return {name: part["items"] for name, part in found.items() if part["items"]}


async def kinds(server: Server, query: str) -> list[str]:
    return list(await find(server, query))


async def said(server: Server, session: str, *texts: str) -> None:
    """Put messages into a session, without a model."""

    def work(db: Connection) -> None:
        for text in texts:
            append_message(db, Message(new_message_id(), session, 0, "user", text, {}, 1.0))

    await server.services.db.write(work)


async def document(server: Server, title: str, content: str) -> str:
    made = await server.call("POST", "/api/documents", json={"title": title, "content": content})
    return str(made["id"])


async def shelved(server: Server, folder: Path, **files: str) -> str:
    """Put files into the library; gives the entry's id."""
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    added = await server.post("/api/library", {"path": str(folder)}, 202)
    await server.services.library.quiet()
    return str(added["id"])


async def test_every_kind_is_found_by_a_word(server: Server, tmp_path: Path) -> None:
    session = await server.session(name="Voyage to Ithaca")
    await said(server, session, "How far is Ithaca?")
    letter = await document(server, "A letter", "Dear all,\n\nwe sail to Ithaca soon.")
    memory = await server.post("/api/memories", {"text": "Comes from Ithaca."})
    entry = await shelved(server, tmp_path / "notes", harbours="# West\n\nThe harbour of Ithaca is deep.\n")
    found = await find(server, "ithaca")
    assert found["chats"] == [{"id": session, "name": "Voyage to Ithaca"}]
    assert [(hit["session_id"], hit["snippet"]) for hit in found["messages"]] == [(session, "How far is Ithaca?")]
    assert [(hit["id"], hit["title"]) for hit in found["documents"]] == [(letter, "A letter")]
    assert found["documents"][0]["snippet"] == "Dear all, we sail to Ithaca soon."
    assert found["memories"] == [{"id": memory["id"], "snippet": "Comes from Ithaca.", "state": "kept"}]
    (file,) = found["library"]
    assert (file["source_id"], file["source"], file["path"], file["heading"]) == (entry, "notes", "harbours.md", "West")
    assert "harbour of Ithaca" in file["snippet"]


@pytest.mark.parametrize(
    ("typed", "there"),
    [
        ("creme", "Crème brûlée"),
        ("CRÈME brul", "Crème brûlée"),
        ("strasse", "Die Straße"),
        ("odyss", "Odysseus"),
        ("東京", "東京都の天気"),
        ("天気", "東京都の天気"),
        ("서울", "서울특별시"),
        ("москв", "Привет, МОСКВА"),
        ("e-44", "Fault E-4417"),
        ("getus", "call getUserName()"),
        ("don't pan", "Don't panic"),
        ("so ma", "so many things"),
    ],
)
async def test_words_are_found_as_they_are_typed(server: Server, tmp_path: Path, typed: str, there: str) -> None:
    await said(server, await server.session(name=there), there)
    await document(server, there, "")
    await server.post("/api/memories", {"text": there})
    await shelved(server, tmp_path / "notes", a=f"Before.\n\n{there} after.\n")
    assert await kinds(server, typed) == list(GROUPS)
    assert await kinds(server, f"{typed} xyzzy") == []


ODD = (
    *('"', '""', "'", "*", "a*", "-a", "(", "NEAR(a b)", "AND", "a OR b", "NOT", "title:a", "^a", "{a} : b", "[", "]"),
    *("[a-z]", "?", "%", "_", "\\", "🚲", "👩‍👩‍👧", "\u0301", "\ufffd", "東", "ا", "ㅎ", "ﷺ", "\x00", "\x1f"),
    *("a b " * 300, "a" * 7000),
)


async def test_no_sign_has_a_meaning_of_its_own(server: Server, tmp_path: Path) -> None:
    await said(server, await server.session(name="plain words"), "plain words")
    await document(server, "plain words", "plain words")
    await server.post("/api/memories", {"text": "plain words"})
    await shelved(server, tmp_path / "notes", words="plain words")
    assert {query: await kinds(server, query) for query in ODD} == {query: [] for query in ODD}


async def test_signs_are_found_as_they_stand(server: Server) -> None:
    signs = ("*", "[", "]", "?", "%", "_", "^", '"', "🚲", "[x]", "~bold~")
    for sign in signs:
        await said(server, await server.session(name=f"a {sign} b"), f"a {sign} b")
        await document(server, f"a {sign} b", "")
        await server.post("/api/memories", {"text": f"a {sign} b"})
    for sign in signs:
        found = await find(server, sign)
        texts = {
            name: {hit.get("snippet") or hit.get("title") or hit["name"] for hit in hits}
            for name, hits in found.items()
        }
        assert list(texts) == list(GROUPS[:4])
        assert all(sign in text for those in texts.values() for text in those), texts
        assert len({text for those in texts.values() for text in those}) == sum(sign in one for one in signs)


@pytest.mark.parametrize("query", ["", "  ", "\u3000", "%0A"])
async def test_an_empty_search_finds_nothing_in_any_group(server: Server, query: str) -> None:
    await server.post("/api/memories", {"text": "Likes tea."})
    assert await find(server, query) == {}


async def test_an_unknown_group_is_refused_with_those_there_are(server: Server) -> None:
    problem = await server.get("/api/search/all?q=a&group=files", 400)
    assert problem["error"] == f"`group` must be one of {', '.join(GROUPS)}."


async def test_there_are_a_few_of_each_and_all_of_one_group(server: Server) -> None:
    for number in range(8):
        await server.post("/api/memories", {"text": f"tea {number}"})
        await document(server, f"tea {number}", "")
    few = await server.get("/api/search/all?q=tea")
    counts = {name: (len(part["items"]), part["more"]) for name, part in few.items()}
    assert counts == {**dict.fromkeys(GROUPS, (0, False)), "documents": (5, True), "memories": (5, True)}
    every = await server.get("/api/search/all?q=tea&group=memories")
    assert {name: (len(part["items"]), part["more"]) for name, part in every.items()} == {
        **dict.fromkeys(GROUPS, (0, False)),
        "memories": (8, False),
    }


async def test_a_document_is_found_by_its_newest_text_and_title_until_it_is_deleted(server: Server) -> None:
    made = await document(server, "Draft", "the first thought")
    await server.call("PATCH", f"/api/documents/{made}", json={"content": "the second thought", "version": 1})
    assert await kinds(server, "second") == ["documents"]
    assert await kinds(server, "first") == []
    await server.call("PATCH", f"/api/documents/{made}", json={"title": "Epilogue"})
    assert await kinds(server, "epilog second") == ["documents"]
    assert await kinds(server, "draft") == []
    await server.call("DELETE", f"/api/documents/{made}")
    assert await kinds(server, "epilog") == []
    assert await server.services.db.read("SELECT 1 FROM document_texts") == []


async def test_documents_whose_titles_have_the_words_come_first(server: Server) -> None:
    by_title = await document(server, "Sailing", "")
    by_text = await document(server, "Other", "sailing")
    assert [hit["id"] for hit in (await find(server, "sailing"))["documents"]] == [by_title, by_text]


async def test_what_was_taken_away_is_found_no_more(server: Server, tmp_path: Path) -> None:
    session = await server.session(name="Ithaca")
    await said(server, session, "Ithaca")
    entry = await shelved(server, tmp_path / "notes", ithaca="Ithaca")
    memory = await server.post("/api/memories", {"text": "Ithaca"})
    assert await kinds(server, "ithaca") == ["chats", "messages", "memories", "library"]
    await server.call("DELETE", f"/api/session/{session}")
    assert await kinds(server, "ithaca") == ["memories", "library"]
    await server.call("DELETE", f"/api/library/{entry}")
    await server.call("DELETE", f"/api/memories/{memory['id']}")
    assert await kinds(server, "ithaca") == []


async def test_an_archived_chat_is_found_by_its_messages_alone(server: Server) -> None:
    session = await server.session(name="Ithaca")
    await said(server, session, "Ithaca")
    await server.call("PATCH", f"/api/session/{session}", json={"archived": True})
    assert await kinds(server, "ithaca") == ["messages"]


async def test_the_chats_of_a_comparison_are_not_found(server: Server) -> None:
    sides = [{"endpoint_id": "up", "model": name} for name in ("fake-model", "another")]
    made = await server.post("/api/compare", {"panes": sides, "blind": False, "question": "Ithaca"})
    await said(server, made["panes"][0]["session"], "Ithaca")
    assert await kinds(server, "ithaca") == []


async def test_a_file_without_text_is_found_by_its_name(server: Server, tmp_path: Path) -> None:
    await shelved(server, tmp_path / "notes", **{"Fähre nach Ithaka": "", "other": "words"})
    (file,) = (await find(server, "fahre itha"))["library"]
    assert (file["path"], file["snippet"]) == ("Fähre nach Ithaka.md", "")


async def test_ten_thousand_messages_are_searched_quickly(server: Server) -> None:
    session = await server.session()
    words = ["alpha", "beta", "gamma", "delta", "東京都", "öl"]
    texts = [f"{words[n % 6]} {words[n // 6 % 6]} note {n} " + "the sea was calm " * 4 for n in range(10_000)]
    await server.services.db.write(
        lambda db: db.executemany(
            """INSERT INTO messages (id, session_id, position, role, content, created_at)
               VALUES (?1, ?2, ?1, 'user', ?3, 1.0)""",
            [(number, session, text) for number, text in enumerate(texts)],
        )
    )
    took = []
    for query in [
        "n",
        "no",
        "not",
        "note 9",
        "alpha b",
        "the sea",
        "東",
        "東京",
        "ol",
        "zq",
        "note 4711",
        "nowhere",
    ] * 3:
        began = time.perf_counter()
        await find(server, query)
        took.append(time.perf_counter() - began)
        await asyncio.sleep(0)
    assert sorted(took)[int(len(took) * 0.95)] < 0.5, sorted(took)[-5:]
