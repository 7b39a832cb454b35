"""Searching the web: SearXNG and Brave are real servers on loopback; DuckDuckGo's library only fails here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from contexts import context
from sites import Site, serve_site

from odysseus.config import WebConfig
from odysseus.tools.base import ToolError
from odysseus.tools.web_search import SearchResult, search, search_tools

KEY = "brave-key-1234"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serve_site() as running:
        yield running


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)


def searxng(site: Site, *rows: dict[str, Any], **more: Any) -> WebConfig:
    """A SearXNG that gives these rows."""
    site.page("/search", json.dumps({"query": "q", "results": rows, **more}), "application/json")
    return WebConfig(searxng_url=site.origin, results=3)


def row(number: int, **over: Any) -> dict[str, Any]:
    return {"title": f"T{number}", "url": f"https://example.com/{number}", "content": f"S{number}", **over}


async def test_searxng_is_asked_for_json_and_nothing_else(site: Site) -> None:
    found = await search(searxng(site, row(1), row(2)), "two  words", "week")
    assert found == [
        SearchResult("T1", "https://example.com/1", "S1"),
        SearchResult("T2", "https://example.com/2", "S2"),
    ]
    (request,) = site.requests
    assert dict(request.query) == {"q": "two words", "format": "json", "time_range": "week"}
    assert set(request.headers) <= {"Host", "Accept", "Accept-Encoding", "User-Agent", "Connection"}


@pytest.mark.parametrize("path", ["", "/", "/search", "/search/"])
async def test_the_address_of_searxng_may_end_as_it_likes(site: Site, path: str) -> None:
    searxng(site, row(1))
    assert await search(WebConfig(searxng_url=site.origin + path), "q")
    assert dict(site.requests[0].query) == {"q": "q", "format": "json"}


async def test_searxng_may_live_under_a_path(site: Site) -> None:
    site.page("/sx/search", json.dumps({"results": [row(1)]}), "application/json")
    assert await search(WebConfig(searxng_url=site.origin + "/sx/"), "q")


async def test_results_are_deduplicated_web_addresses_within_the_limit(site: Site) -> None:
    config = searxng(
        site,
        row(1, url="javascript:alert(1)"),
        row(2, url="file:///etc/passwd"),
        row(3, url="https://example.com/a b"),
        row(4, url=None),
        row(5, url="https://example.com/" + "x" * 3000),
        row(6),
        row(7, url="https://example.com/6#part"),
        row(8, url="HTTP://example.com/8"),
        row(9),
        row(10),
    )
    found = await search(config, "q")
    assert [hit.url for hit in found] == ["https://example.com/6", "HTTP://example.com/8", "https://example.com/9"]


async def test_titles_and_snippets_are_plain_short_lines(site: Site) -> None:
    config = searxng(site, row(1, title="<b>A</b> &amp;\n3 < 4", content="x " * 2000), row(2, title=None, content=None))
    first, second = await search(config, "q")
    assert first.title == "A & 3 < 4"
    assert len(first.snippet) == 500
    assert second == SearchResult("https://example.com/2", "https://example.com/2", "")


@pytest.mark.parametrize("answer", [(403, "Forbidden"), (200, "<html>a page</html>"), (200, "[1]")])
async def test_a_searxng_without_json_says_what_to_set(site: Site, answer: tuple[int, str]) -> None:
    async def play(_: web.Request) -> web.StreamResponse:
        return web.Response(status=answer[0], text=answer[1])

    site.play("/search", play)
    with pytest.raises(ToolError, match=r"search\.formats"):
        await search(WebConfig(searxng_url=site.origin), "q")


@pytest.mark.parametrize(("status", "words"), [(429, "limiter"), (500, "status 500"), (404, "searxng_url")])
async def test_a_failure_of_searxng_is_told(site: Site, status: int, words: str) -> None:
    async def play(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text="SECRET")

    site.play("/search", play)
    with pytest.raises(ToolError, match=words) as caught:
        await search(WebConfig(searxng_url=site.origin), "q")
    assert "SECRET" not in caught.value.message
    assert site.origin not in caught.value.message


async def test_engines_that_did_not_answer_are_told(site: Site) -> None:
    with pytest.raises(ToolError, match="engines did not answer"):
        await search(searxng(site, unresponsive_engines=[["google", "timeout"]]), "q")


async def test_a_query_is_not_sent_on_to_another_host(site: Site) -> None:
    async with serve_site() as other:
        site.redirect("/search", other.page("/search", "{}"))
        with pytest.raises(ToolError, match="status 302"):
            await search(WebConfig(searxng_url=site.origin), "q")
        assert other.requests == []


@pytest.mark.parametrize("body", ['{"results": 5}', '{"results": [5, null]}', "{}", '{"results": [{}]}'])
async def test_odd_answers_are_no_results(site: Site, body: str) -> None:
    site.page("/search", body, "application/json")
    assert await search(WebConfig(searxng_url=site.origin), "q") == []


async def test_a_service_that_hangs_ends_at_the_time_limit(site: Site) -> None:
    async def hang(_: web.Request) -> web.StreamResponse:
        await asyncio.Future()
        raise AssertionError

    site.play("/search", hang)
    with pytest.raises(ToolError, match=r"within 0\.2 seconds"):
        await search(WebConfig(searxng_url=site.origin, fetch_seconds=0.2), "q")


async def test_a_service_that_is_away_is_told() -> None:
    async with serve_site() as gone:
        origin = gone.origin
    with pytest.raises(ToolError, match="cannot be reached"):
        await search(WebConfig(searxng_url=origin), "q")


# Brave.


def brave(site: Site, body: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    return site.page("/brave", json.dumps(body), "application/json")


async def test_brave_gets_the_key_in_its_header(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    hits = [{"title": "<strong>T</strong>", "url": "https://example.com/", "description": "a &quot;b&quot;"}]
    url = brave(site, {"web": {"results": hits}}, monkeypatch)
    found = await search(WebConfig(results=4), "q", "month", brave_url=url)
    assert found == [SearchResult("T", "https://example.com/", 'a "b"')]
    (request,) = site.requests
    assert dict(request.query) == {"q": "q", "count": "4", "freshness": "pm"}
    assert request.headers["X-Subscription-Token"] == KEY


@pytest.mark.parametrize(("time_range", "freshness"), [("day", "pd"), ("week", "pw"), ("month", "pm"), ("year", "py")])
async def test_brave_knows_times_by_its_own_words(
    site: Site, monkeypatch: pytest.MonkeyPatch, time_range: Any, freshness: str
) -> None:
    url = brave(site, {"web": {"results": []}}, monkeypatch)
    assert await search(WebConfig(), "q", time_range, brave_url=url) == []
    assert site.requests[0].query["freshness"] == freshness


@pytest.mark.parametrize("status", [401, 403, 422, 402, 429, 500])
async def test_a_failure_of_brave_never_shows_the_key(site: Site, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    async def play(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=f'{{"error": {{"code": "SUBSCRIPTION_TOKEN_INVALID {KEY}"}}}}')

    brave(site, {}, monkeypatch)
    with pytest.raises(ToolError, match="Brave") as caught:
        await search(WebConfig(), "q", brave_url=site.play("/brave", play))
    assert KEY not in caught.value.message
    assert "BRAVE_API_KEY" in caught.value.message


async def test_a_used_up_plan_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(_: web.Request) -> web.StreamResponse:
        return web.Response(status=429)

    brave(site, {}, monkeypatch)
    with pytest.raises(ToolError, match="too many searches"):
        await search(WebConfig(), "q", brave_url=site.play("/brave", play))


async def test_a_key_that_is_no_header_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "two\nlines")
    with pytest.raises(ToolError, match="BRAVE_API_KEY holds"):
        await search(WebConfig(), "q", brave_url="http://127.0.0.1:9/")


# Who is asked.


async def test_searxng_goes_before_brave(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    url = brave(site, {}, monkeypatch)
    await search(searxng(site, row(1)), "q", brave_url=url)
    assert [request.path for request in site.requests] == ["/search"]


async def test_a_chosen_service_without_its_setting_is_told() -> None:
    with pytest.raises(ToolError, match="searxng_url"):
        await search(WebConfig(search="searxng"), "q")
    with pytest.raises(ToolError, match="MY_KEY"):
        await search(WebConfig(search="brave", brave_key_env="MY_KEY"), "q")


async def test_without_duckduckgos_library_the_ways_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ddgs.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"odysseus\[search\]") as caught:
        await search(WebConfig(), "q")
    assert "searxng_url" in caught.value.message


async def test_a_failure_of_duckduckgos_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a proxy where nothing listens, the library fails on every machine."""
    monkeypatch.setenv("DDGS_PROXY", "http://127.0.0.1:9")
    with pytest.raises(ToolError, match="DuckDuckGo cannot be reached"):
        await search(WebConfig(search="duckduckgo"), "q", "day")


