"""Calls of one round: those that read run at the same time, one that writes runs alone, and long ones tell of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from playing import agent, prompt, rows, workspace
from serving import Server, Stream, serving, upstream_config
from sites import Site, serve_site
from upstream import Upstream, answer, calls

PAGES = ("first", "second")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A small web."""
    async with serve_site() as running:
        yield running


@pytest.fixture
async def server(upstream: Upstream, tmp_path: Path, site: Site) -> AsyncIterator[Server]:
    """The application, which may fetch from the site and write files without asking."""
    settings: dict[str, dict[str, Any]] = {
        "web": {"allow_hosts": [site.exempt], "fetch_seconds": 8.0},
        "tools": {"write_file": "allow", "bash": "allow"},
        "agent": {"ask_after_outside": False},
    }
    async with serving(upstream_config(upstream.base_url, **settings), tmp_path / "data") as running:
        yield running


def after(site: Site, path: str, ready: asyncio.Event, arrived: asyncio.Event) -> str:
    """A page that answers once `ready` is set; `arrived` says that somebody has asked for it."""

    async def play(_: web.Request) -> web.StreamResponse:
        arrived.set()
        await ready.wait()
        return web.Response(text=f"<p>This is the {path} page, which has a few words.</p>", content_type="text/html")

    return site.play(f"/{path}", play)


def fetch(url: str) -> tuple[str, dict[str, str]]:
    return "web_fetch", {"url": url}


def order(stream: Stream) -> list[tuple[str, str]]:
    """The starts and ends of rows in order, by the call's id."""
    kinds = {"tool_start": "start", "tool_output": "end"}
    return [(kinds[frame.kind], frame.data["call_id"]) for frame in stream.frames if frame.kind in kinds]


async def test_two_pages_are_fetched_at_the_same_time(server: Server, upstream: Upstream, site: Site) -> None:
    """Each page waits for the other one's request."""
    here = {path: asyncio.Event() for path in PAGES}
    urls = [after(site, path, here[other], here[path]) for path, other in zip(PAGES, reversed(PAGES), strict=True)]
    upstream.reply(calls(*map(fetch, urls))).reply(answer("Both."))
    stream = await agent(server, await server.session())
    assert [row["exit_code"] for row in rows(stream)] == [0, 0]
    assert order(stream)[:2] == [("start", "call_0"), ("start", "call_1")]


async def test_rows_are_paired_by_id_and_results_go_back_in_the_calls_order(
    server: Server, upstream: Upstream, site: Site
) -> None:
    now, later, arrived = asyncio.Event(), asyncio.Event(), asyncio.Event()
    now.set()
    slow, fast = after(site, "first", later, arrived), after(site, "second", now, arrived)
    upstream.reply(calls(fetch(slow), fetch(fast), fetch(f"{site.origin}/none"))).reply(answer("All."))
    session = await server.session()
    stream = await (await server.send(session, "go", mode="agent")).until(lambda stream: len(rows(stream)) == 2)
    assert {row["call_id"] for row in rows(stream)} == {"call_1", "call_2"}
    later.set()
    await stream.rest()
    told = {row["call_id"]: (row["full_command"], row["command"]) for row in rows(stream, "tool_start")}
    assert told == {"call_0": (slow, slow), "call_1": (fast, fast), "call_2": (f"{site.origin}/none",) * 2}
    ended = {row["call_id"]: (row["command"], row["exit_code"]) for row in rows(stream)}
    assert ended == {"call_0": (slow, 0), "call_1": (fast, 0), "call_2": (f"{site.origin}/none", 1)}
    assert rows(stream)[-1]["call_id"] == "call_0"
    results = prompt(upstream, 1)[2:]
    assert [result["tool_call_id"] for result in results] == ["call_0", "call_1", "call_2"]
    assert ["first page" in results[0]["content"], "second page" in results[1]["content"]] == [True, True]
    kept = (await server.history(session))[1]["metadata"]["tool_events"]
    assert [(row["call_id"], row["exit_code"]) for row in kept] == [("call_0", 0), ("call_1", 0), ("call_2", 1)]


