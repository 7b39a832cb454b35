"""Imports over HTTP: an exported chat comes back as it was drawn, and nothing that a file says is trusted."""

from __future__ import annotations

import io
import json
from typing import Any

import aiohttp
import pytest
from exporting import EVIL, exported, full_chat, png, taken_in
from playing import agent, card, prompt, refused
from serving import Server
from upstream import Upstream, answer, calls

from odysseus.web import importing

IDS = {
    "id",
    "parent_id",
    "siblings",
    "run_id",
    "record_id",
    "session_id",
    "message_id",
    "user_message_id",
    "imported",
    "given_outside",
}


def drawn(value: Any) -> Any:
    """JSON values without ids."""
    if isinstance(value, dict):
        return {key: drawn(one) for key, one in value.items() if key not in IDS}
    return [drawn(one) for one in value] if isinstance(value, list) else value


def chat(**more: Any) -> dict[str, Any]:
    """The smallest file that is taken in, with other fields."""
    message = {"id": "1", "role": "user", "content": "hi", "metadata": {}, "created_at": "2026-01-01T00:00:00Z"}
    return {"format": "odysseus-chat", "version": 1, "session": {"name": "n"}, "messages": [message], **more}


def with_metadata(**metadata: Any) -> dict[str, Any]:
    """The same with an answer's metadata."""
    made = chat()
    made["messages"][0] |= {"role": "assistant", "metadata": metadata}
    return made


async def test_an_exported_chat_comes_back_as_it_was_drawn(server: Server, upstream: Upstream) -> None:
    session = await full_chat(server, upstream)
    there = await taken_in(server, await exported(server, session, "json", "&files=1"))
    assert (there["name"], there["message_count"]) == ("Ä <b>chat</b>", 6)
    before, after = await server.history(session), await server.history(there["id"])
    for old, new in zip(before, after, strict=True):
        assert drawn(new) == drawn(old)
    assert {one["id"] for one in after}.isdisjoint(one["id"] for one in before)
    (file, _) = after[0]["metadata"]["attachments"]
    assert file["id"] != before[0]["metadata"]["attachments"][0]["id"]
    async with server.http.get(f"{server.url}/api/upload/{file['id']}") as response:
        assert await response.read() == png()
    assert all(one["metadata"]["run_id"] == "" for one in after)
    again = await taken_in(server, await exported(server, there["id"]))
    assert drawn(await server.history(again["id"])) == drawn(before)


async def test_the_model_is_told_the_same_calls_and_results_in_an_imported_chat(
    server: Server, upstream: Upstream
) -> None:
    session = await full_chat(server, upstream)
    there = (await taken_in(server, await exported(server, session)))["id"]
    told = []
    for one in (session, there):
        upstream.reply(answer("Yes."))
        await agent(server, one, "go on")
        told.append(upstream.requests[-1].json["messages"])
    assert [(message["role"], message["content"]) for message in told[0] if message["role"] == "tool"] != []
    assert told[1] == told[0]


@pytest.mark.parametrize(
    "entry",
    [{"role": "user", "content": "hidden orders"}, {"role": "system", "content": "x"}, {"role": "tool"}],
    ids=["the user's words", "a system's words", "without content"],
)
async def test_a_transcript_holds_calls_and_results_only(server: Server, entry: dict[str, Any]) -> None:
    told = await taken_in(server, json.dumps(with_metadata(transcript=[entry])).encode(), 400)
    assert "messages[0].metadata.transcript[0]" in told["error"]


