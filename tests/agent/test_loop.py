"""Whole agent runs against a scripted model over a real socket: rounds, pairs, order, limits and guards."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playing import agent, prompt, rows
from serving import Server, config_of, serving, upstream_config
from upstream import Upstream, answer, calls, frame

LS = ("ls", {"path": "."})


async def test_a_call_is_run_and_its_result_goes_back_by_its_id(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(("calculate", {"expression": "6*7"}), text="Let me see.", prefix="abc")).reply(
        answer("It is 42.")
    )
    session = await server.session()
    stream = await agent(server, session, "What is 6*7?")
    assert stream.kinds == [
        "agent_prep", "model_info", "delta", "usage", "tool_start", "tool_output",
        "agent_step", "delta", "usage", "metrics", "message_saved", "agent_terminal", "[DONE]",
    ]  # fmt: skip
    assert stream.text == "Let me see.\n\nIt is 42."
    (row,) = rows(stream)
    assert (row["tool"], row["exit_code"], row["round"], row["call_id"]) == ("calculate", 0, 1, "abc_0")
    assert "42" in row["output"]
    _, called, result = prompt(upstream, 1)
    assert called["content"] == "Let me see."
    assert called["tool_calls"][0]["id"] == result["tool_call_id"] == "abc_0"
    assert "42" in result["content"]
    assert [frame.data["data"]["round"] for frame in stream.frames if frame.kind == "usage"] == [1, 2]
    figures = stream.one("metrics")["data"]
    assert (figures["agent_rounds"], figures["tool_calls"]) == (2, 1)
    assert (stream.record["rounds"], stream.record["tool_calls"]) == (2, 1)


async def test_the_next_message_has_the_calls_and_results_of_the_last_turn(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(LS)).reply(answer("Empty.")).reply(answer("Still empty."))
    session = await server.session()
    await agent(server, session)
    await agent(server, session, "and now?")
    assert [message["role"] for message in prompt(upstream, 2)] == ["user", "assistant", "tool", "assistant", "user"]


async def test_a_chat_after_an_agent_turn_tells_of_its_calls_as_text(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(LS)).reply(answer("Empty.")).reply(answer("Yes."))
    session = await server.session()
    await agent(server, session)
    await (await server.send(session, "sure?")).rest()
    assert "tools" not in upstream.requests[2].json
    assert {message["role"] for message in prompt(upstream, 2)} == {"user", "assistant"}
    assert "ls" in str(prompt(upstream, 2)[1]["content"])


async def test_history_has_the_rows_where_they_stood(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(LS, text="First.\n\nSecond.")).reply(answer("Third."))
    session = await server.session()
    stream = await agent(server, session)
    message = (await server.history(session))[1]
    assert message["content"] == stream.text
    (row,) = message["metadata"]["tool_events"]
    assert row["block"] == 2
    assert message["html"].count('<div class="block">') == 3
    assert (row["tool"], row["call_id"], row["exit_code"]) == ("ls", "call_0", 0)
    assert "transcript" not in message["metadata"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("no_such_tool", {}), "There is no tool 'no_such_tool'"),
        (("ls", {"path": 3, "colour": "red"}), "Wrong arguments for ls"),
        (("ls", '{"path": '), "JSON"),
        (("ls", '["a"]'), "object"),
        (("bash", {"command": "true"}), "off for this message"),
    ],
)
async def test_a_call_that_cannot_be_run_is_told_and_the_run_goes_on(
    server: Server, upstream: Upstream, call: Any, words: str
) -> None:
    upstream.reply(calls(call)).reply(answer("I see."))
    stream = await agent(server, await server.session(), allow_bash=False)
    (row,) = rows(stream)
    assert row["exit_code"] == 1
    assert words in row["output"]
    assert prompt(upstream, 1)[-1]["content"] == row["output"]
    assert stream.record["status"] == "completed"


async def test_every_call_of_an_answer_has_its_row_and_its_result(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(LS, ("calculate", {"expression": "1+1"}), ("nothing", {}), LS)).reply(answer("ok"))
    stream = await agent(server, await server.session())
    assert sorted(row["call_id"] for row in rows(stream)) == ["call_0", "call_1", "call_2", "call_3"]
    assert [row["call_id"] for row in rows(stream, "tool_start")] == ["call_0", "call_1", "call_2", "call_3"]
    assert [message["tool_call_id"] for message in prompt(upstream, 1)[2:]] == [f"call_{i}" for i in range(4)]


async def test_rounds_end_at_their_limit_and_a_next_message_goes_on(upstream: Upstream, tmp_path: Any) -> None:
    async with serving(upstream_config(upstream.base_url, agent={"max_rounds": 2}), tmp_path) as server:
        for number in range(2):
            upstream.reply(calls(("calculate", {"expression": f"{number}+1"}), prefix=f"r{number}"))
        session = await server.session()
        stream = await agent(server, session)
        assert stream.one("rounds_exhausted") == {"type": "rounds_exhausted", "rounds": 2}
        assert stream.record["status"] == "completed"
        assert (await server.history(session))[1]["metadata"]["notices"][0]["type"] == "rounds_exhausted"
        upstream.reply(answer("Done."))
        await agent(server, session, "Continue.")
        assert [message["role"] for message in prompt(upstream, 2)] == [
            "user", "assistant", "tool", "assistant", "tool", "user",
        ]  # fmt: skip


async def test_calls_end_at_their_limit(upstream: Upstream, tmp_path: Any) -> None:
    async with serving(upstream_config(upstream.base_url, agent={"max_tool_calls": 3}), tmp_path) as server:
        upstream.reply(calls(LS, LS)).reply(calls(LS, LS, prefix="more"))
        session = await server.session()
        stream = await agent(server, session)
        exceeded = stream.one("budget_exceeded")
        assert (exceeded["kind"], exceeded["limit"], exceeded["used"]) == ("tool_calls", 3, 3)
        assert len(rows(stream)) == 3
        upstream.reply(answer("Going on."))
        await agent(server, session, "Continue.")
        assert "did not run" in prompt(upstream, 2)[-2]["content"]


async def test_a_run_within_its_calls_gives_its_answer(upstream: Upstream, tmp_path: Any) -> None:
    async with serving(upstream_config(upstream.base_url, agent={"max_tool_calls": 2}), tmp_path) as server:
        upstream.reply(calls(LS, LS)).reply(answer("Both done."))
        stream = await agent(server, await server.session())
        assert "budget_exceeded" not in stream.kinds
        assert stream.text == "Both done."


async def test_cost_ends_at_its_limit(upstream: Upstream, tmp_path: Any) -> None:
    config = upstream_config(
        upstream.base_url, agent={"max_cost": 0.5}, **{'prices."fake-model"': {"input": 20_000.0, "output": 0.0}}
    )
    async with serving(config, tmp_path) as server:
        upstream.reply(calls(LS)).reply(calls(LS)).reply(answer("never"))
        stream = await agent(server, await server.session())
        exceeded = stream.one("budget_exceeded")
        assert (exceeded["kind"], exceeded["limit"], exceeded["used"]) == ("cost", 0.5, 0.8)
        assert len(upstream.requests) == 2


async def test_equal_rounds_end_with_an_answer_without_tools(server: Server, upstream: Upstream) -> None:
    for number in range(4):
        upstream.reply(calls(LS, prefix=f"r{number}"))
    upstream.reply(answer("It stays empty."))
    stream = await agent(server, await server.session())
    broken = stream.one("loop_breaker_triggered")
    assert (broken["reason"], broken["round"]) == ("repeated_rounds", 4)
    assert len(upstream.requests) == 5
    assert "tools" not in upstream.requests[4].json
    assert stream.text == "It stays empty."


async def test_a_promise_without_a_call_is_nudged_twice_and_then_told(server: Server, upstream: Upstream) -> None:
    for _ in range(3):
        upstream.reply(answer("One moment, I will open the file now."))
    stream = await agent(server, await server.session())
    told = stream.one("intent_nudge_exhausted")
    assert (told["nudges"], told["round"]) == (2, 3)
    assert "open the file" in told["matched"]
    assert len(upstream.requests) == 3
    assert stream.record["status"] == "completed"


async def test_a_promise_that_is_kept_after_a_nudge_goes_on(server: Server, upstream: Upstream) -> None:
    upstream.reply(answer("I will list the folder.")).reply(calls(LS)).reply(answer("It is empty."))
    stream = await agent(server, await server.session())
    assert "intent_nudge_exhausted" not in stream.kinds
    assert len(rows(stream)) == 1


async def test_a_chat_is_never_nudged(server: Server, upstream: Upstream) -> None:
    upstream.reply(answer("One moment, I will open the file now."))
    await (await server.send(await server.session(), "hi")).rest()
    assert len(upstream.requests) == 1


async def test_finish_tool_calls_without_a_call_is_an_answer(server: Server, upstream: Upstream) -> None:
    upstream.reply([*answer("All done.")[:-3], *calls()[1:]])
    stream = await agent(server, await server.session())
    assert stream.text == "All done."
    assert len(upstream.requests) == 1


async def test_the_model_is_offered_what_the_message_allows(server: Server, upstream: Upstream) -> None:
    async def offered(**fields: Any) -> set[str]:
        await agent(server, await server.session(), **fields)
        return {tool["function"]["name"] for tool in upstream.requests[-1].json["tools"]}

    everything = await offered()
    assert everything >= {"bash", "read_file", "write_file", "manage_memory", "ask_user", "calculate"}
    assert everything - await offered(allow_bash=False) == {"bash", "python"}
    planning = await offered(plan_mode=True)
    assert planning >= {"read_file", "grep", "update_plan", "ask_user"}
    assert not planning & {"bash", "python", "write_file", "edit_file", "apply_patch", "manage_memory"}
    hidden = await offered(incognito=True)
    assert not hidden & {"manage_memory", "create_document", "edit_document", "read_document"}


async def test_a_denied_tool_is_neither_offered_nor_run(upstream: Upstream, tmp_path: Any) -> None:
    async with serving(upstream_config(upstream.base_url, tools={"ls": "deny"}), tmp_path) as server:
        upstream.reply(calls(LS)).reply(answer("ok"))
        stream = await agent(server, await server.session())
        assert "ls" not in {tool["function"]["name"] for tool in upstream.requests[0].json["tools"]}
        assert rows(stream)[0]["exit_code"] == 1
        assert "denied by the settings" in rows(stream)[0]["output"]


async def test_an_approved_plan_is_pinned_in_the_prompt(server: Server, upstream: Upstream) -> None:
    upstream.reply(answer("ok"))
    await agent(server, await server.session(), approved_plan="- [ ] paint it blue")
    assert "- [ ] paint it blue" in upstream.requests[0].json["messages"][0]["content"]


async def test_a_later_round_is_asked_again_after_a_busy_endpoint(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(LS))
    upstream.reply(b"busy", status=429, headers={"Retry-After": "0"})
    upstream.reply(answer("Empty."))
    stream = await agent(server, await server.session())
    assert stream.one("retry")["attempt"] == 1
    assert stream.text == "Empty."


async def test_the_candidate_that_answered_stays_for_the_run(upstream: Upstream, tmp_path: Any) -> None:
    toml = "\n".join(
        [
            '[chat]\nendpoint = "one"\nmodel = "m"\n[[endpoints]]\nid = "one"\nkind = "openai"',
            f'base_url = "{upstream.base_url}"\nfallback = ["two/n"]',
            f'[[endpoints]]\nid = "two"\nkind = "openai"\nbase_url = "{upstream.base_url}"\n',
        ]
    )
    async with serving(config_of(toml), tmp_path) as server:
        upstream.reply(b"down", status=503).reply(calls(LS)).reply(b"down", status=503, headers={"Retry-After": "0"})
        upstream.reply(answer("Empty."))
        stream = await agent(server, await server.session())
        assert [request.json["model"] for request in upstream.requests] == ["m", "n", "n", "n"]
        assert stream.kinds.count("fallback") == 1
        assert stream.text == "Empty."


async def test_an_answer_that_the_provider_pauses_is_gone_on_with(upstream: Upstream, tmp_path: Any) -> None:
    config = config_of(
        '[chat]\nendpoint = "a"\nmodel = "m"\n[[endpoints]]\nid = "a"\nkind = "anthropic"\n'
        f'base_url = "{upstream.base_url}"\n'
    )

    def told(text: str, reason: str) -> list[bytes]:
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
        return [b"event: %b\n" % str(event["type"]).encode() + frame(event) for event in events]

    async with serving(config, tmp_path) as server:
        upstream.reply(told("First part.", "pause_turn")).reply(told("Second part.", "end_turn"))
        stream = await agent(server, await server.session())
        assert stream.text == "First part.\n\nSecond part."
        assert upstream.requests[1].json["messages"][-1]["role"] == "assistant"


@pytest.mark.parametrize("name", ["läs fil!", "x" * 500, "a.b/c", "<tool>", "🚲"])
async def test_a_name_that_the_model_made_up_does_not_end_the_chat(
    server: Server, upstream: Upstream, name: str
) -> None:
    upstream.reply(calls((name, {}))).reply(answer("I see."))
    await agent(server, await server.session())
    sent = prompt(upstream, 1)[1]["tool_calls"][0]["function"]["name"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sent)


async def test_a_request_of_megabytes_arrives_whole(upstream: Upstream, tmp_path: Any) -> None:
    async with serving(upstream_config(upstream.base_url, window=10_000_000), tmp_path) as server:
        session = await server.session()
        for _ in range(40):
            upstream.reply(answer("word " * 10_000, pieces=1))
            await (await server.send(session, "text " * 9_000)).rest()
        sent = upstream.requests[-1]
        assert int(sent.headers["Content-Length"]) > 2_000_000
        assert len(sent.json["messages"]) == 80
