"""Every state and reason of the terminal record, over real sockets (chat stream, sections 3, 6 and 7)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from serving import GUARD, HandClock, Server, serving, upstream_config
from upstream import DONE, Cut, Hang, Pause, Upstream, answer, finish, reasoning_chunk, text_chunk, usage

from odysseus.store.db import Connection


async def test_a_completed_run_closes_in_the_contracts_order(server: Server, upstream: Upstream) -> None:
    upstream.reply(answer("Hello there.", pieces=3))
    stream = await (await server.send(await server.session())).rest()
    assert stream.kinds == ["model_info", "delta", "usage", "metrics", "message_saved", "chat_terminal", "[DONE]"]
    assert stream.text == "Hello there."
    record = stream.record
    assert (record["status"], record["stop_reason"], record["finish_reason"]) == ("completed", None, "stop")
    assert record["partial"] is None
    assert record["failure"] is None
    assert record["frames"] == len(stream.frames)
    assert record["message_id"] == stream.one("message_saved")["id"]
    assert record["run_id"] == stream.run_id
    assert stream.one("metrics")["data"]["usage_source"] == "real"


async def test_the_history_has_what_the_stream_said(server: Server, upstream: Upstream) -> None:
    upstream.reply([reasoning_chunk("plan"), text_chunk("**bold** text"), finish(), usage(), DONE])
    session = await server.session()
    stream = await (await server.send(session, "  the question ")).rest()
    question, reply = await server.history(session)
    assert (question["role"], question["content"], question["id"]) == (
        "user",
        "the question",
        stream.record["user_message_id"],
    )
    assert (reply["role"], reply["content"], reply["id"]) == ("assistant", "**bold** text", stream.record["message_id"])
    assert "<strong>bold</strong>" in reply["html"]
    assert reply["metadata"]["thinking"] == "plan"
    shown = {key: value for key, value in stream.record.items() if key != "partial"}
    assert {key: reply["metadata"][key] for key in shown} == shown


async def test_a_stop_saves_the_partial_and_closes_the_upstream(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("first half"), Hang())
    session = await server.session()
    stream = await (await server.send(session)).until_text("first half")
    assert await server.stop(session, stream.run_id)
    await upstream.disconnected()
    await stream.rest()
    assert stream.kinds[-5:] == ["usage", "metrics", "message_saved", "chat_terminal", "[DONE]"]
    assert (stream.record["status"], stream.record["stop_reason"]) == ("stopped", "user_stop")
    assert stream.record["partial"] == "first half"
    reply = (await server.history(session))[1]
    assert reply["content"] == "first half"
    assert reply["metadata"]["stopped"] is True


@pytest.mark.parametrize("before", [[Hang()], []], ids=["waiting for headers", "waiting for the first token"])
async def test_a_stop_before_any_output_closes_the_upstream_too(
    server: Server, upstream: Upstream, before: list[Any]
) -> None:
    upstream.reply(Hang(), before=before)
    session = await server.session()
    stream = await server.send(session)
    await upstream.arrived()
    assert await server.stop(session, stream.run_id)
    await upstream.disconnected()
    await stream.rest()
    assert stream.record["status"] == "stopped"
    assert [message["role"] for message in await server.history(session)] == ["user", "assistant"]


async def test_a_reasoning_only_partial_is_kept(server: Server, upstream: Upstream) -> None:
    upstream.reply(reasoning_chunk("half a thought"), Hang())
    session = await server.session()
    stream = await (await server.send(session)).until(lambda s: any(f.data.get("thinking") for f in s.frames))
    assert await server.stop(session, stream.run_id)
    assert (await server.history(session))[1]["metadata"]["thinking"] == "half a thought"


@pytest.mark.parametrize(
    ("steps", "note"),
    [
        ([reasoning_chunk("The answer is 4."), finish(), DONE], "Only reasoning"),
        ([text_chunk("half a"), finish("length"), DONE], "longest length"),
        ([text_chunk("half a"), finish("content_filter"), DONE], "content filter"),
    ],
)
async def test_an_answer_that_is_not_one_is_noted(
    server: Server, upstream: Upstream, steps: list[bytes], note: str
) -> None:
    upstream.reply(steps)
    session = await server.session()
    stream = await (await server.send(session)).rest()
    assert stream.record["status"] == "completed"
    assert note in stream.record["note"]
    assert note in (await server.history(session))[1]["metadata"]["note"]


async def test_a_second_send_replaces_the_first_in_order(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("one"), Hang()).reply(answer("two"))
    session = await server.session()
    first = await (await server.send(session, "a")).until_text("one")
    second = await (await server.send(session, "b")).rest()
    await first.rest()
    assert (first.record["status"], first.record["stop_reason"]) == ("stopped", "replaced")
    assert second.record["status"] == "completed"
    said = [(message["role"], message["content"]) for message in await server.history(session)]
    assert said == [("user", "a"), ("assistant", "one"), ("user", "b"), ("assistant", "two")]
    prompt = [(message["role"], message["content"]) for message in upstream.requests[1].json["messages"][1:]]
    assert prompt == [("user", "a"), ("assistant", "one"), ("user", "b")]


async def test_many_sends_at_once_keep_the_order(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    streams = await asyncio.gather(*(server.send(session, f"m{number}") for number in range(8)))
    for stream in streams:
        await stream.rest()
    roles = [message["role"] for message in await server.history(session)]
    assert roles == ["user", "assistant"] * 8
    assert sum(stream.record["stop_reason"] == "replaced" for stream in streams) <= 7


async def test_a_failure_before_output_ends_with_the_terminal_and_the_error(server: Server, upstream: Upstream) -> None:
    upstream.reply(
        b'{"error": {"message": "quota exceeded"}}', status=402, headers={"Content-Type": "application/json"}
    )
    session = await server.session()
    stream = await (await server.send(session)).rest()
    assert stream.kinds == ["model_info", "chat_terminal", "error"]
    assert stream.one("error")["status"] == 402
    assert "quota exceeded" in stream.one("error")["error"]
    assert (stream.record["status"], stream.record["message_id"]) == ("failed", None)
    (question,) = await server.history(session)
    assert question["metadata"]["failure"]["status"] == 402
    assert question["metadata"]["status"] == "failed"


async def test_a_failure_after_output_keeps_the_partial(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("half "), Cut())
    session = await server.session()
    stream = await (await server.send(session)).rest()
    assert stream.kinds == ["model_info", "delta", "usage", "metrics", "message_saved", "chat_terminal", "error"]
    assert stream.one("error")["status"] == 502
    assert (stream.record["status"], stream.record["partial"]) == ("failed", "half ")
    assert (await server.history(session))[1]["content"] == "half "


async def test_the_wall_clock_ends_a_run(upstream: Upstream, tmp_path: Path) -> None:
    clock = HandClock()
    config = upstream_config(upstream.base_url, server={"max_wall_seconds": 100.0})
    async with serving(config, tmp_path, clock) as server:
        upstream.reply(text_chunk("slow"), Hang())
        stream = await (await server.send(await server.session())).until_text("slow")
        clock.advance(99)
        assert server.services.runs.count() == 1
        clock.advance(1)
        await stream.rest()
        await upstream.disconnected()
    assert stream.one("run_timeout")["wall_seconds"] == 100
    assert (stream.record["status"], stream.record["stop_reason"]) == ("timeout", "wall_clock_timeout")


async def test_silence_ends_a_run(upstream: Upstream, tmp_path: Path) -> None:
    clock = HandClock()
    more = asyncio.Event()
    async with serving(upstream_config(upstream.base_url), tmp_path, clock) as server:
        upstream.reply(text_chunk("one "), Pause(more), text_chunk("two"), Hang())
        session = await server.session()
        stream = await (await server.send(session)).until_text("one ")
        clock.advance(899)
        more.set()
        await stream.until_text("two")
        clock.advance(899)
        assert server.services.runs.count() == 1
        clock.advance(1)
        await stream.rest()
        await upstream.disconnected()
        assert stream.one("run_timeout")["reason"] == "idle_timeout"
        assert stream.kinds[-6:] == ["usage", "run_timeout", "metrics", "message_saved", "chat_terminal", "[DONE]"]
        assert (stream.record["status"], stream.record["stop_reason"]) == ("timeout", "idle_timeout")
        assert (await server.history(session))[1]["content"] == "one two"


async def test_a_compare_pane_stops_with_its_client(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("pane"), Hang())
    session = await server.session()
    stream = await (await server.send(session, compare_mode=True)).until_text("pane")
    assert "X-Odysseus-Run-Id" not in stream.response.headers
    assert await server.call("GET", f"/api/chat/resume/{session}", 404)
    assert await server.call("GET", f"/api/chat/stream_status/{session}", 404)
    stream.response.close()
    await upstream.disconnected()
    rows = await finished_runs(server, session)
    assert rows == [("stopped", "client_disconnected")]
    assert (await server.history(session))[1]["content"] == "pane"


async def test_a_client_that_leaves_does_not_stop_its_run(server: Server, upstream: Upstream) -> None:
    more = asyncio.Event()
    upstream.reply(text_chunk("one "), Pause(more), text_chunk("two"), finish(), DONE)
    session = await server.session()
    stream = await (await server.send(session)).until_text("one ")
    stream.response.close()
    more.set()
    assert await finished_runs(server, session) == [("completed", None)]
    assert (await server.history(session))[1]["content"] == "one two"


async def test_a_shutdown_ends_open_streams_with_503(upstream: Upstream, tmp_path: Path) -> None:
    upstream.reply(text_chunk("so far"), Hang())
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        session = await server.session()
        stream = await (await server.send(session)).until_text("so far")
        reading = asyncio.create_task(stream.rest())
        server.open.clear()
        closing = asyncio.create_task(server.services.runs.close())
        await reading
        await closing
        body = {"session": session, "message": "more"}
        assert (await server.post("/api/chat_stream", body, 503))["status"] == 503
    assert stream.kinds[-2:] == ["chat_terminal", "error"]
    assert stream.one("error")["status"] == 503
    assert (stream.record["status"], stream.record["stop_reason"]) == ("interrupted", "server_shutdown")
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        assert [message["content"] for message in await server.history(session)] == ["hello", "so far"]


async def test_a_deleted_session_leaves_nothing_behind(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("gone"), Hang())
    session = await server.session()
    stream = await (await server.send(session)).until_text("gone")
    assert await server.call("DELETE", f"/api/session/{session}") == {"status": "deleted"}
    await upstream.disconnected()
    await stream.rest()
    assert stream.record["message_id"] is None
    for table in ("messages", "runs", "run_pieces", "messages_index"):
        assert await server.services.db.read(f"SELECT * FROM {table}") == []
    await server.get(f"/api/history/{session}", 404)


async def test_incognito_writes_nothing_and_remembers_within_itself(server: Server, upstream: Upstream) -> None:
    upstream.reply(answer("I will.")).reply(answer("Blue."))
    session = await server.session()
    first = await (await server.send(session, "remember blue", incognito=True)).rest()
    await (await server.send(session, "which colour?", incognito=True)).rest()
    assert "message_saved" not in first.kinds
    assert first.record["record_id"] is None
    assert await server.history(session) == []
    assert await server.services.db.read("SELECT * FROM runs") == []
    prompt = [message["content"] for message in upstream.requests[1].json["messages"][1:]]
    assert prompt == ["remember blue", "I will.", "which colour?"]


async def test_a_full_disk_fails_the_run_and_loses_nothing_stored(server: Server, upstream: Upstream) -> None:
    more = asyncio.Event()
    upstream.reply(answer("kept")).reply(Pause(more), answer("x" * 400_000))
    session = await server.session()
    await (await server.send(session, "first")).rest()
    stream = await server.send(session, "second")
    await limit_pages(server)
    more.set()
    await stream.rest()
    assert stream.one("error")["status"] == 507
    assert "disk is full" in stream.one("error")["error"]
    assert stream.record["status"] == "failed"
    assert [message["content"] for message in await server.history(session)] == ["first", "kept", "second"]
    await limit_pages(server, 0x7FFFFFFE)
    await (await server.send(session, "third")).rest()
    assert (await server.history(session))[-2]["content"] == "third"


async def limit_pages(server: Server, extra: int = 2) -> None:
    """Let the database grow by so many pages and no more: SQLite then says that the disk is full."""
    used = (await server.services.db.read("PRAGMA page_count"))[0][0]

    def work(db: Connection) -> None:
        db.execute(f"PRAGMA max_page_count = {min(used + extra, 0x7FFFFFFE)}")

    await server.services.db.write(work)


async def finished_runs(server: Server, session: str) -> list[tuple[str, str | None]]:
    """Status and reason of the session's runs, once none goes on."""
    async with asyncio.timeout(GUARD):
        while True:
            rows = await server.services.db.read(
                "SELECT status, stop_reason FROM runs WHERE session_id = ?", (session,)
            )
            if rows and all(row[0] != "running" for row in rows):
                return [(row[0], row[1]) for row in rows]
            await asyncio.sleep(0)