async def test_a_crash_of_duckduckgos_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ddgs.py").write_text("import os; os.abort()")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ToolError, match="DuckDuckGo cannot be reached"):
        await search(WebConfig(), "q")


# The tool.


async def call(config: WebConfig, folder: Path, **given: Any) -> str:
    (tool,) = search_tools(config)
    return (await tool.run(tool.parse(given), context(folder))).output


async def test_the_tool_numbers_what_was_found(site: Site, tmp_path: Path) -> None:
    output = await call(searxng(site, row(1), row(2, content="")), tmp_path, query="q")
    assert output == "[1] T1\n   https://example.com/1\n   S1\n[2] T2\n   https://example.com/2"


async def test_a_page_keeps_its_number_over_searches(site: Site, tmp_path: Path) -> None:
    config, place = searxng(site, row(1), row(2)), context(tmp_path)
    (tool,) = search_tools(config)
    await tool.run(tool.parse({"query": "q"}), place)
    searxng(site, row(3), row(2, content="other words"))
    again = await tool.run(tool.parse({"query": "r"}), place)
    assert again.output.startswith("[3] T3\n")
    assert "\n[2] T2\n" in again.output
    assert again.extras["sources"] == [
        {"number": 3, "url": "https://example.com/3", "title": "T3", "snippet": "S3"},
        {"number": 2, "url": "https://example.com/2", "title": "T2", "snippet": "S2"},
    ]


async def test_the_tool_says_when_nothing_was_found(site: Site, tmp_path: Path) -> None:
    assert await call(searxng(site), tmp_path, query="q") == "No results. Try other words."


@pytest.mark.parametrize("query", ["", " \n", "x" * 401])
async def test_a_query_has_a_length(site: Site, query: str) -> None:
    with pytest.raises(ToolError, match="1 to 400"):
        await search(searxng(site, row(1)), query)
    assert site.requests == []


def test_the_tool_takes_only_what_it_knows() -> None:
    (tool,) = search_tools(WebConfig())
    wrong: Sequence[dict[str, Any]] = ({}, {"query": "q", "time_range": "hour"}, {"query": "q", "engine": "x"})
    for given in wrong:
        with pytest.raises(ToolError, match="Wrong arguments"):
            tool.parse(given)
    assert tool.effects == {"network"}
    assert tool.outside
    assert not tool.sends(tool.parse({"query": "q"}), lambda _: False)
