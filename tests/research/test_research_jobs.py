"""Research over the real socket: a job from start to report, its stream, its states, and what is refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from little_web import FACTS, INVENTED, QUESTION, LittleWeb, Researcher, settings
from serving import HandClock, Server, config_of, serving

from odysseus.runs.research import AT_ONCE, WAITS

LONG = 40.0


@pytest.fixture
async def place(little: LittleWeb, researcher: Researcher, tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(config_of(settings(little, researcher)), tmp_path / "data") as server:
        yield server


async def followed(server: Server, job: str) -> list[Any]:
    """The frames of a job's stream to the end."""
    stream = await server.stream("GET", f"/api/research/stream/{job}")
    await stream.rest(LONG)
    return [frame.data for frame in stream.frames]


async def researched(server: Server, **fields: Any) -> tuple[dict[str, Any], list[Any]]:
    job = await server.post("/api/research/start", {"question": QUESTION, **fields})
    return job, await followed(server, job["id"])


async def text(server: Server, path: str, status: int = 200) -> str:
    async with server.http.get(server.url + path) as response:
        assert response.status == status, await response.text()
        return await response.text()


async def test_the_report_has_the_planted_facts_with_their_sources_and_where_they_disagree(
    place: Server, little: LittleWeb
) -> None:
    job, frames = await researched(place)
    assert frames[-1] == {"status": "done", "final": True}
    assert len(little.served) == 50
    assert set(little.served.values()) == {1}
    report = await text(place, f"/api/research/report/{job['id']}?fmt=md")
    for number, fact in FACTS.items():
        cited = re.search(rf"^- {re.escape(fact[:-1])} \[(\d+)\]\.$", report, re.MULTILINE)
        assert cited, fact
        finding = re.search(rf"\*\*\[{cited[1]}\]\*\* .*\n\n> “(.+)”\n> — \[.*\]\(<(.+)>\)", report)
        assert finding
        assert (finding[1], finding[2]) == (fact, little.url(number))
    apart = report.partition("## Where the sources disagree")[2].partition("##")[0]
    assert all(fact in apart for fact in (FACTS[6], FACTS[11], FACTS[19], FACTS[44]))
    assert FACTS[3] not in apart
    assert INVENTED not in report


async def test_a_claim_without_a_source_is_marked_and_wrong_citations_go(place: Server) -> None:
    job, _ = await researched(place)
    report = await text(place, f"/api/research/report/{job['id']}?fmt=md")
    assert "The bridge is a beauty to behold. *(no source)*" in report
    assert "It carries 9000 cars a day [1]. *(no source)*" in report
    assert "It is old [2]." in report
    assert "999" not in report


