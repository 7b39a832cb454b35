"""Documents over the real socket: versions, edits that meet, suggestions, files, and the open one in a chat."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playing import agent
from serving import Server
from upstream import Upstream, calls

PATH = "/api/documents"
TEXT = "one\ntwo\nthree\n"


async def made(server: Server, content: str = TEXT, **fields: Any) -> Any:
    return await server.post(PATH, {"title": "Notes", "content": content, **fields})


async def save(server: Server, document: Any, content: str, status: int = 200, **more: Any) -> Any:
    body = {"content": content, "version": document["version"], **more}
    return await server.call("PATCH", f"{PATH}/{document['id']}", status, json=body)


async def test_a_document_is_made_listed_changed_and_deleted(server: Server) -> None:
    session = await server.session()
    mine = await made(server, session=session, language="text")
    assert (mine["version"], mine["session_id"], mine["language"]) == (1, session, "text")
    free = await made(server, "", title="  A \n b ", language="")
    assert (free["title"], free["language"], free["session_id"]) == ("A b", "markdown", None)
    assert [one["id"] for one in await server.get(PATH)] == [free["id"], mine["id"]]
    assert [one["id"] for one in await server.get(f"{PATH}?session={session}")] == [mine["id"]]
    assert [one["id"] for one in await server.get(f"{PATH}?q=TWO")] == [mine["id"]]
    path = f"{PATH}/{mine['id']}"
    named = await server.call("PATCH", path, json={"title": "Other", "language": "python"})
    assert (named["title"], named["language"], named["version"]) == ("Other", "python", 1)
    assert await server.call("DELETE", path) == {"status": "deleted"}
    await server.get(path, 404)
    await server.get(f"{path}/versions", 404)
    await server.call("DELETE", path, 404)


async def test_a_document_outlives_its_chat(server: Server) -> None:
    session = await server.session()
    document = await made(server, session=session)
    await server.call("DELETE", f"/api/session/{session}")
    assert (await server.get(f"{PATH}/{document['id']}"))["session_id"] is None


async def test_every_change_is_a_version_and_an_unchanged_text_is_none(server: Server) -> None:
    document = await made(server)
    second = await save(server, document, TEXT + "four\n")
    assert (second["version"], second["merged"]) == (2, False)
    assert (await save(server, second, TEXT + "four\n"))["version"] == 2
    listed = await server.get(f"{PATH}/{document['id']}/versions")
    assert [(one["version"], one["author"], one["characters"]) for one in listed] == [(2, "user", 19), (1, "user", 14)]
    assert (await server.get(f"{PATH}/{document['id']}/versions/1"))["content"] == TEXT
    await server.get(f"{PATH}/{document['id']}/versions/7", 404)
    await server.get(f"{PATH}/{document['id']}/versions/x", 404)
    restored = await server.post(f"{PATH}/{document['id']}/restore", {"version": 1})
    assert (restored["version"], restored["content"]) == (3, TEXT)
    await server.post(f"{PATH}/{document['id']}/restore", {"version": 9}, 404)


async def test_edits_of_one_version_are_merged_where_they_do_not_touch(server: Server) -> None:
    document = await made(server)
    await save(server, document, "zero\n" + TEXT)
    both = await save(server, document, TEXT + "four\n")
    assert (both["content"], both["version"], both["merged"]) == ("zero\n" + TEXT + "four\n", 3, True)
    again = await save(server, document, TEXT + "four\n")
    assert (again["version"], again["content"]) == (3, both["content"])


async def test_edits_that_touch_are_refused_with_all_texts(server: Server) -> None:
    document = await made(server)
    await save(server, document, TEXT.replace("two", "theirs"))
    clash = await save(server, document, TEXT.replace("two", "mine"), 409, title="New")
    assert (clash["yours"], clash["base"], clash["version"]) == ("one\nmine\nthree\n", TEXT, 2)
    assert (clash["current"], clash["both"]) == ("one\ntheirs\nthree\n", "one\ntheirs\nmine\nthree\n")
    now = await server.get(f"{PATH}/{document['id']}")
    assert (now["version"], now["title"], now["content"]) == (2, "Notes", clash["current"])
    kept = await save(server, now, clash["both"])
    assert (kept["version"], kept["merged"]) == (3, False)


async def test_an_edit_may_say_what_text_it_was_made_on(server: Server) -> None:
    document = await made(server)
    newest = await save(server, document, "zero\n" + TEXT)
    saved = await save(server, newest, TEXT + "four\n", base=TEXT)
    assert saved["content"] == "zero\n" + TEXT + "four\n"


async def test_many_writers_at_once_lose_nothing(server: Server) -> None:
    lines = [f"line {number}\n" for number in range(12)]
    document = await made(server, "".join(lines))
    texts = ["".join([*lines[:at], f"line {at}, by writer {at}\n", *lines[at + 1 :]]) for at in range(12)]
    await asyncio.gather(*(save(server, document, text) for text in texts))
    now = await server.get(f"{PATH}/{document['id']}")
    assert now["version"] == 13
    assert now["content"] == "".join(f"line {at}, by writer {at}\n" for at in range(12))


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"content": "x"}, 400, "version"),
        ({"content": "x", "version": 0}, 400, "version"),
        ({"content": "x", "version": 2**63}, 400, "version"),
        ({"content": "x", "version": "9" * 40}, 400, "version"),
        ({"content": "x", "version": 5}, 404, "no version 5"),
        ({"language": "no language"}, 400, "language"),
        ({"title": "t" * 201}, 400, "title"),
        ({"content": "x" * 400_001, "version": 1}, 413, "400,000"),
    ],
)
async def test_a_change_that_cannot_be_is_refused_in_words(
    server: Server, body: dict[str, Any], status: int, words: str
) -> None:
    document = await made(server)
    answer = await server.call("PATCH", f"{PATH}/{document['id']}", status, json=body)
    assert words in answer["error"]
    assert (await server.get(f"{PATH}/{document['id']}"))["version"] == 1


async def suggested(server: Server, upstream: Upstream, *pairs: tuple[str, str]) -> tuple[Any, list[Any]]:
    session = await server.session()
    document = await made(server, session=session)
    changes = [{"find": find, "replace": new, "reason": "why"} for find, new in pairs]
    upstream.reply(calls(("suggest_document", {"doc_id": document["id"], "suggestions": changes})))
    told = (await agent(server, session)).one("doc_suggestions")
    listed = await server.get(f"{PATH}/{document['id']}/suggestions")
    assert [one["id"] for one in listed] == [one["id"] for one in told["suggestions"]]
    return document, listed


async def test_suggestions_are_taken_or_left_one_by_one(server: Server, upstream: Upstream) -> None:
    document, (first, second) = await suggested(server, upstream, ("two", "2"), ("three", "3"))
    path = f"{PATH}/{document['id']}/suggestions"
    assert (first["find"], first["replace"], first["reason"], first["state"]) == ("two", "2", "why", "open")
    taken = await server.post(f"{path}/{first['id']}", {"decision": "accept"})
    assert (taken["version"], taken["content"]) == (2, "one\n2\nthree\n")
    assert (await server.post(f"{path}/{second['id']}", {"decision": "reject"}))["version"] == 2
    assert [one["state"] for one in await server.get(path)] == ["accepted", "rejected"]
    await server.post(f"{path}/{first['id']}", {"decision": "accept"}, 409)
    await server.post(f"{path}/none", {"decision": "accept"}, 404)
    await server.post(f"{path}/{first['id']}", {"decision": "maybe"}, 400)


async def test_nothing_makes_a_document_longer_than_it_may_be(server: Server, upstream: Upstream) -> None:
    document, (one,) = await suggested(server, upstream, ("two", "2" * 300_000))
    now = await save(server, document, f"{'1' * 200_000}\ntwo\n")
    path = f"{PATH}/{document['id']}"
    refused = await server.post(f"{path}/suggestions/{one['id']}", {"decision": "accept"}, 413)
    assert "400,000" in refused["error"]
    assert [each["state"] for each in await server.get(f"{path}/suggestions")] == ["open"]
    await save(server, now, now["content"] + "\n3\n" * 60_000)
    refused = await save(server, now, "0\n" * 100_000 + now["content"], 413)
    assert "400,000" in refused["error"]
    assert (await server.get(path))["version"] == 3


async def test_a_suggestion_that_no_longer_fits_stays_open(server: Server, upstream: Upstream) -> None:
    document, (one,) = await suggested(server, upstream, ("two", "2"))
    now = await save(server, document, "one\nthree\n")
    path = f"{PATH}/{document['id']}/suggestions"
    refused = await server.post(f"{path}/{one['id']}", {"decision": "accept"}, 409)
    assert "not in the document any more" in refused["error"]
    now = await save(server, now, "two and two\n")
    refused = await server.post(f"{path}/{one['id']}", {"decision": "accept"}, 409)
    assert "more than once" in refused["error"]
    assert [each["state"] for each in await server.get(path)] == ["open"]


@pytest.mark.parametrize(
    ("title", "language", "name"),
    [
        ("Letter", "markdown", "Letter.md"),
        ("a/b: c?", "python", "a%20b%20c.py"),
        ("Größe", "csv", "Gr%C3%B6%C3%9Fe.csv"),
        ("page.HTML", "html", "page.HTML"),
        ("..", "no-such", "Untitled.txt"),
    ],
)
async def test_a_download_is_a_file_of_the_right_name(server: Server, title: str, language: str, name: str) -> None:
    document = await made(server, "<b>té</b>", title=title, language=language)
    async with server.http.get(f"{server.url}{PATH}/{document['id']}/download") as response:
        assert await response.text("utf-8") == "<b>té</b>"
        assert response.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.content_type == "application/octet-stream"


async def test_a_preview_is_of_the_newest_version(server: Server) -> None:
    document = await made(server, "# A")
    await save(server, document, "# B <script>")
    seen = await server.get(f"{PATH}/{document['id']}/preview")
    assert (seen["version"], seen["kind"]) == (2, "markdown")
    assert "B &lt;script&gt;</h1>" in seen["html"]


async def test_the_open_document_is_given_with_the_question(server: Server, upstream: Upstream) -> None:
    document = await made(server, "Tea draws two minutes.", title="Tea", language="text")
    session = await server.session()
    stream = await (await server.send(session, "How long?", active_doc_id=document["id"])).rest()
    told = stream.one("doc_update")
    assert told == {
        "type": "doc_update",
        "doc_id": document["id"],
        "content": "Tea draws two minutes.",
        "version": 1,
        "title": "Tea",
        "language": "text",
    }
    assert stream.kinds.index("doc_update") < stream.kinds.index("model_info")
    asked = upstream.requests[-1].json["messages"][-1]["content"]
    assert f"Id: {document['id']}, language: text, version: 1" in asked
    assert "Tea draws two minutes." in asked
    seen = await server.get(f"/api/session/{session}/context")
    assert [one["title"] for one in seen["messages"][-2]["given"]] == ["The user's open document"]


async def test_a_long_open_document_is_given_in_part(server: Server, upstream: Upstream) -> None:
    document = await made(server, "begin " + "word " * 60_000 + "end")
    await (await server.send(await server.session(), "well?", active_doc_id=document["id"])).rest()
    asked = upstream.requests[-1].json["messages"][-1]["content"]
    assert "this is a part; the whole has 300,009 characters" in asked
    assert len(asked) < 100_000


async def test_an_unknown_document_is_refused_before_the_run(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    body = {"session": session, "message": "hi", "active_doc_id": "none"}
    assert "no such document" in (await server.post("/api/chat_stream", body, 404))["error"]
    assert upstream.requests == []
    assert await server.history(session) == []


async def test_the_agent_edits_the_open_document_of_another_chat(server: Server, upstream: Upstream) -> None:
    document = await made(server, session=await server.session())
    session = await server.session()
    edit = {"doc_id": document["id"], "edits": [{"find": "two", "replace": "2"}]}
    upstream.reply(calls(("edit_document", edit)))
    refused = await agent(server, session)
    assert "There is no document" in refused.one("tool_output")["output"]
    upstream.reply(calls(("edit_document", edit)))
    stream = await agent(server, session, active_doc_id=document["id"])
    updates = [frame.data for frame in stream.frames if frame.kind == "doc_update"]
    assert [(one["version"], one["content"]) for one in updates] == [(1, TEXT), (2, TEXT.replace("two", "2"))]
    merged = await save(server, document, TEXT + "four\n")
    assert (merged["version"], merged["content"]) == (3, "one\n2\nthree\nfour\n")
    row = (await server.history(session))[-1]["metadata"]["tool_events"][0]
    assert (row["doc_id"], row["document_version"]) == (document["id"], 2)
    assert [one["id"] for one in await server.get(f"{PATH}?session={session}")] == [document["id"]]


async def test_an_incognito_chat_is_given_the_document_and_leaves_no_trace(server: Server, upstream: Upstream) -> None:
    document = await made(server)
    session = await server.session()
    await (await server.send(session, "hi", active_doc_id=document["id"], incognito=True)).rest()
    assert "three" in upstream.requests[-1].json["messages"][-1]["content"]
    assert await server.get(f"{PATH}?session={session}") == []
