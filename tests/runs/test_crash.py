"""A killed server: what its clients were shown more than a second before is in the history after the next start."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
from launching import Launched, launched
from serving import Stream
from upstream import Hang, Paced, Upstream, reasoning_chunk, text_chunk

Use = Callable[[Launched, aiohttp.ClientSession], Awaitable[None]]


class Place:
    """A data folder and the settings of every server that is started on it."""

    def __init__(self, upstream: Upstream, folder: Path) -> None:
        self._folder = folder
        (folder / "c.toml").write_text(
            '[chat]\nendpoint = "up"\nmodel = "fake-model"\n'
            f'[[endpoints]]\nid = "up"\nkind = "openai"\nlabel = "Upstream"\nbase_url = "{upstream.base_url}"\n',
            "utf-8",
        )

    async def life(self, use: Use) -> None:
        """Start a server, use it, and kill it."""
        args = ("--config", self._folder / "c.toml", "--data", self._folder / "data", "--port", "0")
        async with launched(*args) as server, aiohttp.ClientSession(server.url) as http:
            await use(server, http)
            await server.kill()


async def post(http: aiohttp.ClientSession, path: str, body: Any = None) -> Any:
    async with http.post(path, json=body or {}) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def history(http: aiohttp.ClientSession, session: str) -> list[dict[str, Any]]:
    async with http.get(f"/api/history/{session}") as response:
        return list((await response.json())["history"])


async def send(http: aiohttp.ClientSession, session: str, message: str) -> Stream:
    response = await http.post("/api/chat_stream", json={"session": session, "message": message})
    assert response.status == 200
    return Stream(response)


def thinking_of(stream: Stream) -> str:
    """The reasoning so far."""
    return "".join(
        frame.data["delta"] for frame in stream.frames if frame.kind == "delta" and frame.data.get("thinking")
    )


async def watched(stream: Stream, seconds: float) -> list[tuple[float, str, str]]:
    """Read for so long; what had been seen at which time."""
    seen: list[tuple[float, str, str]] = []

    def note(stream: Stream) -> bool:
        seen.append((time.monotonic(), stream.text, thinking_of(stream)))
        return bool(stream.text) and seen[-1][0] - begun > seconds

    begun = time.monotonic()
    await stream.until(note)
    return seen


async def test_a_crash_costs_at_most_a_second_of_what_was_shown(upstream: Upstream, tmp_path: Path) -> None:
    place = Place(upstream, tmp_path)
    sessions: list[str] = []
    shown: dict[str, tuple[str, str]] = {}
    words = [reasoning_chunk(f"r{number} ") for number in range(20)] + [text_chunk(f"{n} ") for n in range(4000)]

    async def chat_and_crash(server: Launched, http: aiohttp.ClientSession) -> None:
        if not sessions:
            sessions.append((await post(http, "/api/session"))["id"])
        upstream.reply(Paced(words, 100.0))
        stream = await send(http, sessions[0], f"question {len(shown)}")
        seen = await watched(stream, 1.9)
        server.process.kill()
        killed = time.monotonic()
        text, thinking = max((text, thinking) for at, text, thinking in seen if at <= killed - 1.0)
        assert thinking.startswith("r0 r1 ")
        shown[stream.run_id] = (text, thinking)

    await place.life(chat_and_crash)
    await place.life(chat_and_crash)

    async def look(server: Launched, http: aiohttp.ClientSession) -> None:
        messages = await history(http, sessions[0])
        assert [message["role"] for message in messages] == ["user", "assistant"] * 2
        assert [message["content"] for message in messages[::2]] == ["question 0", "question 1"]
        for message, run_id in zip(messages[1::2], shown, strict=True):
            record = message["metadata"]
            text, thinking = shown[run_id]
            assert message["content"].startswith(text)
            assert record["thinking"].startswith(thinking)
            assert "".join(f"{number} " for number in range(4000)).startswith(message["content"])
            assert (record["status"], record["stop_reason"]) == ("interrupted", "server_restart")
            assert record["run_id"] == run_id
            assert record["message_id"] == message["id"]
            assert 0 < record["timing"]["total_time"] < 5.0
            assert record["usage"]["usage_source"] == "estimated"
            assert record["usage"]["output_tokens"] > 0
            assert record["frames"] is None
        async with http.get(f"/api/chat/resume/{sessions[0]}") as response:
            assert response.status == 404
        async with http.get("/api/sessions") as response:
            (listed,) = await response.json()
            assert (listed["running"], listed["message_count"]) == (False, 4)

    await place.life(look)
    assert any(text for text, _ in shown.values()), "no text was old enough: the test has seen nothing"


async def test_a_crash_before_the_first_word_marks_the_question(upstream: Upstream, tmp_path: Path) -> None:
    place = Place(upstream, tmp_path)
    sessions: list[str] = []

    async def ask_and_crash(server: Launched, http: aiohttp.ClientSession) -> None:
        sessions.append((await post(http, "/api/session"))["id"])
        upstream.reply(Hang())
        await send(http, sessions[0], "question")
        await upstream.arrived()

    async def look(server: Launched, http: aiohttp.ClientSession) -> None:
        (question,) = await history(http, sessions[0])
        assert question["content"] == "question"
        assert question["metadata"]["status"] == "interrupted"
        assert question["metadata"]["stop_reason"] == "server_restart"
        stream = await (await send(http, sessions[0], "again")).rest()
        assert stream.record["status"] == "completed"
        assert [message["role"] for message in await history(http, sessions[0])] == ["user", "user", "assistant"]

    await place.life(ask_and_crash)
    await place.life(look)
