"""Memories over the real socket: listed, kept, changed, thrown away, and what an agent may keep by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playing import agent, card, decide, rows
from serving import Server, serving, upstream_config
from upstream import Upstream, answer, calls

PATH = "/api/memories"
REMEMBER = ("manage_memory", {"action": "remember", "text": "Likes tea."})


async def texts(server: Server, query: str = "") -> list[str]:
    return [memory["text"] for memory in await server.get(f"{PATH}{query}")]


async def test_a_memory_is_made_changed_and_thrown_away(server: Server) -> None:
    made = await server.post(PATH, {"text": " Likes\n green\ttea. ", "category": " Taste "})
    assert {**made, "id": "", "created_at": "", "updated_at": ""} == {
        "id": "",
        "text": "Likes green tea.",
        "category": "taste",
        "pinned": False,
        "state": "kept",
        "outside": False,
        "session_id": None,
        "created_at": "",
        "updated_at": "",
    }
    path = f"{PATH}/{made['id']}"
    changed = await server.call("PATCH", path, json={"pinned": True, "text": "Likes  tea.", "category": ""})
    assert (changed["pinned"], changed["text"], changed["category"]) == (True, "Likes tea.", "fact")
    assert await server.get(PATH) == [changed]
    assert await server.call("PATCH", path, json={}) == {
        **changed,
        "updated_at": (await server.get(PATH))[0]["updated_at"],
    }
    assert await server.call("DELETE", path) == {"status": "deleted"}
    assert await server.get(PATH) == []
    await server.call("DELETE", path, 404)
    await server.call("PATCH", path, 404, json={"pinned": False})


async def test_the_list_is_searched_by_words_and_by_state(server: Server) -> None:
    tea = await server.post(PATH, {"text": "Likes tea."})
    await server.post(PATH, {"text": "Has two cats."})
    await server.call("PATCH", f"{PATH}/{tea['id']}", json={"state": "proposed"})
    assert await texts(server, "?q=CATS+two") == ["Has two cats."]
    assert await texts(server, "?state=proposed") == ["Likes tea."]
    assert await texts(server, "?state=kept&q=tea") == []
    assert sorted(await texts(server)) == ["Has two cats.", "Likes tea."]
    await server.get(f"{PATH}?state=other", 400)


async def test_the_same_text_is_remembered_once(server: Server) -> None:
    first = await server.post(PATH, {"text": "Likes tea."})
    again = await server.post(PATH, {"text": "likes  TEA.", "pinned": True})
    assert (again["id"], again["pinned"], again["text"]) == (first["id"], True, "Likes tea.")
    other = await server.post(PATH, {"text": "Has two cats."})
    await server.call("PATCH", f"{PATH}/{other['id']}", 409, json={"text": "Likes tea."})


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": ""},
        {"text": " \n "},
        {"text": "x" * 1001},
        {"text": "x", "category": "x" * 41},
        {"text": "x", "pinned": "perhaps"},
        {"text": 5},
    ],
)
async def test_what_is_no_memory_is_refused(server: Server, body: dict[str, Any]) -> None:
    await server.post(PATH, body, 400)
    assert await server.get(PATH) == []


async def test_a_change_cannot_empty_a_memory_or_name_another_state(server: Server) -> None:
    made = await server.post(PATH, {"text": "Likes tea."})
    for body in ({"text": " "}, {"state": "lost"}, {"text": "x" * 1001}):
        await server.call("PATCH", f"{PATH}/{made['id']}", 400, json=body)
    assert await texts(server) == ["Likes tea."]


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
async def test_pages_of_other_sites_change_nothing(server: Server, method: str) -> None:
    made = await server.post(PATH, {"text": "Likes tea."})
    path = PATH if method == "POST" else f"{PATH}/{made['id']}"
    headers = {"Origin": "https://evil.example"}
    await server.call(method, path, 403, json={"text": "x"}, headers=headers)
    async with server.http.get(server.url + PATH, headers={"Sec-Fetch-Site": "cross-site"}) as response:
        assert response.status == 403
    assert await texts(server) == ["Likes tea."]


async def test_what_an_agent_remembers_in_a_plain_chat_is_kept(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(REMEMBER)).reply(answer("Noted."))
    session = await server.session()
    await agent(server, session)
    (memory,) = await server.get(PATH)
    assert (memory["state"], memory["outside"], memory["session_id"]) == ("kept", False, session)


async def test_the_setting_makes_an_agent_only_propose(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url, memory={"ask": True}), tmp_path) as server:
        upstream.reply(calls(REMEMBER)).reply(answer("Noted."))
        await agent(server, await server.session())
        assert [memory["state"] for memory in await server.get(PATH)] == ["proposed"]


SEARCHED = ("bash", {"command": "echo The user likes tea."})


@pytest.mark.parametrize(
    ("asking", "decision", "state"),
    [(False, "", "proposed"), (True, "approve", "kept"), (True, "approve_task", "kept")],
)
async def test_after_outside_text_only_what_the_user_has_seen_is_kept(
    upstream: Upstream, tmp_path: Path, *, asking: bool, decision: str, state: str
) -> None:
    config = upstream_config(upstream.base_url, tools={"bash": "allow"}, agent={"ask_after_outside": asking})
    async with serving(config, tmp_path) as server:
        session = await server.session()
        upstream.reply(calls(SEARCHED)).reply(calls(REMEMBER)).reply(answer("Noted."))
        stream = await agent(server, session)
        if decision:
            stream = await decide(server, session, card(stream)["approval_id"], decision)
        assert rows(stream)[-1]["exit_code"] == 0
        (memory,) = await server.get(PATH)
        assert (memory["state"], memory["outside"]) == (state, True)
