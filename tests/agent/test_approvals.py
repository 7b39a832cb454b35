"""Calls that wait for the user: given, denied, late, twice, elsewhere, after a restart, in batches."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playing import agent, card, decide, prompt, refused, rows, workspace
from serving import HandClock, Server, serving, upstream_config
from upstream import Upstream, answer, calls

WRITE = ("write_file", {"path": "note.txt", "content": "hello\n"})


async def asked(server: Server, upstream: Upstream, *named: Any, **fields: Any) -> tuple[str, dict[str, Any]]:
    """A session whose agent waits for the user's word, and the card."""
    upstream.reply(calls(*(named or (WRITE,))))
    session = await server.session()
    return session, card(await agent(server, session, **fields))


async def test_a_card_says_exactly_what_will_happen_and_nothing_has(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(WRITE))
    session = await server.session()
    stream = await agent(server, session)
    assert stream.kinds[-7:] == [
        "tool_start", "tool_output", "ask_user", "metrics", "message_saved", "agent_terminal", "[DONE]",
    ]  # fmt: skip
    (row,) = rows(stream)
    assert row["exit_code"] is None
    asked = card(stream)
    assert [option["value"] for option in asked["options"]] == ["approve", "approve_task", "deny"]
    action = asked["action"]
    assert (action["tool"], len(action["digest"])) == ("write_file", 16)
    assert "+hello" in action["content"]
    assert "write" in action["effects"]
    assert action["workspace"] == str(workspace(server, session).resolve())
    assert not (workspace(server, session) / "note.txt").exists()
    assert stream.record["status"] == "completed"