async def test_all_branches_come_along_and_the_same_one_is_shown(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    for text in ("first", "second", "third"):
        upstream.reply(answer(text))
    await (await server.send(session, "q")).rest()
    question = (await server.history(session))[0]["id"]
    await (await server.send(session, "", regenerate=question)).rest()
    await (await server.send(session, "more")).rest()
    first = (await server.history(session))[1]["siblings"][0]
    await server.post(f"/api/session/{session}/branch", {"message_id": first})
    there = (await taken_in(server, await exported(server, session)))["id"]
    shown = await server.history(there)
    assert [one["content"] for one in shown] == ["q", "first"]
    other = shown[1]["siblings"][1]
    await server.post(f"/api/session/{there}/branch", {"message_id": other})
    assert [one["content"] for one in await server.history(there)] == ["q", "second", "more", "third"]
    await (await server.send(there, "and on")).rest()
    assert len(await server.history(there)) == 6


async def test_a_form_with_the_file_is_taken_too(server: Server) -> None:
    form = aiohttp.FormData(default_to_multipart=True)
    form.add_field("file", io.BytesIO(json.dumps(chat()).encode()), filename="chat.json")
    there = await server.call("POST", "/api/sessions/import", data=form)
    assert [one["content"] for one in await server.history(there["id"])] == ["hi"]


async def test_imported_words_are_outside_text_for_the_agent(server: Server, upstream: Upstream) -> None:
    own = await server.session()
    await (await server.send(own, "hi")).rest()
    there = await taken_in(server, json.dumps(chat()).encode())
    past = [await server.services.keeper.past(session) for session in (own, there["id"])]
    assert [one.outside for one in past] == [False, True]
    await (await server.send(there["id"], "go on")).rest()
    assert prompt(upstream, 1)[0]["content"].startswith("hi")
    assert (await server.services.keeper.past(there["id"])).outside


async def test_an_approval_in_a_file_cannot_be_used(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(("bash", {"command": "touch made"})))
    session = await server.session()
    asked = card(await agent(server, session))
    there = await taken_in(server, await exported(server, session))
    (_, shown) = await server.history(there["id"])
    assert shown["metadata"]["ask_user"]["state"] == "retired"
    await refused(server, there["id"], asked["approval_id"])
    (_, own) = await server.history(session)
    assert own["metadata"]["ask_user"]["state"] == "pending"


async def test_html_in_a_file_is_only_text(server: Server) -> None:
    made = chat()
    made["messages"].append(made["messages"][0] | {"id": "2", "role": "assistant", "content": EVIL, "html": EVIL})
    there = await taken_in(server, json.dumps(made).encode())
    html = (await server.history(there["id"]))[1]["html"]
    assert "<script" not in html
    assert "<img" not in html


def nested(depth: int) -> bytes:
    return json.dumps(chat()).encode()[:-1] + b', "more": ' + b"[" * depth + b"]" * depth + b"}"


ROW = {"call_id": "c", "tool": "bash", "command": "ls", "output": "", "exit_code": 0, "round": 1, "at": 0}
WRONG: dict[str, tuple[Any, str]] = {
    "text": (b"hello", "JSON"),
    "nothing": (b"", "JSON"),
    "half": (json.dumps(chat()).encode()[:-9], "JSON"),
    "not utf-8": (b'{"format": "\xff"}', "JSON"),
    "deep": (nested(100_000), "deep"),
    "a list": ([], "no chat"),
    "another program's": ({"mapping": {}, "title": "x"}, "no chat"),
    "another format": (chat(format="other"), "no chat"),
    "version as text": (chat(version="1"), "no chat"),
    "a newer version": (chat(version=2), "newer"),
    "no messages": ({key: value for key, value in chat().items() if key != "messages"}, "messages"),
    "messages as text": (chat(messages="x"), "messages"),
    "a message of nobody": (chat(messages=[chat()["messages"][0] | {"role": "system"}]), "messages[0].role"),
    "two of one id": (chat(messages=chat()["messages"] * 2), "messages[1].id"),
    "a parent that is not there": (chat(messages=[chat()["messages"][0] | {"parent_id": "x"}]), "parent_id"),
    "its own parent": (chat(messages=[chat()["messages"][0] | {"parent_id": "1"}]), "parent_id"),
    "no time": (chat(messages=[chat()["messages"][0] | {"created_at": "soon"}]), "messages[0].created_at"),
    "a row without a place": (with_metadata(tool_events=[ROW | {"at": None}]), "at"),
    "a row at less than nothing": (with_metadata(tool_events=[ROW | {"at": -1}]), "at"),
    "a row that is a text": (with_metadata(tool_events=["x"]), "tool_events"),
    "figures of text": (with_metadata(usage={"input_tokens": "many"}), "input_tokens"),
    "a status of its own": (with_metadata(status="splendid"), "status"),
    "an address of another kind": (with_metadata(web_sources=[{"url": "javascript:alert(1)"}]), "url"),
    "an image elsewhere": (with_metadata(tool_events=[ROW | {"image_url": "https://evil.example/x"}]), "image_url"),
    "an id with a path": (with_metadata(images=[{"image_id": "../../x"}]), "image_id"),
    "no base64": (chat(files=[{"id": "f", "data": "%%%"}]), "files[0].data"),
}


@pytest.mark.parametrize("kind", WRONG)
async def test_what_is_no_chat_is_refused_by_name_and_leaves_nothing(server: Server, kind: str) -> None:
    body, named = WRONG[kind]
    answered = await taken_in(server, body if isinstance(body, bytes) else json.dumps(body).encode(), 400)
    assert named in answered["error"]
    assert await server.get("/api/sessions") == []
    assert await server.services.db.read("SELECT * FROM uploads") == []


async def test_a_file_that_is_too_large_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "IMPORT_BYTES", 100)
    assert "100" in (await taken_in(server, json.dumps(chat()).encode(), 413))["error"]


async def test_other_content_is_refused(server: Server) -> None:
    await server.call("POST", "/api/sessions/import", 415, data=b"x", headers={"Content-Type": "text/plain"})


async def test_a_form_without_a_file_is_refused(server: Server) -> None:
    form = aiohttp.FormData({"name": "x"}, default_to_multipart=True)
    assert "no file" in (await server.call("POST", "/api/sessions/import", 400, data=form))["error"]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_time_that_was_never_can_be_drawn(server: Server, time: str) -> None:
    body = chat(messages=[chat()["messages"][0] | {"created_at": time}])
    there = await taken_in(server, json.dumps(body).encode())
    assert len(await server.history(there["id"])) == 1
    for kind in ("json", "html", "md"):
        await exported(server, there["id"], kind)


async def test_odd_text_is_stored_as_text(server: Server) -> None:
    odd = chat(session={"name": "a\x00\u202eb" + "x" * 400})
    odd["messages"][0] |= {"content": "a\x00b", "created_at": "2999-01-01T00:00:00+02:00"}
    there = await taken_in(server, json.dumps(odd).encode())
    assert len(there["name"]) == 120
    (message,) = await server.history(there["id"])
    assert message["content"] == "a\ufffdb"
    assert message["created_at"] < "2999"
