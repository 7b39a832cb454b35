"""The agent stream over a real socket: its events, order, calls, sessions, problems and connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
from serving import GUARD, HandClock, Server, agent_config, config_of, serving
from ulid import ULID
from upstream import DONE, Hang, Pause, Upstream, answer, call_chunk, calls, chunk, finish, text_chunk, usage

Event = tuple[str, dict[str, Any]]


class Reader:
    """Reads named events."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.events: list[Event] = []
        self.comments: list[str] = []
        self._rest = b""

    async def until(self, kind: str) -> dict[str, Any]:
        """Read until an event of this kind."""
        async with asyncio.timeout(GUARD):
            while not any(found == kind for found, _ in self.events):
                assert await self._read(), f"the stream ended early: {self.events}"
        return next(data for found, data in self.events if found == kind)

    async def rest(self) -> list[Event]:
        """Read to the end."""
        async with asyncio.timeout(GUARD):
            while await self._read():
                pass
        return self.events

    async def _read(self) -> bool:
        data = await self.response.content.readany()
        *whole, self._rest = (self._rest + data).split(b"\n\n")
        for raw in whole:
            if raw.startswith(b":"):
                self.comments.append(raw.decode())
                continue
            first, second = raw.decode().split("\n")
            assert first.startswith("event: ")
            self.events.append((first[7:], json.loads(second[6:])))
        return bool(data)

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]

    @property
    def text(self) -> str:
        return "".join(data["delta"] for kind, data in self.events if kind == "message_delta")


@asynccontextmanager
async def streaming(server: Server, body: Any, agent: str = "support") -> AsyncIterator[Reader]:
    """An open stream."""
    async with server.http.post(f"{server.url}/agent/{agent}/chat/stream", json=body) as response:
        assert response.status == 200, await response.text()
        yield Reader(response)


async def ask(server: Server, message: str = "hello", **fields: Any) -> Reader:
    """A whole stream."""
    async with streaming(server, {"message": message, **fields}) as reader:
        await reader.rest()
        return reader


async def problem(server: Server, method: str, path: str, status: int, **kwargs: Any) -> dict[str, Any]:
    """A refused call as its problem."""
    async with server.http.request(method, server.url + path, **kwargs) as response:
        assert response.status == status, await response.text()
        assert response.content_type == "application/problem+json"
        body = await response.json(content_type=None)
    assert (body["status"], body["instance"]) == (status, path)
    assert body["type"].startswith("https://holodeck.dev/errors/")
    return dict(body)


async def test_an_answer_without_tools(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.reply(answer("Our return policy."))
        async with streaming(server, {"message": "Hello"}) as reader:
            await reader.rest()
            headers = reader.response.headers
        assert set(reader.kinds[1:-1]) == {"message_delta"}
        start, end = reader.events[0], reader.events[-1]
        assert (start[0], end[0]) == ("stream_start", "stream_end")
        assert headers["X-Session-Id"] == start[1]["session_id"]
        assert headers["Content-Type"] == "text/event-stream"
        assert headers["Cache-Control"] == "no-cache"
        for text in (start[1]["session_id"], start[1]["message_id"]):
            assert str(ULID.from_str(text)) == text
        assert {data["message_id"] for kind, data in reader.events} == {start[1]["message_id"]}
        assert reader.text == "Our return policy."
        assert end[1]["tokens_used"] == {"prompt_tokens": 12, "completion_tokens": 4, "total_tokens": 16}
        assert isinstance(end[1]["execution_time_ms"], int)


async def test_calls_are_streamed_as_the_provider_sends_them(upstream: Upstream, tmp_path: Path) -> None:
    more = asyncio.Event()
    async with serving(agent_config(upstream, tools=["calculate"]), tmp_path) as server:
        head = {"index": 0, "id": "tc_1", "type": "function"}
        upstream.reply(
            chunk({"tool_calls": [{**head, "function": {"name": "calculate", "arguments": '{"expres'}}]}),
            Pause(more),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'sion": "6*7"}'}}]}),
            finish("tool_calls"),
            usage(),
            DONE,
        )
        upstream.reply(answer("42"))
        async with streaming(server, {"message": "6*7"}) as reader:
            begun = await reader.until("tool_call_args")
            assert begun == {"tool_call_id": "tc_1", "args_delta": '{"expres'}
            more.set()
            await reader.rest()
        assert reader.kinds[:5] == [
            "stream_start", "tool_call_start", "tool_call_args", "tool_call_args", "tool_call_end",
        ]  # fmt: skip
        assert reader.events[1][1]["name"] == "calculate"
        assert reader.events[4][1] == {"tool_call_id": "tc_1", "status": "success"}
        assert json.loads("".join(d["args_delta"] for k, d in reader.events if k == "tool_call_args"))
        assert reader.text == "42"


