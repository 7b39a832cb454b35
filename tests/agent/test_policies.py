"""Policies that the user chooses while the server runs: over the settings, for the next run, for cards that wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playing import agent, card, decide, rows, workspace
from serving import Server, agent_config, serving, upstream_config
from upstream import Upstream, answer, calls

WRITE = ("write_file", {"path": "note.txt", "content": "hello\n"})


async def choose(server: Server, tool: str, policy: str, status: int = 200) -> dict[str, Any]:
    return dict(await server.call("PATCH", f"/api/tools/{tool}", status, json={"policy": policy}))


async def told(server: Server, tool: str) -> dict[str, Any]:
    return next(one for one in (await server.get("/api/tools"))["tools"] if one["name"] == tool)


def offered(upstream: Upstream) -> set[str]:
    return {tool["function"]["name"] for tool in upstream.requests[-1].json["tools"]}


async def test_a_tool_is_listed_with_its_family_and_what_the_settings_say(server: Server) -> None:
    assert {**await told(server, "write_file"), "description": ""} == {
        "name": "write_file",
        "family": "Files",
        "description": "",
        "effects": ["write"],
        "policy": "ask",
        "default": "ask",
        "fixed": False,
        "available": True,
        "note": "",
    }
    assert all(tool["family"] for tool in (await server.get("/api/tools"))["tools"])


@pytest.mark.parametrize(("policy", "written"), [("allow", True), ("ask", False)])
async def test_a_chosen_policy_holds_for_the_next_run(
    server: Server, upstream: Upstream, policy: str, written: bool
) -> None:
    assert (await choose(server, "write_file", policy))["policy"] == policy
    upstream.reply(calls(WRITE)).reply(answer("Done."))
    session = await server.session()
    await agent(server, session)
    assert (workspace(server, session) / "note.txt").exists() == written


async def test_a_denied_tool_is_not_offered_until_the_settings_hold_again(server: Server, upstream: Upstream) -> None:
    denied = await choose(server, "calculate", "deny")
    assert (denied["policy"], denied["default"], denied["fixed"], denied["available"]) == (
        "deny",
        "allow",
        False,
        False,
    )
    session = await server.session()
    await agent(server, session)
    assert "calculate" not in offered(upstream)
    assert (await choose(server, "calculate", "default"))["policy"] == "allow"
    await agent(server, session)
    assert "calculate" in offered(upstream)


@pytest.mark.parametrize("decision", ["approve", "approve_task"])
async def test_a_card_that_waits_does_not_run_what_is_denied_meanwhile(
    server: Server, upstream: Upstream, decision: str
) -> None:
    upstream.reply(calls(WRITE))
    session = await server.session()
    approval = card(await agent(server, session))["approval_id"]
    await choose(server, "write_file", "deny")
    upstream.reply(answer("It could not be written."))
    (row,) = rows(await decide(server, session, approval, decision))
    assert row["exit_code"] == 1
    assert "denied" in row["output"]
    assert not (workspace(server, session) / "note.txt").exists()


async def test_a_choice_is_there_after_a_restart(upstream: Upstream, tmp_path: Path) -> None:
    for _ in range(2):
        async with serving(upstream_config(upstream.base_url), tmp_path) as server:
            if (await told(server, "bash"))["policy"] == "deny":
                return
            await choose(server, "bash", "deny")
    pytest.fail("the choice was gone")


async def test_what_the_settings_deny_cannot_be_loosened(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        await choose(server, "bash", "allow")
    config = upstream_config(upstream.base_url, tools={"bash": "deny"})
    async with serving(config, tmp_path) as server:
        bash = await told(server, "bash")
        assert (bash["policy"], bash["fixed"], bash["available"]) == ("deny", True, False)
        assert "settings" in bash["note"]
        for policy in ("allow", "ask"):
            assert "settings file denies bash" in (await choose(server, "bash", policy, 409))["error"]
        await agent(server, await server.session())
        assert "bash" not in offered(upstream)


async def test_a_tool_or_policy_that_is_not_there_is_refused(server: Server) -> None:
    assert "no such tool" in (await choose(server, "fly", "ask", 404))["error"]
    assert "policy" in (await choose(server, "calculate", "maybe", 400))["error"]


async def test_an_agent_of_the_settings_is_not_given_more_by_a_choice_but_less(
    upstream: Upstream, tmp_path: Path
) -> None:
    config = agent_config(upstream, tools=["calculate", "write_file"])
    async with serving(config, tmp_path) as server:
        await choose(server, "write_file", "allow")
        await choose(server, "calculate", "deny")
        upstream.reply(calls(WRITE)).reply(answer("No."))
        told = await server.post("/agent/support/chat", {"message": "write"})
        assert [call["status"] for call in told["tool_calls"]] == ["error"]
        assert offered(upstream) == {"write_file"}
