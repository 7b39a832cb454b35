"""A server that is killed in the middle of an agent's work: its rows are kept, its programs end, the chat goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
from launching import launched
from leftovers import leftovers
from serving import GUARD, Stream
from upstream import Upstream, answer, calls


async def post(http: aiohttp.ClientSession, path: str, body: object = None) -> dict[str, str]:
    async with http.post(path, json=body or {}) as response:
        assert response.status == 200, await response.text()
        return dict(await response.json())


async def send(http: aiohttp.ClientSession, session: str, message: str) -> Stream:
    body = {"session": session, "message": message, "mode": "agent"}
    response = await http.post("/api/chat_stream", json=body)
    assert response.status == 200, await response.text()
    return Stream(response)


async def test_a_killed_server_keeps_the_rows_and_leaves_no_program(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        '[chat]\nendpoint = "up"\nmodel = "fake-model"\n[tools]\nbash = "allow"\n[agent]\nask_after_outside = false\n'
        f'[[endpoints]]\nid = "up"\nkind = "openai"\nbase_url = "{upstream.base_url}"\n',
        "utf-8",
    )
    args = ("--config", tmp_path / "c.toml", "--data", tmp_path / "data", "--port", "0")
    upstream.reply(calls(("bash", {"command": "echo first"}), text="Working."))
    upstream.reply(calls(("bash", {"command": "sleep 300"}), prefix="second"))
    async with launched(*args) as server, aiohttp.ClientSession(server.url) as http:
        session = (await post(http, "/api/session"))["id"]
        stream = await send(http, session, "work")
        await stream.until(lambda s: sum(frame.kind == "tool_progress" for frame in s.frames) >= 2)
        assert leftovers(tmp_path / "data")
        await server.kill()
        async with asyncio.timeout(GUARD):
            while leftovers(tmp_path / "data"):
                await asyncio.sleep(0.01)
    async with launched(*args) as server, aiohttp.ClientSession(server.url) as http:
        async with http.get(f"/api/history/{session}") as response:
            message = (await response.json())["history"][1]
        assert (message["content"], message["metadata"]["status"]) == ("Working.", "interrupted")
        ends = [(row["call_id"], row["exit_code"]) for row in message["metadata"]["tool_events"]]
        assert ends == [("call_0", 0), ("second_0", 130)]
        upstream.reply(answer("Going on."))
        assert (await (await send(http, session, "go on")).rest()).text == "Going on."
        said = upstream.requests[2].json["messages"]
        assert [message["role"] for message in said if message["role"] != "system"] == [
            "user", "assistant", "tool", "assistant", "tool", "user",
        ]  # fmt: skip
