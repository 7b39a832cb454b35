"""Branches over HTTP: a question asked again or edited, the way back, and what a model is given on each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from serving import Server, agent_config, serving
from upstream import Hang, Upstream, answer, calls, text_chunk


async def turn(server: Server, upstream: Upstream, session: str, text: str, reply: str, **fields: Any) -> Any:
    """Send and read to the end; gives the terminal record."""
    upstream.reply(answer(reply))
    return (await (await server.send(session, text, **fields)).rest()).record


async def said(server: Server, session: str, query: str = "") -> str:
    page = await server.get(f"/api/history/{session}{query}")
    assert page["total"] == len(page["history"])
    return " ".join(message["content"] for message in page["history"])


def asked(upstream: Upstream, index: int = -1) -> str:
    """The conversation of a request."""
    messages = upstream.requests[index].json["messages"]
    return " ".join(message["content"] for message in messages if message["role"] != "system")


@pytest.fixture
async def talked(server: Server, upstream: Upstream) -> tuple[str, list[str]]:
    """A session that says `q0 a0 q1 a1`, and the ids of that."""
    session = await server.session()
    for number in range(2):
        await turn(server, upstream, session, f"q{number}", f"a{number}")
    return session, [message["id"] for message in await server.history(session)]


@pytest.mark.parametrize("of", [2, 3])
async def test_a_question_is_answered_once_more_beside_the_first_answer(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]], of: int
) -> None:
    session, ids = talked
    record = await turn(server, upstream, session, "", "b1", regenerate=ids[of])
    assert record["user_message_id"] == ids[2]
    assert asked(upstream) == "q0 a0 q1"
    assert await said(server, session) == "q0 a0 q1 b1"
    history = await server.history(session)
    assert [message["parent_id"] for message in history] == [None, *ids[:3]]
    assert [message["siblings"] for message in history] == [
        [ids[0]],
        [ids[1]],
        [ids[2]],
        [ids[3], record["message_id"]],
    ]
    assert (await server.get(f"/api/session/{session}/context"))["messages"][-1]["text"] == "b1"


async def test_an_edited_question_keeps_the_old_one_with_all_that_followed(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]]
) -> None:
    session, ids = talked
    await turn(server, upstream, session, "Q1", "A1", parent_id=ids[1])
    assert asked(upstream) == "q0 a0 Q1"
    await turn(server, upstream, session, "Q0", "A0", parent_id="root")
    assert asked(upstream) == "Q0"
    assert await said(server, session) == "Q0 A0"
    assert await said(server, session, f"?leaf={ids[0]}") == "q0 a0 Q1 A1"
    assert await said(server, session, f"?leaf={ids[2]}") == "q0 a0 q1 a1"
    assert await said(server, session) == "Q0 A0"
    await server.post(f"/api/session/{session}/branch", {"message_id": ids[3]})
    assert await said(server, session) == "q0 a0 q1 a1"
    await turn(server, upstream, session, "q2", "a2")
    assert asked(upstream) == "q0 a0 q1 a1 q2"
    (found,) = (each for each in await server.get("/api/sessions") if each["id"] == session)
    assert found["message_count"] == 6


async def test_a_branch_is_paged_like_the_shown_one(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]]
) -> None:
    session, ids = talked
    await turn(server, upstream, session, "Q0", "A0", parent_id="root")
    page = await server.get(f"/api/history/{session}?leaf={ids[1]}&limit=3")
    assert ([message["id"] for message in page["history"]], page["has_more_before"]) == (ids[1:], True)
    page = await server.get(f"/api/history/{session}?leaf={ids[1]}&limit=3&before={ids[1]}")
    assert ([message["id"] for message in page["history"]], page["has_more_before"]) == (ids[:1], False)


async def test_the_files_of_a_question_are_given_again(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    form = aiohttp.FormData()
    form.add_field("files", b"the code is 4711", filename="note.txt")
    sent = await server.call("POST", "/api/upload", data=form)
    upload = sent["files"][0]["id"]
    record = await turn(server, upstream, session, "what is it?", "one", attachments=[upload])
    await turn(server, upstream, session, "", "two", regenerate=record["message_id"])
    assert "4711" in asked(upstream, -1)
    await turn(server, upstream, session, "and now?", "three")
    assert asked(upstream).count("4711") == 1
    assert asked(upstream).endswith("two and now?")


async def test_a_question_whose_file_is_gone_is_answered_again_with_a_note_in_its_place(
    server: Server, upstream: Upstream
) -> None:
    session = await server.session()
    form = aiohttp.FormData()
    form.add_field("files", b"the code is 4711", filename="note.txt")
    form.add_field("files", b"the day is Monday", filename="day.txt")
    uploads = [file["id"] for file in (await server.call("POST", "/api/upload", data=form))["files"]]
    record = await turn(server, upstream, session, "what is it?", "one", attachments=uploads)
    await server.services.db.write(lambda db: db.execute("DELETE FROM uploads WHERE id = ?", uploads[:1]))
    await turn(server, upstream, session, "", "two", regenerate=record["message_id"])
    assert "4711" not in asked(upstream, -1)
    assert "Name: note.txt\nYou have not got what is in this file. This file is no longer there." in asked(upstream, -1)
    assert "the day is Monday" in asked(upstream, -1)
    answer = (await server.history(session))[-1]
    assert [file["extraction"] for file in answer["metadata"]["attachments"]] == ["failed", "text"]
    await server.post("/api/chat_stream", {"session": session, "message": "new", "attachments": uploads}, 404)


WRONG: dict[str, tuple[dict[str, Any], int]] = {
    "an unknown message to follow": ({"message": "x", "parent_id": "nope"}, 404),
    "an unknown message to answer again": ({"regenerate": "nope"}, 404),
    "a message beside an answer": ({"message": "x", "regenerate": "ID"}, 400),
    "files beside an answer": ({"attachments": ["f"], "regenerate": "ID"}, 400),
    "both": ({"parent_id": "ID", "regenerate": "ID"}, 400),
    "an incognito answer": ({"regenerate": "ID", "incognito": True}, 400),
    "an incognito branch": ({"message": "x", "parent_id": "root", "incognito": True}, 400),
    "a decision on a branch": (
        {"parent_id": "ID", "tool_approval_id": "x", "tool_approval_decision": "deny"},
        400,
    ),
    "no message on a branch": ({"parent_id": "ID"}, 400),
}


@pytest.mark.parametrize("name", WRONG)
async def test_what_makes_no_sense_is_refused_and_leaves_a_run_alone(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]], name: str
) -> None:
    session, ids = talked
    upstream.reply(text_chunk("going"), Hang())
    stream = await (await server.send(session, "q2")).until_text("going")
    fields, status = WRONG[name]
    body = {key: ids[0] if value == "ID" else value for key, value in fields.items()}
    told = await server.post("/api/chat_stream", {"session": session, **body}, status)
    assert told["status"] == status
    assert (await server.get(f"/api/chat/stream_status/{session}"))["status"] == "streaming"
    assert await server.stop(session, stream.run_id)
    assert await said(server, session) == "q0 a0 q1 a1 q2 going"


async def test_a_message_of_another_session_is_no_place(server: Server, talked: tuple[str, list[str]]) -> None:
    other = await server.session()
    for fields in ({"regenerate": talked[1][0]}, {"message": "x", "parent_id": talked[1][1]}):
        await server.post("/api/chat_stream", {"session": other, **fields}, 404)
    await server.post(f"/api/session/{other}/branch", {"message_id": talked[1][0]}, 404)
    await server.get(f"/api/history/{other}?leaf={talked[1][0]}", 404)


async def test_two_quick_regenerates_leave_two_more_answers(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]]
) -> None:
    session, ids = talked
    upstream.reply(text_chunk("half"), Hang())
    first = await (await server.send(session, "", regenerate=ids[3])).until_text("half")
    assert await said(server, session) == "q0 a0 q1"
    record = await turn(server, upstream, session, "", "whole", regenerate=ids[3])
    await first.rest()
    assert asked(upstream) == "q0 a0 q1"
    last = (await server.history(session))[-1]
    assert (last["content"], last["siblings"]) == ("whole", [ids[3], first.record["message_id"], record["message_id"]])


async def test_a_switch_waits_for_no_run_but_is_refused(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]]
) -> None:
    session, ids = talked
    await turn(server, upstream, session, "", "b1", regenerate=ids[3])
    upstream.reply(text_chunk("going"), Hang())
    stream = await (await server.send(session, "q2")).until_text("going")
    await server.post(f"/api/session/{session}/branch", {"message_id": ids[3]}, 409)
    await server.post(f"/api/session/{session}/branch", {"message_id": ids[0]})  # it is shown already
    assert (await server.get(f"/api/chat/stream_status/{session}"))["status"] == "streaming"
    await server.stop(session, stream.run_id)
    assert await said(server, session) == "q0 a0 q1 b1 q2 going"


async def test_a_failed_second_answer_leaves_the_first_as_it_was(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]]
) -> None:
    session, ids = talked
    upstream.reply_json({"error": {"message": "no"}}, status=400)
    stream = await (await server.send(session, "", regenerate=ids[1])).rest()
    assert stream.frames[-1].kind == "error"
    assert await said(server, session) == "q0 a0 q1 a1"


async def test_a_search_finds_what_another_branch_holds(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]]
) -> None:
    session, ids = talked
    await turn(server, upstream, session, "Q0", "A0", parent_id="root")
    (hit,) = await server.get("/api/search?q=q1")
    assert hit["message_id"] == ids[2]
    await server.post(f"/api/session/{session}/branch", {"message_id": hit["message_id"]})
    assert await said(server, session) == "q0 a0 q1 a1"


async def test_an_export_to_read_has_the_shown_branch(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]]
) -> None:
    session, ids = talked
    await turn(server, upstream, session, "", "b1", regenerate=ids[3])
    async with server.http.get(f"{server.url}/api/session/{session}/export?fmt=md") as response:
        text = await response.text()
    assert "b1" in text
    assert "a1" not in text


@pytest.mark.parametrize("way", ["regenerate", "switch"])
async def test_a_card_of_the_branch_that_is_left_waits_no_longer(upstream: Upstream, tmp_path: Path, way: str) -> None:
    async with serving(agent_config(upstream), tmp_path / "data") as server:
        session = await server.session(mode="agent")
        first = await turn(server, upstream, session, "q", "a")
        upstream.reply(calls(("bash", {"command": "true"})))
        stream = await (await server.send(session, "", regenerate=first["message_id"])).rest()
        (card,) = [frame.data["data"] for frame in stream.frames if frame.kind == "ask_user"]
        if way == "switch":
            await server.post(f"/api/session/{session}/branch", {"message_id": first["message_id"]})
        else:
            await turn(server, upstream, session, "", "b", regenerate=first["message_id"])
        decision = {"tool_approval_id": card["approval_id"], "tool_approval_decision": "approve"}
        await server.post("/api/chat_stream", {"session": session, **decision}, 409)
        history = (await server.get(f"/api/history/{session}?leaf={stream.record['message_id']}"))["history"]
        assert history[-1]["metadata"]["ask_user"]["state"] == "retired"


async def test_the_answer_to_a_decision_follows_the_card_on_its_own_branch(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path / "data") as server:
        session = await server.session(mode="agent")
        first = await turn(server, upstream, session, "q", "a")
        upstream.reply(calls(("bash", {"command": "true"})))
        stream = await (await server.send(session, "", regenerate=first["message_id"])).rest()
        (card,) = [frame.data["data"] for frame in stream.frames if frame.kind == "ask_user"]
        decision = {"tool_approval_id": card["approval_id"], "tool_approval_decision": "deny"}
        record = await turn(server, upstream, session, "", "well", **decision)
        history = await server.history(session)
        assert [message["id"] for message in history[1:]] == [stream.record["message_id"], record["message_id"]]
        assert history[2]["parent_id"] == history[1]["id"]
        assert history[2]["siblings"] == [history[2]["id"]]
        assert history[1]["siblings"] == [first["message_id"], history[1]["id"]]


async def test_sends_and_regenerates_at_once_leave_one_whole_path(
    server: Server, upstream: Upstream, talked: tuple[str, list[str]]
) -> None:
    session, ids = talked
    fields: list[dict[str, Any]] = [{"regenerate": ids[1]}, {"message": "x", "parent_id": ids[1]}, {"message": "y"}]

    async def send(more: dict[str, Any]) -> None:
        await (await server.send(session, **{"message": "", **more})).rest()

    await asyncio.gather(*(send(more) for more in fields * 2))
    history = await server.history(session)
    assert [message["parent_id"] for message in history] == [None, *(message["id"] for message in history[:-1])]
    rows = await server.services.db.read("SELECT count(*) FROM messages")
    assert rows[0][0] == 4 + 2 * 1 + 4 * 2