async def test_the_report_as_a_page_stands_alone(place: Server) -> None:
    job, _ = await researched(place)
    async with place.http.get(f"{place.url}/api/research/report/{job['id']}") as response:
        assert response.content_type == "text/html"
        policy = response.headers["Content-Security-Policy"]
        html = await response.text()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<(script|img|link|iframe|object)\b|style=|@import|url\(|\son\w+=", html)
    assert '<mark class="unsourced">no source</mark>' in html
    targets = set(re.findall(r'href="#([\w-]+)"', html))
    assert targets
    assert targets <= set(re.findall(r'id="([\w-]+)"', html))


async def test_the_stream_tells_the_phases_in_order_and_to_a_late_reader_too(place: Server) -> None:
    job, frames = await researched(place)
    phases = list(dict.fromkeys(frame["phase"] for frame in frames[:-1]))
    assert phases == ["probing", "planning", "searching", "reading", "analyzing", "writing"]
    assert all(frame["status"] == "running" for frame in frames[:-1])
    assert frames[0]["research_id"] == job["id"]
    assert frames[0]["started_at"] == job["started_at"]
    assert [frame["round"] for frame in frames if frame.get("queries")][::2] == [1, 2]
    assert await followed(place, job["id"]) == frames


async def test_a_job_can_be_looked_at_listed_and_deleted(place: Server) -> None:
    job, _ = await researched(place)
    state = await place.get(f"/api/research/status/{job['id']}")
    assert state["status"] == "done"
    assert len(state["sources"]) == 50
    assert {finding["text"] for finding in state["findings"]} == set(FACTS.values())
    assert await place.get("/api/research/active") == []
    assert [one["id"] for one in await place.get("/api/research")] == [job["id"]]
    await place.call("DELETE", f"/api/research/{job['id']}")
    for path in ("status", "report", "stream"):
        await place.get(f"/api/research/{path}/{job['id']}", 404)
    assert await place.get("/api/research") == []


async def test_a_job_is_cancelled_in_the_middle(place: Server, researcher: Researcher) -> None:
    researcher.hold = lambda kind, _: kind == "read a page"
    job = await place.post("/api/research/start", {"question": QUESTION})
    await researcher.arrived(1)
    (active,) = await place.get("/api/research/active")
    assert (active["id"], active["status"]) == (job["id"], "running")
    await place.get(f"/api/research/report/{job['id']}", 409)
    assert await place.post(f"/api/research/cancel/{job['id']}") == {"cancelled": True}
    assert await place.post(f"/api/research/cancel/{job['id']}") == {"cancelled": False}
    await researcher.disconnected(1)
    assert (await followed(place, job["id"]))[-1] == {"status": "cancelled", "final": True}
    refused = await place.get(f"/api/research/report/{job['id']}", 409)
    assert "Start a new one" in refused["error"]


async def test_when_the_time_is_up_in_mid_round_the_report_is_written_from_what_was_read(
    little: LittleWeb, researcher: Researcher, tmp_path: Path
) -> None:
    clock = HandClock()
    researcher.hold = lambda kind, asked: kind == "read a page" and "page 6 on" in asked
    async with serving(config_of(settings(little, researcher)), tmp_path / "data", clock) as server:
        job = await server.post("/api/research/start", {"question": QUESTION})
        await researcher.arrived(30)  # behind the plan, the pages of the first round
        held = [number for number, one in enumerate(researcher.requests) if "page 6 on" in str(one.json)]
        clock.advance(20 * 60)
        await researcher.disconnected(held[0])
        assert (await followed(server, job["id"]))[-1] == {"status": "done", "final": True}
        state = await server.get(f"/api/research/status/{job['id']}")
        report = await text(server, f"/api/research/report/{job['id']}?fmt=md")
    assert len(state["sources"]) == 30
    found = {finding["text"] for finding in state["findings"]}
    assert found == {fact for number, fact in FACTS.items() if fact in report}
    assert FACTS[6] not in found
    assert found
    assert researcher.kinds["check a research"] == 0
    assert researcher.kinds["write a report"] == 1


async def test_when_the_time_is_up_before_a_page_came_the_job_says_so(
    little: LittleWeb, researcher: Researcher, tmp_path: Path
) -> None:
    clock = HandClock()
    config = config_of(settings(little, researcher, rounds=1, pages=1))
    async with serving(config, tmp_path / "data", clock) as server:
        little.hang = {f"/page/{number}" for number in range(50)}
        whole = set(little.hang)
        job = await server.post("/api/research/start", {"question": QUESTION})
        async with asyncio.timeout(LONG):
            while little.hang == whole:
                await asyncio.sleep(0)
        clock.advance(20 * 60)
        assert (await followed(server, job["id"]))[-1]["status"] == "error"
        state = await server.get(f"/api/research/status/{job['id']}")
    assert "The time for the research was up." in state["message"]


async def test_a_model_that_refuses_fails_the_job_in_words(place: Server, researcher: Researcher) -> None:
    researcher.reply_json({"error": {"message": "no key"}}, status=401)
    job, frames = await researched(place)
    assert frames[-1]["status"] == "error"
    assert frames[-2]["phase"] == "error"
    state = await place.get(f"/api/research/status/{job['id']}")
    assert (state["status"], state["message"]) == ("error", frames[-1]["error"])


async def test_a_search_that_is_not_set_up_fails_the_job_in_words(researcher: Researcher, tmp_path: Path) -> None:
    config = config_of(
        '[chat]\nendpoint = "up"\nmodel = "fake-model"\n[web]\nsearch = "searxng"\n'
        f'[[endpoints]]\nid = "up"\nkind = "openai"\nbase_url = "{researcher.base_url}"\n'
    )
    async with serving(config, tmp_path / "data") as server:
        _, frames = await researched(server)
    assert frames[-1]["status"] == "error"
    assert "needs the setting [web] searxng_url" in frames[-1]["error"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"question": "  "}, 400, "question"),
        ({}, 400, "question"),
        ({"question": QUESTION, "session": "none"}, 404, "session"),
        ({"question": QUESTION, "endpoint_id": "none"}, 400, "endpoint"),
    ],
)
async def test_what_cannot_be_researched_is_refused(place: Server, body: Any, status: int, words: str) -> None:
    assert words in (await place.post("/api/research/start", body, status))["error"].lower()
    assert await place.get("/api/research") == []


async def test_a_deleted_chat_takes_its_research_with_it(place: Server, researcher: Researcher) -> None:
    researcher.hold = lambda kind, _: kind == "read a page"
    session = await place.session()
    job = await place.post("/api/research/start", {"question": QUESTION, "session": session})
    await researcher.arrived(1)
    await place.call("DELETE", f"/api/session/{session}")
    await researcher.disconnected(1)
    await place.get(f"/api/research/status/{job['id']}", 404)
    assert await place.get("/api/research/active") == []


async def test_many_readers_get_the_same(place: Server, researcher: Researcher) -> None:
    job = await place.post("/api/research/start", {"question": QUESTION})
    seen = await asyncio.gather(*(followed(place, job["id"]) for _ in range(5)))
    assert all(frames == seen[0] for frames in seen)


async def test_more_jobs_than_work_at_once_wait_and_say_so(place: Server, researcher: Researcher) -> None:
    researcher.hold = lambda kind, _: kind == "plan"
    jobs = []
    for number in range(AT_ONCE + 2):
        jobs.append((await place.post("/api/research/start", {"question": f"{number} {QUESTION}"}))["id"])
        if number < AT_ONCE:
            await researcher.arrived(number)
    for waiting in jobs[AT_ONCE:]:
        stream = await place.stream("GET", f"/api/research/stream/{waiting}")
        await stream.until(lambda one: any(frame.data.get("message") == WAITS for frame in one.frames))
    await place.post(f"/api/research/cancel/{jobs[-1]}")
    researcher.hold = lambda _kind, _asked: False
    await place.post(f"/api/research/cancel/{jobs[0]}")
    assert (await followed(place, jobs[AT_ONCE]))[-1] == {"status": "done", "final": True}
    assert (await followed(place, jobs[-1]))[-1] == {"status": "cancelled", "final": True}
