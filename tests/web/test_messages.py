"""Messages over HTTP: pages of history, edits, deletions, cuts, search (section 8)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from serving import Server
from upstream import Hang, Upstream, answer, text_chunk


@pytest.fixture
async def talked(server: Server, upstream: Upstream) -> str:
    """A session of three turns: q0 a0 q1 a1 q2 a2."""
    session = await server.session()
    for number in range(3):
        upstream.reply(answer(f"**a{number}**"))
        await (await server.send(session, f"<b>q{number}</b>")).rest()
    return session


async def ids(server: Server, session: str) -> list[str]:
    return [message["id"] for message in await server.history(session)]


async def said(server: Server, session: str) -> str:
    """The contents in short, like `q0 a0`."""
    return " ".join(message["content"].strip("*<b>/") for message in await server.history(session))


async def test_a_page_of_history_says_how_much_more_there_is(server: Server, talked: str) -> None:
    page = await server.get(f"/api/history/{talked}?limit=4")
    assert (page["total"], page["has_more_before"], page["model"]) == (6, True, "fake-model")
    assert [message["role"] for message in page["history"]] == ["user", "assistant"] * 2
    rest = await server.get(f"/api/history/{talked}?limit=4&before={page['history'][0]['id']}")
    assert (len(rest["history"]), rest["has_more_before"]) == (2, False)
    question, reply = rest["history"]
    assert question["html"] == ""
    assert "<strong>a0</strong>" in reply["html"]
    assert set(reply) >= {"id", "role", "content", "html", "metadata", "created_at"}


BAD_PAGES = ["limit=0", "limit=201", "limit=-1", "limit=x", "limit=", "limit=1.5", "limit=%D9%A3", "limit=00000000999"]
BAD_PAGES += ["limit=" + "9" * 50, "limit=0000000019999999999999999999", "limit=1e2", "limit=%00"]


@pytest.mark.parametrize("query", BAD_PAGES)
async def test_a_limit_that_cannot_be_is_a_400(server: Server, query: str) -> None:
    assert "limit" in (await server.get(f"/api/history/{await server.session()}?{query}", 400))["error"]


@pytest.mark.parametrize("before", ["nope", "%00", "%ed%a0%80", "x" * 3000])
async def test_a_page_before_nothing_is_a_404(server: Server, talked: str, before: str) -> None:
    await server.get(f"/api/history/{talked}?before={before}", 404)


async def test_an_edit_shows_in_history_search_and_the_next_prompt(
    server: Server, upstream: Upstream, talked: str
) -> None:
    first = (await ids(server, talked))[1]
    body = {"msg_id": first, "content": "an *edited* answer"}
    assert await server.post(f"/api/session/{talked}/edit-message", body) == {"status": "ok"}
    message = (await server.history(talked))[1]
    assert (message["content"], "<em>edited</em>" in message["html"]) == ("an *edited* answer", True)
    assert [hit["message_id"] for hit in await server.get("/api/search?q=edited")] == [first]
    await (await server.send(talked, "next")).rest()
    assert upstream.requests[-1].json["messages"][2]["content"] == "an *edited* answer"


BAD_CALLS: dict[str, tuple[str, Any, int]] = {
    "an edit without a message": ("edit-message", {"content": "x"}, 400),
    "an edit without content": ("edit-message", {"msg_id": "x"}, 400),
    "an edit to nothing": ("edit-message", {"msg_id": "x", "content": ""}, 400),
    "an edit to a number": ("edit-message", {"msg_id": "x", "content": 5}, 400),
    "an edit too long": ("edit-message", {"msg_id": "x", "content": "x" * 1_000_001}, 400),
    "an edit of an unknown message": ("edit-message", {"msg_id": "x", "content": "y"}, 404),
    "a deletion of nothing": ("delete-messages", {"msg_ids": []}, 400),
    "a deletion without a list": ("delete-messages", {}, 400),
    "a deletion of a text": ("delete-messages", {"msg_ids": "abc"}, 400),
    "a deletion of an object": ("delete-messages", {"msg_ids": {"a": 1}}, 400),
    "a deletion of numbers": ("delete-messages", {"msg_ids": [1]}, 400),
    "a deletion of nulls": ("delete-messages", {"msg_ids": [None]}, 400),
    "a deletion of too many": ("delete-messages", {"msg_ids": ["x"] * 10_001}, 400),
    "a deletion of an unknown one": ("delete-messages", {"msg_ids": ["x"]}, 404),
    "a nested deletion": ("delete-messages", {"msg_ids": [[[[["x"]]]]]}, 400),
    "a cut without a message": ("truncate", {}, 400),
    "a cut at a null": ("truncate", {"message_id": None}, 400),
    "a cut at an unknown one": ("truncate", {"message_id": "x"}, 404),
}


@pytest.mark.parametrize(("call", "body", "status"), BAD_CALLS.values(), ids=BAD_CALLS.keys())
async def test_a_call_that_cannot_be_carried_out_changes_nothing(
    server: Server, talked: str, call: str, body: Any, status: int
) -> None:
    before = await server.history(talked)
    told = await server.post(f"/api/session/{talked}/{call}", body, status)
    assert told["error"].endswith(".")
    assert await server.history(talked) == before


async def test_messages_of_another_session_are_out_of_reach(server: Server, talked: str) -> None:
    other = await server.session()
    (first, *_) = await ids(server, talked)
    await server.post(f"/api/session/{other}/edit-message", {"msg_id": first, "content": "x"}, 404)
    await server.post(f"/api/session/{other}/delete-messages", {"msg_ids": [first]}, 404)
    await server.post(f"/api/session/{other}/truncate", {"message_id": first}, 404)
    await server.post(f"/api/session/{other}/fork", {"message_id": first}, 404)
    await server.get(f"/api/history/{other}?before={first}", 404)
    assert await said(server, talked) == "q0 a0 q1 a1 q2 a2"


@pytest.mark.parametrize("as_text", [False, True])
async def test_a_deletion_takes_the_list_in_both_forms(server: Server, talked: str, as_text: bool) -> None:
    gone = (await ids(server, talked))[2:4]
    path = f"/api/session/{talked}/delete-messages"
    kwargs: dict[str, Any] = {"data": {"msg_ids": json.dumps(gone)}} if as_text else {"json": {"msg_ids": gone}}
    assert await server.call("POST", path, **kwargs) == {"status": "ok"}
    assert await said(server, talked) == "q0 a0 q2 a2"


async def test_a_cut_ends_the_session_at_the_message(server: Server, talked: str) -> None:
    third = (await ids(server, talked))[2]
    assert await server.post(f"/api/session/{talked}/truncate", {"message_id": third}) == {"status": "ok"}
    assert await said(server, talked) == "q0 a0 q1"


@pytest.mark.parametrize("call", ["delete-messages", "truncate"])
async def test_a_change_of_the_history_stops_what_runs_first(
    server: Server, upstream: Upstream, talked: str, call: str
) -> None:
    upstream.reply(text_chunk("going"), Hang())
    stream = await (await server.send(talked, "q3")).until_text("going")
    first = (await ids(server, talked))[0]
    body = {"msg_ids": [first], "message_id": first}
    await server.post(f"/api/session/{talked}/{call}", body)
    await upstream.disconnected(3)
    await stream.rest()
    assert stream.record["stop_reason"] == "user_stop"
    assert await said(server, talked) == ("a0 q1 a1 q2 a2 q3 going" if call == "delete-messages" else "q0")


async def test_search_tells_where_and_when(server: Server, talked: str) -> None:
    (hit,) = await server.get("/api/search?q=a1")
    assert hit["session_id"] == talked
    assert hit["message_id"] == (await ids(server, talked))[3]
    assert set(hit) == {"session_id", "message_id", "name", "snippet", "created_at"}


async def test_one_session_is_searched_in_its_order(server: Server, talked: str) -> None:
    hits = await server.get(f"/api/search?q=a&session={talked}")
    assert [hit["message_id"] for hit in hits] == (await ids(server, talked))[1::2]
    assert await server.get(f"/api/search?q=a&session={await server.session()}") == []


@pytest.mark.parametrize(
    "query", ["", "q=", "q=%20", "q=%00", "q=%22a*%20OR%20NEAR(", "q=%ed%a0%80", "q=" + "a%20" * 1500, "q=zzz&q=yyy"]
)
async def test_no_search_is_an_error(server: Server, talked: str, query: str) -> None:
    assert isinstance(await server.get(f"/api/search?{query}"), list)
