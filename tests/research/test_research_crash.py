"""A research whose server is killed twice comes to the report of one that was left alone, and fetches no page twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import aiohttp
from launching import Launched, launched
from little_web import FACTS, QUESTION, LittleWeb, Researcher, settings

GUARD = 60.0
PAGES = "SELECT count(*) FROM research_steps WHERE key LIKE 'page %'"
PIECES = "SELECT count(*) FROM run_pieces"


@asynccontextmanager
async def life(folder: Path) -> AsyncIterator[tuple[Launched, aiohttp.ClientSession]]:
    """A server on the folder's data, with its `c.toml`."""
    args = ("--config", folder / "c.toml", "--data", folder / "data", "--port", "0")
    async with launched(*args) as server, aiohttp.ClientSession(server.url) as http:
        yield server, http


async def get(http: aiohttp.ClientSession, path: str) -> Any:
    async with http.get(path) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def begin(http: aiohttp.ClientSession, **fields: Any) -> str:
    async with http.post("/api/research/start", json={"question": QUESTION, **fields}) as response:
        return str((await response.json())["id"])


async def report(http: aiohttp.ClientSession, job: str) -> str:
    """The report, once the job is done."""
    async with asyncio.timeout(GUARD), http.get(f"/api/research/stream/{job}") as stream:
        assert b'"status":"done","final":true' in (await stream.read()).splitlines()[-2]
    async with http.get(f"/api/research/report/{job}?fmt=md") as response:
        return await response.text()


def stored(folder: Path, sql: str) -> int:
    """A count from the database of a server that goes on."""
    with closing(sqlite3.connect(f"file:{folder}/data/odysseus.sqlite3?mode=ro", uri=True)) as db:
        return int(db.execute(sql).fetchone()[0])


async def came_to(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(GUARD):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_a_server_that_is_killed_twice_comes_to_the_same_report_and_fetches_no_page_twice(
    little: LittleWeb, researcher: Researcher, tmp_path: Path
) -> None:
    for name in ("calm", "killed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "c.toml").write_text(settings(little, researcher))
    async with life(tmp_path / "calm") as (_, http):
        calm = await report(http, await begin(http))
    asked, searched = researcher.kinds.copy(), list(little.searched)
    little.served.clear()
    little.searched.clear()
    researcher.kinds.clear()

    # While pages are fetched; the one under way never came.
    little.hang = {"/page/20"}
    async with life(tmp_path / "killed") as (server, http):
        job = await begin(http)
        await came_to(lambda: stored(tmp_path / "killed", PAGES) == 29)
        await server.kill()
    assert researcher.kinds["read a page"] == 0
    # While they are read.
    researcher.hold = lambda kind, prompt: FACTS[12] in prompt and kind == "read a page"
    async with life(tmp_path / "killed") as (server, http):
        await came_to(lambda: researcher.held > 0)
        (active,) = await get(http, "/api/research/active")
        assert active["id"] == job
        await server.kill()
    assert 0 < researcher.kinds["read a page"] < 45
    researcher.hold = lambda _kind, _prompt: False
    async with life(tmp_path / "killed") as (_, http):
        assert await report(http, job) == calm

    assert len(little.served) == 50
    assert set(little.served.values()) == {1}
    assert sorted(little.searched) == sorted(searched)
    again = researcher.kinds - asked
    assert again.total() <= 3, "more than what was under way was asked again"


async def test_a_chat_is_interrupted_and_its_research_goes_on(
    little: LittleWeb, researcher: Researcher, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(settings(little, researcher, pages=6))
    researcher.hold = lambda kind, _: kind == "write a report"
    async with life(tmp_path) as (server, http):
        async with http.post("/api/session", json={}) as response:
            session = (await response.json())["id"]
        body = {"session": session, "message": QUESTION, "use_research": True}
        async with http.post("/api/chat_stream", json=body) as stream:
            assert stream.status == 200
            await came_to(lambda: researcher.held > 0 and stored(tmp_path, PIECES) > 0)
            (active,) = await get(http, "/api/research/active")
            await server.kill()
    researcher.hold = lambda _kind, _prompt: False
    async with life(tmp_path) as (_, http):
        _, answer = (await get(http, f"/api/history/{session}"))["history"]
        assert answer["metadata"]["status"] == "interrupted"
        assert answer["metadata"]["research"] == {"id": active["id"]}
        assert "## Findings" in await report(http, active["id"])