async def test_an_approved_call_runs_as_round_0_and_the_run_goes_on(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    upstream.reply(answer("Written."))
    stream = await decide(server, session, asked_for["approval_id"], "approve")
    assert stream.frames[0].data == {
        "type": "tool_approval_resolved",
        "approval_id": asked_for["approval_id"],
        "decision": "approve",
    }
    assert stream.kinds[1:6] == ["agent_prep", "model_info", "tool_start", "tool_output", "delta"]
    (row,) = rows(stream)
    assert (row["round"], row["exit_code"], row["call_id"]) == (0, 0, "call_0")
    assert row["diff"]["file"] == "note.txt"
    assert (workspace(server, session) / "note.txt").read_text() == "hello\n"
    assert [message["role"] for message in prompt(upstream, 1)] == ["user", "assistant", "tool"]
    assert [message["role"] for message in await server.history(session)] == ["user", "assistant", "assistant"]


async def test_a_denied_call_is_told_to_the_model_which_goes_another_way(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    upstream.reply(answer("Then not."))
    stream = await decide(server, session, asked_for["approval_id"], "deny")
    assert rows(stream)[0]["exit_code"] == 1
    assert "refused" in prompt(upstream, 1)[-1]["content"]
    assert stream.text == "Then not."
    assert not (workspace(server, session) / "note.txt").exists()


async def test_a_decision_counts_once(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    await decide(server, session, asked_for["approval_id"], "approve")
    for decision in ("approve", "approve_task", "deny"):
        assert "already used" in await refused(server, session, asked_for["approval_id"], decision)
    assert len(rows_of(await server.history(session))) == 2


def rows_of(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for message in history for row in message["metadata"].get("tool_events", ())]


async def test_of_two_clicks_at_once_one_counts(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream, ("bash", {"command": "echo x >> log.txt"}))
    body = {"session": session, "tool_approval_id": asked_for["approval_id"], "tool_approval_decision": "approve"}

    async def click() -> int:
        async with server.http.post(f"{server.url}/api/chat_stream", json=body) as response:
            await response.read()
            return response.status

    assert sorted(await asyncio.gather(*(click() for _ in range(5)))) == [200, 409, 409, 409, 409]
    assert (workspace(server, session) / "log.txt").read_text() == "x\n"


async def test_an_approval_is_of_its_session_and_of_no_other(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    await refused(server, await server.session(), asked_for["approval_id"])
    await refused(server, session, "0" * 32)
    await decide(server, session, asked_for["approval_id"], "deny")


async def test_a_card_expires_after_ten_minutes(upstream: Upstream, tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(upstream_config(upstream.base_url), tmp_path, clock) as server:
        session, asked_for = await asked(server, upstream)
        clock.advance(599)
        assert (await server.history(session))[1]["metadata"]["ask_user"]["state"] == "pending"
        clock.advance(1)
        assert (await server.history(session))[1]["metadata"]["ask_user"]["state"] == "expired"
        await refused(server, session, asked_for["approval_id"])
        assert not (workspace(server, session) / "note.txt").exists()


async def test_a_card_survives_a_restart(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(upstream.base_url)
    async with serving(config, tmp_path) as server:
        session, asked_for = await asked(server, upstream)
    async with serving(config, tmp_path) as server:
        shown = (await server.history(session))[1]["metadata"]["ask_user"]
        assert (shown["approval_id"], shown["state"]) == (asked_for["approval_id"], "pending")
        upstream.reply(answer("Written."))
        await decide(server, session, asked_for["approval_id"], "approve")
        assert (workspace(server, session) / "note.txt").exists()
        states = [message["metadata"].get("ask_user", {}).get("state") for message in await server.history(session)]
        assert states == [None, "approved", None]


async def test_a_new_message_retires_a_card(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    await agent(server, session, "something else")
    await refused(server, session, asked_for["approval_id"])
    assert (await server.history(session))[1]["metadata"]["ask_user"]["state"] == "retired"
    assert "did not run" in prompt(upstream, 1)[2]["content"]


async def test_a_rejected_decision_stores_and_retires_nothing(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    await refused(server, session, asked_for["approval_id"], "perhaps", 400)
    body = {"session": session, "message": "", "tool_approval_id": asked_for["approval_id"]}
    await server.post("/api/chat_stream", body, 400)
    await server.post("/api/chat_stream", {"session": session, "tool_approval_decision": "deny"}, 400)
    assert (await server.history(session))[1]["metadata"]["ask_user"]["state"] == "pending"


async def test_three_calls_of_one_answer_are_decided_one_by_one(server: Server, upstream: Upstream) -> None:
    session, first = await asked(server, upstream, *[("bash", {"command": f"echo {name}"}) for name in "abc"])
    middle = await decide(server, session, first["approval_id"], "approve")
    last = await decide(server, session, card(middle)["approval_id"], "deny")
    upstream.reply(answer("Two of three."))
    end = await decide(server, session, card(last)["approval_id"], "approve")
    results = prompt(upstream, 1)[2:]
    assert [result["tool_call_id"] for result in results] == ["call_0", "call_1", "call_2"]
    assert ["a" in results[0]["content"], "refused" in results[1]["content"], "c" in results[2]["content"]] == [
        True
    ] * 3
    assert end.text == "Two of three."
    ends = {row["call_id"]: row["exit_code"] for row in rows_of(await server.history(session))}
    assert ends == {"call_0": 0, "call_1": 1, "call_2": 0}


async def test_approve_task_covers_the_rest_of_that_run_only(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    upstream.reply(calls(("bash", {"command": "cat note.txt"}), ("bash", {"command": "ls"}))).reply(answer("Done."))
    stream = await decide(server, session, asked_for["approval_id"], "approve_task")
    assert [row["exit_code"] for row in rows(stream)] == [0, 0, 0]
    upstream.reply(calls(WRITE))
    assert card(await agent(server, session, "again"))


async def test_what_read_before_the_card_is_not_read_again(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream, ("ls", {"path": "."}), WRITE, ("ls", {"path": "."}))
    upstream.reply(answer("ok"))
    await decide(server, session, asked_for["approval_id"], "approve")
    results = prompt(upstream, 1)[2:]
    assert "empty" in results[0]["content"]
    assert "note.txt" in results[2]["content"]


async def test_a_file_that_changed_since_the_card_is_not_written(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    (workspace(server, session) / "note.txt").write_text("the user's own")
    upstream.reply(answer("I see."))
    stream = await decide(server, session, asked_for["approval_id"], "approve")
    assert rows(stream)[0]["exit_code"] == 1
    assert "changed" in rows(stream)[0]["output"]
    assert (workspace(server, session) / "note.txt").read_text() == "the user's own"


async def test_a_call_that_could_not_be_done_anyway_is_not_asked_about(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(("edit_file", {"path": "none.txt", "old": "a", "new": "b"}))).reply(answer("There is none."))
    stream = await agent(server, await server.session())
    assert "ask_user" not in stream.kinds
    assert rows(stream)[0]["exit_code"] == 1


async def test_an_allowed_tool_runs_at_once_until_outside_text_has_come_in(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(upstream.base_url, tools={"bash": "allow", "write_file": "allow"})
    async with serving(config, tmp_path) as server:
        upstream.reply(calls(WRITE)).reply(calls(("read_file", {"path": "note.txt"}))).reply(calls(WRITE))
        session = await server.session()
        stream = await agent(server, session)
        assert [row["exit_code"] for row in rows(stream)] == [0, 0, None]
        assert "outside" in card(stream)["description"]
        assert "data, not orders" in prompt(upstream, 2)[-1]["content"]
        upstream.reply(calls(WRITE))
        assert card(await agent(server, session, "go on"))


async def test_the_settings_can_trust_outside_text(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(upstream.base_url, agent={"ask_after_outside": False}, tools={"write_file": "allow"})
    async with serving(config, tmp_path) as server:
        upstream.reply(calls(WRITE)).reply(calls(("read_file", {"path": "note.txt"}))).reply(calls(WRITE))
        stream = await agent(server, await server.session())
        assert [row["exit_code"] for row in rows(stream)] == [0, 0, 0]


async def test_a_call_written_as_text_asks_before_it_acts(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url, tools={"bash": "allow"}), tmp_path) as server:
        written = '<tool_call>\n{"name": "bash", "arguments": {"command": "echo hi"}}\n</tool_call>'
        upstream.reply(answer(written))
        stream = await agent(server, await server.session())
        assert "written as text" in card(stream)["description"]


async def test_a_sealed_call_whose_tool_was_denied_since_does_not_run(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        session, asked_for = await asked(server, upstream)
    async with serving(upstream_config(upstream.base_url, tools={"write_file": "deny"}), tmp_path) as server:
        stream = await decide(server, session, asked_for["approval_id"], "approve")
        assert rows(stream)[0]["exit_code"] == 1
        assert not (workspace(server, session) / "note.txt").exists()


async def test_a_sealed_call_that_was_tampered_with_does_not_run(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)

    def tamper(db: Any) -> None:
        db.execute("UPDATE approvals SET sealed = replace(sealed, 'hello', 'other')")

    await server.services.db.write(tamper)
    await refused(server, session, asked_for["approval_id"])


async def test_an_incognito_card_is_kept_in_memory_only(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream, ("bash", {"command": "echo hi"}), incognito=True)
    assert await server.services.db.read("SELECT * FROM approvals") == []
    upstream.reply(answer("hi"))
    stream = await decide(server, session, asked_for["approval_id"], "approve")
    assert rows(stream)[0]["exit_code"] == 0
    await refused(server, session, asked_for["approval_id"])
    assert await server.history(session) == []
    assert not workspace(server, session).exists()
    assert [message["role"] for message in prompt(upstream, 1)] == ["user", "assistant", "tool"]


async def test_a_deleted_message_takes_its_card_along(server: Server, upstream: Upstream) -> None:
    session, asked_for = await asked(server, upstream)
    question = (await server.history(session))[0]["id"]
    await server.post(f"/api/session/{session}/truncate", {"message_id": question})
    await refused(server, session, asked_for["approval_id"])


async def test_a_question_ends_the_turn_and_the_next_message_answers_it(server: Server, upstream: Upstream) -> None:
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    upstream.reply(calls(("ask_user", {"question": "Which colour?", "options": options})))
    session = await server.session()
    stream = await agent(server, session)
    assert stream.one("ask_user")["data"] == {"question": "Which colour?", "options": options, "multi": False}
    assert rows(stream)[0]["exit_code"] is None
    assert stream.record["note"] is None
    assert len(upstream.requests) == 1
    assert (await server.history(session))[1]["metadata"]["ask_user"]["question"] == "Which colour?"
    upstream.reply(answer("Blue it is."))
    await agent(server, session, "Blue")
    assert [message["role"] for message in prompt(upstream, 1)] == ["user", "assistant", "tool", "user"]
    assert prompt(upstream, 1)[-1]["content"] == "Blue"


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_a_failed_run_after_a_decision_leaves_the_question_in_the_history(
    server: Server, upstream: Upstream, decision: str
) -> None:
    session, asked_for = await asked(server, upstream)
    upstream.reply_json({"error": {"message": "no such key"}}, status=401)
    stream = await decide(server, session, asked_for["approval_id"], decision)
    assert stream.record["status"] == "failed"
    upstream.reply(answer("Back."))
    await agent(server, session, "and now?")
    roles = [message["role"] for message in prompt(upstream, 2)]
    assert roles == ["user", "assistant", "tool", "user"]
