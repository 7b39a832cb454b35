"""Sessions over HTTP: list, create, change, delete, fork, export, and what none of them takes (section 8)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from serving import Server
from upstream import Hang, Upstream, answer, text_chunk

FIELDS = [
    "id",
    "name",
    "model",
    "endpoint_id",
    "mode",
    "archived",
    "pinned",
    "created_at",
    "updated_at",
    "last_message_at",
    "message_count",
    "total_tokens",
    "running",
]


async def raw(server: Server, method: str, path: str, status: int, body: str) -> Any:
    """A call whose body is this JSON text, lone surrogates and all."""
    return await server.call(method, path, status, data=body, headers={"Content-Type": "application/json"})


async def test_a_new_session_has_every_field_and_is_listed(server: Server) -> None:
    made = await server.post("/api/session", {"name": " My chat ", "mode": "agent"})
    assert set(FIELDS) <= set(made)
    assert (made["name"], made["mode"], made["endpoint_id"], made["model"]) == ("My chat", "agent", "up", "fake-model")
    assert (made["message_count"], made["running"], made["last_message_at"]) == (0, False, None)
    assert await server.get("/api/sessions") == [made]


async def test_a_session_of_another_endpoint_takes_no_model_of_the_default_one(server: Server) -> None:
    assert (await server.post("/api/session", {"endpoint_id": "other"}))["model"] == ""


async def test_no_body_at_all_makes_a_session(server: Server) -> None:
    assert (await server.call("POST", "/api/session"))["name"] == "New chat"


BAD_NEW: dict[str, str] = {
    "a name too long": json.dumps({"name": "x" * 121}),
    "a name of another type": '{"name": 5}',
    "an unknown mode": '{"mode": "dream"}',
    "a model of another type": '{"model": ["m"]}',
    "no object": "[]",
    "no JSON": "{",
    "a list without end": '{"name": ' + "[" * 900 + "]" * 900 + "}",
    "text in UTF-16": '{"name": "x"}'.encode("utf-16").decode("latin-1"),
}


@pytest.mark.parametrize("body", BAD_NEW.values(), ids=BAD_NEW.keys())
async def test_a_session_that_cannot_be_made_is_a_400(server: Server, body: str) -> None:
    told = await raw(server, "POST", "/api/session", 400, body)
    assert told["error"].endswith(".")
    assert await server.get("/api/sessions") == []


async def test_a_change_sets_what_is_given_and_nothing_else(server: Server) -> None:
    session = await server.session(name="old")
    before = (await server.get("/api/sessions"))[0]
    for change in ({"name": " new "}, {"pinned": True}, {"mode": "agent"}, {"model": "m2", "endpoint_id": "e2"}):
        made = await server.call("PATCH", f"/api/session/{session}", json=change)
        expected = {key: value.strip() if isinstance(value, str) else value for key, value in change.items()}
        assert {key: made[key] for key in expected} == expected
        kept = {key: before[key] for key in before if key not in expected and key != "updated_at"}
        assert {key: made[key] for key in kept} == kept
        before = made
    made = await server.call("PATCH", f"/api/session/{session}", data={"archived": "TRUE", "pinned": "false"})
    assert (made["archived"], made["pinned"]) == (True, False)
    assert await server.get("/api/sessions") == []
    assert [one["id"] for one in await server.get("/api/sessions?archived=1")] == [session]


BAD_CHANGES: dict[str, str] = {
    "an empty name": '{"name": " "}',
    "a name too long": json.dumps({"name": "x" * 121}),
    "an unknown mode": '{"mode": ""}',
    "a boolean that is none": '{"pinned": "perhaps"}',
    "a number for a boolean": '{"archived": 7}',
}


@pytest.mark.parametrize("body", BAD_CHANGES.values(), ids=BAD_CHANGES.keys())
async def test_a_change_that_cannot_be_is_a_400_and_changes_nothing(server: Server, body: str) -> None:
    session = await server.session(name="kept")
    before = await server.get("/api/sessions")
    await raw(server, "PATCH", f"/api/session/{session}", 400, body)
    assert await server.get("/api/sessions") == before


ODD_IDS = ["nope", "..%2f..%2fetc", "%00", "%ed%a0%80", "%F0%9F%9A%B2", "a%20b", "%25", "x" * 3000, "'--", "%22"]


@pytest.mark.parametrize("odd", ODD_IDS)
async def test_a_session_that_is_not_there_is_a_404_everywhere(server: Server, odd: str) -> None:
    from yarl import URL

    calls = [
        ("PATCH", f"/api/session/{odd}", {"name": "x"}),
        ("DELETE", f"/api/session/{odd}", None),
        ("POST", f"/api/session/{odd}/fork", {"message_id": "x"}),
        ("GET", f"/api/session/{odd}/export", None),
        ("GET", f"/api/history/{odd}", None),
        ("POST", f"/api/session/{odd}/edit-message", {"msg_id": "x", "content": "y"}),
        ("POST", f"/api/session/{odd}/delete-messages", {"msg_ids": ["x"]}),
        ("POST", f"/api/session/{odd}/truncate", {"message_id": "x"}),
    ]
    for method, path, body in calls:
        url = URL(server.url + path, encoded=True)
        async with server.http.request(method, url, json=body) as response:
            assert response.status == 404, f"{method} {path}"
            assert (await response.json())["status"] == 404


async def test_the_list_says_who_runs_and_finds_words(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("going"), Hang())
    busy, idle = await server.session(), await server.session(name="Idle öl")
    stream = await (await server.send(busy, "unusual words here")).until_text("going")
    listed = {one["id"]: one for one in await server.get("/api/sessions")}
    assert (listed[busy]["running"], listed[idle]["running"]) == (True, False)
    assert listed[busy]["name"] == "unusual words here"
    assert [one["id"] for one in await server.get("/api/sessions?q=UNUSUAL")] == [busy]
    assert [one["id"] for one in await server.get("/api/sessions?q=%C3%96L")] == [idle]
    assert await server.get("/api/sessions?q=%00%ed%a0%80nowhere") == []
    await server.stop(busy, stream.run_id)
    assert not (await server.get("/api/sessions?q=unusual"))[0]["running"]


async def test_a_deletion_twice_at_once_is_one_deletion(server: Server) -> None:
    session = await server.session()

    async def delete() -> int:
        async with server.http.delete(f"{server.url}/api/session/{session}") as response:
            return response.status

    assert sorted(await asyncio.gather(*(delete() for _ in range(5)))) == [200, 404, 404, 404, 404]


async def test_a_fork_is_listed_as_it_was_told(server: Server, upstream: Upstream) -> None:
    upstream.reply(answer("one")).reply(answer("two"))
    session = await server.session()
    first = await (await server.send(session, "q1")).rest()
    await (await server.send(session, "q2")).rest()
    fork = await server.post(f"/api/session/{session}/fork", {"message_id": first.record["message_id"]})
    assert fork in await server.get("/api/sessions")
    assert [message["content"] for message in await server.history(fork["id"])] == ["q1", "one"]
    assert len(await server.history(session)) == 4
    for body, status in (({}, 400), ({"message_id": "nope"}, 404), ({"message_id": 5}, 400)):
        await server.post(f"/api/session/{session}/fork", body, status)


@pytest.mark.parametrize("name", ["plain", 'quo"te', "semi;colon/slash\\", "字🚲", "new\nline\r\nX-Evil: 1"])
async def test_an_export_is_a_file_of_any_name(server: Server, name: str) -> None:
    session = await server.session(name=name)
    await (await server.send(session, "the question")).rest()
    for kind, mime in (("md", "text/markdown"), ("json", "application/json")):
        async with server.http.get(f"{server.url}/api/session/{session}/export?fmt={kind}") as response:
            assert response.status == 200
            assert response.content_type == mime
            assert response.headers["Content-Disposition"].startswith("attachment; ")
            assert "X-Evil" not in response.headers
            text = await response.text()
        assert "the question" in text
        assert "Hello from the upstream." in text
    said = json.loads(text)
    assert said["session"]["id"] == session
    assert [message["role"] for message in said["messages"]] == ["user", "assistant"]


@pytest.mark.parametrize("kind", ["pdf", "", "MD", "md%00"])
async def test_an_export_of_another_kind_is_a_400(server: Server, kind: str) -> None:
    await server.get(f"/api/session/{await server.session()}/export?fmt={kind}", 400)