async def test_a_call_that_writes_waits_for_the_reads_before_it_and_runs_alone(
    server: Server, upstream: Upstream, site: Site
) -> None:
    ready, arrived = asyncio.Event(), asyncio.Event()
    held = fetch(after(site, "first", ready, arrived))
    write = ("write_file", {"path": "note.txt", "content": "new\n"})
    look = ("read_file", {"path": "note.txt"})
    upstream.reply(calls(held, look, write, look, held)).reply(answer("Done."))
    session = await server.session()
    stream = await (await server.send(session, "go", mode="agent")).until(lambda stream: len(rows(stream)) == 1)
    await arrived.wait()
    assert order(stream) == [("start", "call_0"), ("start", "call_1"), ("end", "call_1")]
    assert not (workspace(server, session) / "note.txt").exists()
    ready.set()
    await stream.rest()
    assert order(stream)[3:7] == [("end", "call_0"), ("start", "call_2"), ("end", "call_2"), ("start", "call_3")]
    results = [message["content"] for message in prompt(upstream, 1) if message["role"] == "tool"]
    assert ["new" in results[1], "new" in results[3]] == [False, True]
    assert [row["exit_code"] for row in sorted(rows(stream), key=lambda row: str(row["call_id"]))] == [0, 1, 0, 0, 0]


async def test_two_calls_that_write_run_one_after_the_other(server: Server, upstream: Upstream) -> None:
    """Each fails when it finds the other one at work."""
    alone = "mkdir busy && echo in >> log && rmdir busy"
    upstream.reply(calls(("bash", {"command": alone}), ("bash", {"command": alone}))).reply(answer("Done."))
    session = await server.session()
    stream = await agent(server, session)
    assert order(stream) == [("start", "call_0"), ("end", "call_0"), ("start", "call_1"), ("end", "call_1")]
    assert [row["exit_code"] for row in rows(stream)] == [0, 0]
    assert (workspace(server, session) / "log").read_text() == "in\nin\n"


async def test_a_stop_ends_all_the_calls_that_run_side_by_side(server: Server, upstream: Upstream, site: Site) -> None:
    never, here = asyncio.Event(), {path: asyncio.Event() for path in PAGES}
    upstream.reply(calls(*(fetch(after(site, path, never, here[path])) for path in PAGES)))
    session = await server.session()
    stream = await (await server.send(session, "go", mode="agent")).until(lambda s: len(rows(s, "tool_start")) == 2)
    for arrived in here.values():
        await arrived.wait()
    assert await server.stop(session, stream.run_id)
    await stream.rest()
    assert sorted((row["call_id"], row["exit_code"]) for row in rows(stream)) == [("call_0", 130), ("call_1", 130)]
    assert stream.record["status"] == "stopped"


async def test_a_long_command_tells_of_itself_at_least_every_two_seconds(server: Server, upstream: Upstream) -> None:
    command = "echo begun; sleep 1.2; echo half; sleep 1.2; echo over"
    upstream.reply(calls(("bash", {"command": command}))).reply(answer("Done."))
    stream = await agent(server, await server.session())
    told = rows(stream, "tool_progress")
    (row,) = rows(stream)
    times = [0.0, *(frame["elapsed"] for frame in told), row["elapsed"]]
    assert row["elapsed"] >= 2.4
    assert max(later - sooner for sooner, later in pairwise(times)) <= 2.0
    assert {(frame["tool"], frame["call_id"], frame["round"]) for frame in told} == {("bash", "call_0", 1)}
    tails = [frame.get("tail", "").split() for frame in told]
    assert ["begun"] in tails
    assert tails[-1] == ["begun", "half"]
    assert all(frame["message"] for frame in told)
    kinds = [frame.kind for frame in stream.frames]
    assert kinds.index("tool_start") < kinds.index("tool_progress") < kinds.index("tool_output")
    assert "tool_progress" not in kinds[kinds.index("tool_output") :]