async def test_a_call_that_fails_or_would_ask_ends_with_error(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream, tools=["calculate", "bash"]), tmp_path) as server:
        upstream.reply(calls(("calculate", {"expression": "1/0"}), ("bash", {"command": "touch x"}), ("nothing", {})))
        upstream.reply(answer("Sorry."))
        reader = await ask(server)
        ends = [data["status"] for kind, data in reader.events if kind == "tool_call_end"]
        assert ends == ["error", "error", "error"]
        told = [m["content"] for m in upstream.requests[1].json["messages"] if m["role"] == "tool"]
        assert "person's approval" in told[1]
        assert reader.text == "Sorry."


async def test_an_allowed_tool_acts_whatever_was_read(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream, tools=["bash", "read_file"], allow=["bash"]), tmp_path) as server:
        upstream.reply(calls(("bash", {"command": "echo hi > a.txt; cat a.txt"})))
        upstream.reply(calls(("read_file", {"path": "a.txt"})))
        upstream.reply(calls(("bash", {"command": "echo more"})))
        upstream.reply(answer("Done."))
        reader = await ask(server)
        assert [data["status"] for kind, data in reader.events if kind == "tool_call_end"] == ["success"] * 3
        offered = {tool["function"]["name"] for tool in upstream.requests[0].json["tools"]}
        assert offered == {"bash", "read_file"}


@pytest.mark.parametrize(
    ("steps", "kinds"),
    [
        ([chunk({"content": "half "}), Hang()], ["stream_start", "message_delta"]),
        ([Hang()], ["stream_start"]),
        ([call_chunk("calculate", '{"a'), Hang()], ["stream_start", "tool_call_start", "tool_call_args"]),
    ],
)
async def test_a_client_that_leaves_stops_the_run(
    upstream: Upstream, tmp_path: Path, steps: Any, kinds: list[str]
) -> None:
    async with serving(agent_config(upstream, tools=["calculate"]), tmp_path) as server:
        upstream.reply(*steps)
        async with streaming(server, {"message": "x"}) as reader:
            await reader.until(kinds[-1])
            await upstream.arrived()
            reader.response.close()
        await upstream.disconnected()
        async with asyncio.timeout(GUARD):
            while (
                not (rows := await server.services.db.read("SELECT status, stop_reason FROM runs"))
                or rows[0][1] is None
            ):
                await asyncio.sleep(0.005)
        assert tuple(rows[0]) == ("stopped", "client_disconnected")


async def test_an_error_before_text_and_after_it(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.reply_json({"error": {"message": "bad key"}}, status=401)
        reader = await ask(server)
        assert reader.kinds == ["stream_start", "error"]
        assert reader.events[1][1] == {
            "type": "https://holodeck.dev/errors/agent-error",
            "title": "Agent Error",
            "status": 401,
            "detail": reader.events[1][1]["detail"],
        }
        upstream.reply(text_chunk("half"))
        reader = await ask(server)
        assert reader.kinds == ["stream_start", "message_delta", "error"]


async def test_an_open_call_is_ended_when_the_stream_fails(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream, tools=["calculate"]), tmp_path) as server:
        upstream.reply(call_chunk("calculate", '{"expr'))
        reader = await ask(server)
        assert reader.kinds == ["stream_start", "tool_call_start", "tool_call_args", "tool_call_end", "error"]
        assert reader.events[3][1]["status"] == "error"


