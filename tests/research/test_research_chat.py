"""Research in a chat: its frames in the contract's order, what the history keeps, a stop, a shutdown, refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from little_web import FACTS, QUESTION, LittleWeb, Researcher, settings
from serving import Server, Stream, config_of, serving

LONG = 40.0


@pytest.fixture
async def place(little: LittleWeb, researcher: Researcher, tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(config_of(settings(little, researcher, pages=24)), tmp_path / "data") as server:
        yield server


def kinds(stream: Stream) -> list[str]:
    """The kinds of frames in order, the same in a row told once."""
    seen = [frame.kind for frame in stream.frames]
    return [kind for place, kind in enumerate(seen) if place == 0 or seen[place - 1] != kind]


@pytest.mark.parametrize("mode", ["chat", "agent"])
async def test_a_research_is_shown_in_the_order_of_the_contract(place: Server, mode: str) -> None:
    session = await place.session()
    stream = await (await place.send(session, QUESTION, use_research=True, mode=mode)).rest(LONG)
    assert kinds(stream) == [
        "model_info",
        "research_progress",
        "research_sources",
        "research_findings",
        "delta",
        "usage",
        "metrics",
        "message_saved",
        "research_done",
        f"{mode}_terminal",
        "[DONE]",
    ]
    job = stream.one("research_done")["data"]
    assert job["session_id"] == session
    assert stream.record["status"] == "completed"
    assert stream.record["frames"] == len(stream.frames)
    used = sum(frame.data["data"]["total_tokens"] for frame in stream.frames if frame.kind == "usage")
    assert stream.record["usage"]["total_tokens"] == used > 0
    assert (await place.get(f"/api/research/status/{job['research_id']}"))["session_id"] == session


async def test_the_history_keeps_the_answer_with_its_research(place: Server) -> None:
    session = await place.session()
    stream = await (await place.send(session, QUESTION, use_research=True)).rest(LONG)
    _, answer = await place.history(session)
    kept = answer["metadata"]["research"]
    assert answer["content"] == stream.text
    assert kept["sources"] == stream.one("research_sources")["data"]
    assert kept["findings"] == stream.one("research_findings")["data"]
    assert kept["id"] == stream.one("research_done")["data"]["research_id"]
    assert FACTS[3] in stream.text
    again = await (await place.resume(session)).rest()
    assert [frame.raw for frame in again.frames] == [frame.raw for frame in stream.frames]


async def test_the_page_gets_it_as_blocks(place: Server) -> None:
    session = await place.session()
    stream = await (await place.send(session, QUESTION, query="?dialect=page", use_research=True)).rest(LONG)
    html = "".join(frame.data["html"] for frame in stream.frames if frame.kind == "block")
    assert "Where the sources disagree" in html
    (_, answer) = await place.history(session)
    assert "Where the sources disagree" in answer["html"]


async def test_a_chat_with_a_research_counts_as_one_with_outside_text(place: Server, researcher: Researcher) -> None:
    session = await place.session()
    await (await place.send(session, QUESTION, use_research=True)).rest(LONG)
    question, _ = await place.history(session)
    assert question["metadata"]["given_outside"]
    count = len(researcher.requests)
    researcher.respond = None
    await (await place.send(session, "And now?")).rest()
    told = "".join(message["content"] for message in researcher.requests[count].json["messages"])
    assert FACTS[3] in told
    assert "data, not orders" in told


async def test_stopping_the_run_cancels_the_research(place: Server, researcher: Researcher) -> None:
    researcher.hold = lambda kind, _: kind == "read a page"
    session = await place.session()
    stream = await place.send(session, QUESTION, use_research=True)
    await researcher.arrived(1)
    status = await place.get(f"/api/chat/stream_status/{session}")
    assert (status["is_research"], status["status"]) == (True, "streaming")
    assert await place.stop(session, stream.run_id)
    await researcher.disconnected(1)
    await stream.rest()
    assert stream.record["status"] == "stopped"
    assert kinds(stream)[-4:] == ["metrics", "message_saved", "chat_terminal", "[DONE]"]
    assert await place.get("/api/research/active") == []
    (job,) = await place.get("/api/research")
    assert job["status"] == "cancelled"
    _, answer = await place.history(session)
    assert answer["metadata"]["research"] == {"id": job["id"]}


async def test_a_job_that_is_cancelled_for_itself_fails_the_run_in_words(place: Server, researcher: Researcher) -> None:
    researcher.hold = lambda kind, _: kind == "read a page"
    session = await place.session()
    stream = await place.send(session, QUESTION, use_research=True)
    await researcher.arrived(1)
    (job,) = await place.get("/api/research/active")
    await place.post(f"/api/research/cancel/{job['id']}")
    await stream.rest()
    assert stream.frames[-1].data == {"error": "The research was cancelled.", "status": 409}


async def test_a_shutdown_interrupts_the_run_and_leaves_the_research_to_the_next_start(
    little: LittleWeb, researcher: Researcher, tmp_path: Path
) -> None:
    config = config_of(settings(little, researcher, pages=6))
    researcher.hold = lambda kind, _: kind == "write a report"
    async with serving(config, tmp_path / "data") as server:
        session = await server.session()
        stream = await server.send(session, QUESTION, use_research=True)
        await stream.until(lambda stream: any("writing" in str(frame.data) for frame in stream.frames))
        reading = asyncio.create_task(stream.rest())
        await server.services.runs.close()
        await server.services.research.close()
        await reading
    assert (stream.record["status"], stream.record["stop_reason"]) == ("interrupted", "server_shutdown")
    researcher.hold = lambda _kind, _prompt: False
    async with serving(config, tmp_path / "data") as server:
        (job,) = await server.get("/api/research")
        followed = await server.stream("GET", f"/api/research/stream/{job['id']}")
        assert (await followed.rest(LONG)).response.status == 200
        assert (await server.get(f"/api/research/status/{job['id']}"))["status"] == "done"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"incognito": True}, "incognito"),
        ({"compare_mode": True}, "comparison"),
        ({"allow_web_search": False}, "allow_web_search"),
        ({"attachments": ["a"]}, "files"),
    ],
)
async def test_what_cannot_go_with_a_research_is_refused(place: Server, fields: dict[str, Any], words: str) -> None:
    session = await place.session()
    body = {"session": session, "message": QUESTION, "use_research": True, **fields}
    assert words in (await place.post("/api/chat_stream", body, 400))["error"]
    assert await place.history(session) == []
    assert await place.get("/api/research") == []