@pytest.mark.parametrize("how", ["failed", "stopped"])
async def test_a_question_that_came_to_nothing_is_not_asked_again(server: Server, upstream: Upstream, how: str) -> None:
    session = await server.session()
    await (await server.send(session, "first")).rest()
    if how == "failed":
        upstream.reply(b'{"error": "too long"}', status=400, headers={"Content-Type": "application/json"})
        await (await server.send(session, "far too long")).rest()
    else:
        upstream.reply(Hang())
        stream = await server.send(session, "withdrawn")
        await upstream.arrived(1)
        await server.stop(session, stream.run_id)
    await (await server.send(session, "next")).rest()
    asked = [message["content"] for message in upstream.requests[-1].json["messages"][1:]]
    assert asked == ["first", "Hello from the upstream.", "next"]


async def test_a_word_for_the_end_that_nobody_knows_is_kept(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("ab"), finish("eos"), DONE)
    stream = await (await server.send(await server.session())).rest()
    assert (stream.record["finish_reason"], stream.record["finish_word"]) == (None, "eos")


async def test_a_stopped_answer_has_its_estimated_cost(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(upstream.base_url, **{'prices."fake-model"': {"input": 10.0, "output": 100.0}})
    async with serving(config, tmp_path) as server:
        upstream.reply(text_chunk("word " * 100), Hang())
        session = await server.session()
        stream = await (await server.send(session)).until_text("word")
        await server.stop(session, stream.run_id)
        usage = (await stream.rest()).record["usage"]
    assert usage["usage_source"] == "estimated"
    assert usage["cost"] > 0.01
