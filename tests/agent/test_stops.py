"""Stops and crashes in every phase of an agent run: nothing runs on, what was shown is kept, the chat goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from leftovers import leftovers
from playing import agent, prompt, rows, workspace
from serving import GUARD, Server, Stream, serving, upstream_config
from upstream import DONE, Hang, Pause, Upstream, answer, call_chunk, calls, chunk, finish, text_chunk

SLEEP = ("bash", {"command": "echo begun; sleep 300 & sleep 300"})
ALLOW: dict[str, Any] = {"tools": {"bash": "allow"}}


async def idle(folder: Path) -> None:
    async with asyncio.timeout(GUARD):
        while leftovers(folder):
            await asyncio.sleep(0.01)


def tasks_of_runs() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(("turn-", "run-"))]


@pytest.mark.parametrize(
    ("script", "when"),
    [
        ([[Hang()]], lambda stream: "model_info" in stream.kinds),
        ([[text_chunk("half"), Hang()]], lambda stream: "half" in stream.text),
        ([[call_chunk("ls", '{"path"'), Hang()]], lambda stream: "model_info" in stream.kinds),
        ([calls(SLEEP)], lambda stream: "tool_start" in stream.kinds),
        ([calls(("ls", {"path": "."})), [Hang()]], lambda stream: "agent_step" in stream.kinds),
        ([calls(("ls", {"path": "."})), [text_chunk("half"), Hang()]], lambda stream: "half" in stream.text),
    ],
    ids=["before the first byte", "in text", "in arguments", "in a tool", "between rounds", "in the second answer"],
)
async def test_a_stop_leaves_nothing_and_the_next_message_works(
    upstream: Upstream, tmp_path: Path, script: Any, when: Callable[[Stream], bool]
) -> None:
    async with serving(upstream_config(upstream.base_url, **ALLOW), tmp_path) as server:
        for steps in script:
            upstream.reply(*steps)
        session = await server.session()
        stream = await (await server.send(session, "do it", mode="agent")).until(when)
        async with asyncio.timeout(2):
            assert await server.stop(session, stream.run_id)
        await stream.rest()
        assert (stream.record["status"], stream.record["stop_reason"]) == ("stopped", "user_stop")
        assert leftovers(server.data) == []
        assert tasks_of_runs() == []
        last = len(upstream.requests) - 1
        if not upstream.requests[last].finished:
            await upstream.disconnected(last)
        upstream.reply(answer("Here again."))
        assert (await agent(server, session, "and now?")).text == "Here again."
        roles = [message["role"] for message in prompt(upstream, last + 1)]
        assert roles.count("tool") == sum(len(m.get("tool_calls") or ()) for m in prompt(upstream, last + 1))


async def test_a_stopped_tool_has_its_row_its_result_and_no_process(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url, **ALLOW), tmp_path) as server:
        upstream.reply(calls(("ls", {"path": "."}), SLEEP, SLEEP))
        session = await server.session()
        stream = await (await server.send(session, "do it", mode="agent")).until(
            lambda s: len(rows(s, "tool_start")) == 2
        )
        async with asyncio.timeout(GUARD):
            while not leftovers(workspace(server, session)):
                await asyncio.sleep(0.01)
        await server.stop(session, stream.run_id)
        await stream.rest()
        assert [(row["call_id"], row["exit_code"]) for row in rows(stream)] == [("call_0", 0), ("call_1", 130)]
        assert leftovers(server.data) == []
        kept = (await server.history(session))[1]["metadata"]
        assert [(row["call_id"], row["exit_code"]) for row in kept["tool_events"]] == [("call_0", 0), ("call_1", 130)]
        assert kept["stopped"]
        upstream.reply(answer("ok"))
        await agent(server, session, "go on")
        contents = [message["content"] for message in prompt(upstream, 1) if message["role"] == "tool"]
        assert ["empty" in contents[0], "Stopped" in contents[1], "did not run" in contents[2]] == [True] * 3


async def test_a_failure_after_a_tool_keeps_the_row_and_what_was_said(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(("ls", {"path": "."}), text="Looking.")).reply_json(
        {"error": {"message": "bad key"}}, status=401
    )
    session = await server.session()
    stream = await agent(server, session)
    assert stream.kinds[-4:] == ["metrics", "message_saved", "agent_terminal", "error"]
    message = (await server.history(session))[1]
    assert message["content"] == "Looking."
    assert len(message["metadata"]["tool_events"]) == 1
    upstream.reply(answer("ok"))
    await agent(server, session, "again")
    assert [message["role"] for message in prompt(upstream, 2)] == ["user", "assistant", "tool", "user"]


async def test_a_client_that_leaves_in_a_tool_does_not_stop_it(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url, **ALLOW), tmp_path) as server:
        upstream.reply(calls(("bash", {"command": "sleep 0.3; echo done > left.txt"}))).reply(answer("Finished."))
        session = await server.session()
        stream = await (await server.send(session, "do it", mode="agent")).until(lambda s: "tool_start" in s.kinds)
        stream.response.close()
        again = await (await server.resume(session)).rest()
        assert again.kinds[-1] == "[DONE]"
        assert (workspace(server, session) / "left.txt").read_text() == "done\n"
        assert (await server.history(session))[1]["content"] == "Finished."


async def test_a_second_message_stops_the_tool_of_the_first(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url, **ALLOW), tmp_path) as server:
        upstream.reply(calls(SLEEP)).reply(answer("The second."))
        session = await server.session()
        first = await (await server.send(session, "one", mode="agent")).until(lambda s: "tool_start" in s.kinds)
        second = await agent(server, session, "two")
        await first.rest()
        assert first.record["stop_reason"] == "replaced"
        assert second.text == "The second."
        assert [message["role"] for message in await server.history(session)] == ["user", "assistant"] * 2
        assert leftovers(server.data) == []


async def test_a_shutdown_ends_the_tool_and_keeps_its_row(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(upstream.base_url, **ALLOW)
    async with serving(config, tmp_path) as server:
        upstream.reply(calls(SLEEP))
        session = await server.session()
        stream = await (await server.send(session, "do it", mode="agent")).until(lambda s: "tool_start" in s.kinds)
        await server.services.runs.close()
        await stream.rest()
    assert stream.record["status"] == "interrupted"
    assert leftovers(tmp_path) == []
    async with serving(config, tmp_path) as server:
        assert (await server.history(session))[1]["metadata"]["tool_events"][0]["exit_code"] == 130


async def test_a_deleted_session_takes_its_tool_and_its_folders_along(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url, **ALLOW), tmp_path) as server:
        upstream.reply(calls(SLEEP))
        session = await server.session()
        stream = await (await server.send(session, "do it", mode="agent")).until(lambda s: "tool_start" in s.kinds)
        await server.call("DELETE", f"/api/session/{session}")
        await stream.rest()
        await idle(server.data)
        assert not workspace(server, session).exists()


async def test_a_compare_pane_takes_its_tool_along(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url, **ALLOW), tmp_path) as server:
        upstream.reply(calls(SLEEP))
        session = await server.session()
        stream = await (await server.send(session, "x", mode="agent", compare_mode=True)).until(
            lambda s: "tool_start" in s.kinds
        )
        stream.response.close()
        await idle(server.data)


async def test_a_decision_can_be_stopped_in_its_tool(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(SLEEP))
    session = await server.session()
    asked = (await agent(server, session)).one("ask_user")["data"]
    answer_ = {"tool_approval_id": asked["approval_id"], "tool_approval_decision": "approve"}
    stream = await (await server.send(session, "", **answer_)).until(lambda s: "tool_start" in s.kinds)
    await server.stop(session, stream.run_id)
    await stream.rest()
    assert rows(stream)[0]["exit_code"] == 130
    assert leftovers(server.data) == []
    await server.post("/api/chat_stream", {"session": session, **answer_}, 409)


async def test_text_before_a_stop_in_arguments_is_kept(server: Server, upstream: Upstream) -> None:
    more = asyncio.Event()
    head = chunk({"role": "assistant", "content": "I look. "})
    upstream.reply(head, call_chunk("ls", '{"pa'), Pause(more), finish("tool_calls"), DONE)
    session = await server.session()
    stream = await (await server.send(session, "x", mode="agent")).until_text("I look. ")
    await server.stop(session, stream.run_id)
    await stream.rest()
    more.set()
    message = (await server.history(session))[1]
    assert message["content"] == "I look. "
    assert "tool_events" not in message["metadata"]