async def test_a_silent_model_is_bridged_by_comments(upstream: Upstream, tmp_path: Path) -> None:
    more = asyncio.Event()
    async with serving(agent_config(upstream, keepalive=0.05), tmp_path) as server:
        upstream.reply(Pause(more), answer("Late."))
        async with streaming(server, {"message": "x"}) as reader:
            async with asyncio.timeout(GUARD):
                while len(reader.comments) < 2:
                    await reader._read()
            more.set()
            await reader.rest()
        assert set(reader.comments) == {": keepalive"}
        assert reader.text == "Late."


async def test_a_session_keeps_its_history_and_outlives_a_restart(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.reply(answer("Hi Ann."))
        first = await ask(server, "I am Ann.")
        session = first.events[0][1]["session_id"]
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.reply(answer("Ann."))
        second = await ask(server, "Who am I?", session_id=session.lower())
        assert second.events[0][1]["session_id"] == session
        said = [message["content"] for message in upstream.requests[1].json["messages"] if message["role"] != "system"]
        assert said == ["I am Ann.", "Hi Ann.", "Who am I?"]
        assert await server.get("/api/sessions") == []


async def test_unknown_and_expired_sessions_are_new_ones(upstream: Upstream, tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(agent_config(upstream), tmp_path, clock) as server:
        unknown = str(ULID())
        first = await ask(server, session_id=unknown)
        session = first.events[0][1]["session_id"]
        assert session != unknown
        clock.advance(29 * 60)
        assert (await ask(server, session_id=session)).events[0][1]["session_id"] == session
        clock.advance(29 * 60)
        assert (await ask(server, session_id=session)).events[0][1]["session_id"] == session
        clock.advance(30 * 60)
        assert (await ask(server, session_id=session)).events[0][1]["session_id"] != session


async def test_two_requests_in_one_session_go_one_after_the_other(upstream: Upstream, tmp_path: Path) -> None:
    more = asyncio.Event()
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.reply(answer("zero"))
        session = (await ask(server)).events[0][1]["session_id"]
        upstream.reply(text_chunk("first"), Pause(more), finish(), DONE).reply(answer("second"))
        async with streaming(server, {"message": "1", "session_id": session}) as one:
            await one.until("message_delta")
            async with streaming(server, {"message": "2", "session_id": session}) as two:
                await two.until("stream_start")
                assert len(upstream.requests) == 2
                more.set()
                await two.rest()
            await one.rest()
        assert (one.text, two.text) == ("first", "second")
        said = [message["content"] for message in upstream.requests[2].json["messages"] if message["role"] != "system"]
        assert said == ["hello", "zero", "1", "first", "2"]


async def test_sessions_are_capped(upstream: Upstream, tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(agent_config(upstream, max_sessions=2), tmp_path, clock) as server:
        session = (await ask(server)).events[0][1]["session_id"]
        await ask(server)
        refused = await problem(server, "POST", "/agent/support/chat/stream", 429, json={"message": "x"})
        assert refused["type"].endswith("/too-many-sessions")
        await ask(server, session_id=session)
        async with server.http.delete(f"{server.url}/sessions/{session}") as response:
            assert response.status == 204
        await ask(server)
        clock.advance(1801)
        await ask(server)


async def test_a_hundred_sessions_at_once_keep_apart(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.default = type(upstream.default)(answer("same for all"))
        readers = await asyncio.gather(*(ask(server, f"number {number}") for number in range(100)))
        assert len({reader.events[0][1]["session_id"] for reader in readers}) == 100
        assert {reader.text for reader in readers} == {"same for all"}
        asked = [request.json["messages"] for request in upstream.requests]
        assert sorted(len([m for m in messages if m["role"] == "user"]) for messages in asked) == [1] * 100


async def test_an_ended_session_is_gone_and_its_run_stopped(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.reply(text_chunk("half"), Hang())
        async with streaming(server, {"message": "x"}) as reader:
            session = (await reader.until("message_delta"))["message_id"]
            session = reader.events[0][1]["session_id"]
            for _ in range(2):
                async with server.http.delete(f"{server.url}/sessions/{session}") as response:
                    assert response.status == 204
            await reader.rest()
        assert reader.kinds[-1] == "error"
        await upstream.disconnected()
        assert await server.services.db.read("SELECT * FROM sessions") == []
        await problem(server, "DELETE", "/sessions/not-a-ulid", 400)


async def test_a_shutdown_ends_open_and_waiting_streams_with_503(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        session = (await ask(server)).events[0][1]["session_id"]
        upstream.reply(text_chunk("half"), Hang())
        async with streaming(server, {"message": "1", "session_id": session}) as going:
            await going.until("message_delta")
            async with streaming(server, {"message": "2", "session_id": session}) as waiting:
                await waiting.until("stream_start")
                await server.services.runs.close()
                await asyncio.gather(going.rest(), waiting.rest())
        assert [reader.events[-1][1]["status"] for reader in (going, waiting)] == [503, 503]
        assert [reader.kinds[-1] for reader in (going, waiting)] == ["error", "error"]


async def test_the_whole_answer_at_once(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream, tools=["calculate"]), tmp_path) as server:
        upstream.reply(calls(("calculate", {"expression": "6*7"}), ("calculate", {"expression": "1/0"})))
        upstream.reply(answer("It is 42."))
        body = await server.post("/agent/support/chat", {"message": "6*7?"})
        assert body["content"] == "It is 42."
        assert body["tool_calls"] == [
            {"name": "calculate", "arguments": {"expression": "6*7"}, "status": "success"},
            {"name": "calculate", "arguments": {"expression": "1/0"}, "status": "error"},
        ]
        assert set(body) == {
            "message_id", "content", "session_id", "tool_calls", "tokens_used", "execution_time_ms",
        }  # fmt: skip
        upstream.reply_json({"error": {"message": "secret sk-12345678"}}, status=500)
        upstream.reply_json({"error": {"message": "secret sk-12345678"}}, status=400)
        failed = await problem(server, "POST", "/agent/support/chat", 500, json={"message": "x"})
        assert failed["type"].endswith("/agent-error")


async def test_reasoning_is_told_only_when_it_is_asked_for(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        thinking = [chunk({"reasoning_content": "hm"}), *answer("ok")]
        upstream.reply(thinking).reply(thinking)
        assert "reasoning_delta" not in (await ask(server)).kinds
        assert "reasoning_delta" in (await ask(server, include_reasoning=True)).kinds


@pytest.mark.parametrize(
    ("body", "status", "slug", "field"),
    [
        ({}, 400, "invalid-request", "message"),
        ({"message": ""}, 400, "invalid-request", "message"),
        ({"message": "  "}, 400, "invalid-request", "message"),
        ({"message": 3}, 400, "invalid-request", "message"),
        ({"message": "x" * 10_001}, 400, "invalid-request", "message"),
        ({"message": "x", "session_id": "abc"}, 400, "invalid-request", "session_id"),
        ({"message": "x", "files": "none"}, 400, "invalid-request", "files"),
        (
            {"message": "x", "files": [{"content": "%", "mime_type": "text/plain"}]},
            400,
            "invalid-request",
            "files[0].content",
        ),
        ({"message": "x", "files": [{"content": "", "mime_type": "a/b"}]}, 415, "unsupported-media-type", None),
        (
            {"message": "x", "files": [{"content": "eA==", "mime_type": "text/plain"}] * 11},
            400,
            "invalid-request",
            "files",
        ),
        ([], 400, "invalid-request", None),
    ],
)
async def test_what_is_wrong_is_named_before_the_stream(  # noqa: PLR0917 - the parameters of a table
    upstream: Upstream, tmp_path: Path, body: Any, status: int, slug: str, field: str | None
) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        told = await problem(server, "POST", "/agent/support/chat/stream", status, json=body)
        assert told["type"].endswith(f"/{slug}")
        assert [error["field"] for error in told.get("errors", [])] == ([field] if field else [])
        assert await server.services.db.read("SELECT * FROM sessions") == []


async def test_other_problems(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        unknown = await problem(server, "POST", "/agent/nobody/chat", 404, json={"message": "x"})
        assert unknown["type"].endswith("/agent-not-found")
        await problem(server, "POST", "/agent/support/chat", 415, data=b"x", headers={"Content-Type": "text/plain"})
        await problem(server, "GET", "/agent/support/chat", 405)
        await problem(
            server, "POST", "/agent/support/chat", 400, data=b"{", headers={"Content-Type": "application/json"}
        )
        await problem(server, "GET", "/agent/support/nothing", 404)
        foreign = {"Origin": "https://evil.example"}
        await problem(server, "POST", "/agent/support/chat", 403, json={"message": "x"}, headers=foreign)


async def test_health_and_readiness(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        await ask(server)
        for path in ("/health", "/health/agent", "/health/agent/support"):
            state = await server.get(path)
            assert (state["status"], state["agent_name"], state["agent_ready"]) == ("healthy", "support", True)
            assert state["active_sessions"] == 1
            assert state["uptime_seconds"] >= 0
        assert await server.get("/ready") == {"ready": True}
        await problem(server, "GET", "/health/agent/nobody", 404)


async def test_an_agent_whose_model_is_missing_is_not_ready(tmp_path: Path) -> None:
    async with serving(config_of("[agents.support]\n"), tmp_path) as server:
        assert (await server.get("/health", 503))["status"] == "unhealthy"
        assert await server.get("/ready", 503) == {"ready": False}
        told = await problem(server, "POST", "/agent/support/chat/stream", 503, json={"message": "x"})
        assert told["type"].endswith("/agent-not-ready")


async def test_pages_of_allowed_origins_may_call(upstream: Upstream, tmp_path: Path) -> None:
    friend, other = {"Origin": "https://friend.example"}, {"Origin": "https://other.example"}
    async with serving(agent_config(upstream, cors_origins=["https://friend.example"]), tmp_path) as server:
        url = f"{server.url}/agent/support/chat"
        asking = {**friend, "Access-Control-Request-Method": "POST", "Sec-Fetch-Site": "cross-site"}
        async with server.http.options(url, headers=asking) as response:
            assert response.status == 204
            assert response.headers["Access-Control-Allow-Origin"] == "https://friend.example"
            assert "Access-Control-Allow-Credentials" not in response.headers
        async with server.http.post(
            url, json={"message": "x"}, headers={**friend, "Sec-Fetch-Site": "cross-site"}
        ) as response:
            assert response.status == 200
            assert response.headers["Access-Control-Allow-Origin"] == "https://friend.example"
        async with server.http.post(url, json={"message": "x"}, headers=other) as response:
            assert response.status == 403
        async with server.http.post(f"{server.url}/api/session", json={}, headers=friend) as response:
            assert response.status == 403


async def read_with_httpx(url: str, message: str) -> list[Event]:
    """The loop of a client that was written from the public description of the events, with httpx."""
    seen: list[Event] = []
    event_type = ""
    async with (
        httpx.AsyncClient(timeout=60) as client,
        client.stream("POST", f"{url}/agent/support/chat/stream", json={"message": message}) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("event:"):
                event_type = line[7:].strip()
            elif line.startswith("data:"):
                seen.append((event_type, json.loads(line[5:])))
    return seen


async def test_a_client_written_from_the_description_understands_it(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream, tools=["calculate"]), tmp_path) as server:
        upstream.reply(calls(("calculate", {"expression": "6*7"}), text="Hm. ")).reply(answer("42, ünïcode 🚲"))
        seen = await read_with_httpx(server.url.replace("127.0.0.1", "localhost"), "6*7?")
        kinds = [kind for kind, _ in seen]
        assert (kinds[0], kinds[-1]) == ("stream_start", "stream_end")
        assert "".join(data["delta"] for kind, data in seen if kind == "message_delta") == "Hm. \n\n42, ünïcode 🚲"
