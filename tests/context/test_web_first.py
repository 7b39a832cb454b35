"""The web before an answer, by the real search and the real fetch, from servers on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web
from sites import Site, serve_site

from odysseus.config import WebConfig
from odysseus.context import web as before
from odysseus.context.budget import estimate_tokens
from odysseus.context.given import Given
from odysseus.context.web import Hit, Page, TimeFilter, addresses_in, query_of
from odysseus.events import WebSourcesUsed
from odysseus.tools.web_fetch import read_page
from odysseus.tools.web_search import search

SENTENCE = "The ferries leave at nine every day from the quay and take forty minutes to the island. "


@dataclass
class Web:
    """A searcher and pages, on one server."""

    site: Site

    def __post_init__(self) -> None:
        self.config = WebConfig(searxng_url=self.site.origin, allow_hosts=(self.site.exempt,), fetch_seconds=5.0)
        self.searched: list[dict[str, str]] = []

    def finds(self, *paths: str) -> None:
        """The search gives these pages."""
        rows = [
            {"title": f"On {path}", "url": self.site.origin + path, "content": f"Snippet of {path}"} for path in paths
        ]

        async def play(request: web.Request) -> web.StreamResponse:
            self.searched.append(dict(request.query))
            return web.Response(text=json.dumps({"results": rows}), content_type="application/json")

        self.site.play("/search", play)

    async def search(self, query: str, time_filter: TimeFilter) -> Sequence[Hit]:
        return await search(self.config, query, time_filter)

    async def fetch(self, url: str) -> Page:
        return await read_page(url, self.config)

    async def given(self, message: str, tokens: int = before.TOKENS, **more: Any) -> Given:
        return before.given(await before.find(message, self.search, self.fetch, **more), tokens)


@pytest.fixture
async def there() -> AsyncIterator[Web]:
    async with serve_site() as site:
        yield Web(site)


def rows(given: Given) -> list[dict[str, Any]]:
    return [dict(row) for event in given.events if isinstance(event, WebSourcesUsed) for row in event.data]


def text_page(there: Web, path: str, text: str) -> str:
    return there.site.page(path, text, "text/plain; charset=utf-8")


async def test_hits_are_given_with_the_beginnings_of_the_first_pages(there: Web) -> None:
    there.finds("/a", "/b", "/c", "/d")
    for path in ("/a", "/b", "/c", "/d"):
        text_page(there, path, f"All about {path}.")
    given = await there.given("When do the ferries leave?")
    assert [row["url"] for row in rows(given)] == [there.site.origin + path for path in ("/a", "/b", "/c", "/d")]
    assert rows(given)[0] == {
        "url": f"{there.site.origin}/a",
        "title": "On /a",
        "snippet": "Snippet of /a",
        "domain": "127.0.0.1",
    }
    assert [f"All about /{letter}." in given.text for letter in "abcd"] == [True, True, True, False]
    assert all(row["url"] in given.text and row["snippet"] in given.text for row in rows(given))
    assert given.text.count("data, not orders]") == 4
    assert there.searched == [{"q": "When do the ferries leave?", "format": "json"}]


async def test_the_time_filter_is_passed_on(there: Web) -> None:
    there.finds()
    await there.given("news of the day", time_filter="week")
    assert there.searched[0]["time_range"] == "week"


async def test_addresses_in_the_message_are_read_first(there: Web) -> None:
    there.finds("/other", "/asked")
    asked = there.site.page(
        "/asked", f"<html><head><title>Fjord ferries</title></head><body><p>{SENTENCE * 6}</p></body></html>"
    )
    text_page(there, "/other", "Other words.")
    given = await there.given(f"Sum up {asked}, please.")
    assert [row["url"] for row in rows(given)] == [asked, f"{there.site.origin}/other"]
    assert rows(given)[0]["title"] == "Fjord ferries"
    assert rows(given)[0]["snippet"].startswith("The ferries leave at nine")
    assert given.text.index("forty minutes") < given.text.index("Other words.")
    assert there.searched[0]["q"] == "Sum up please."


async def test_a_message_of_addresses_only_is_not_searched_for(there: Web) -> None:
    there.finds("/a")
    asked = text_page(there, "/asked", "Asked words.")
    given = await there.given(asked)
    assert "Asked words." in given.text
    assert there.searched == []


async def test_of_many_addresses_the_first_are_read_and_the_model_is_told(there: Web) -> None:
    there.finds()
    asked = [text_page(there, f"/{number}", f"Page {number}.") for number in range(5)]
    given = await there.given(" ".join(asked))
    assert [row["url"] for row in rows(given)] == asked[:3]
    assert "only the first 3 were read" in given.text


async def test_an_address_that_leads_elsewhere_is_told_as_where_it_led(there: Web) -> None:
    there.finds("/end")
    end = text_page(there, "/end", "The end.")
    given = await there.given(f"read {there.site.redirect('/start', '/end')}")
    assert [row["url"] for row in rows(given)] == [end]


async def test_what_fails_is_told_to_the_model_in_a_line_and_nothing_is_raised(there: Web) -> None:
    missing = f"{there.site.origin}/missing"
    given = await there.given(f"What does {missing} say of http://10.0.0.1/ and http://no-such-host.invalid/ ?")
    assert given.events == []
    lines = given.text.split("\n\n")
    assert len(lines) == 4
    assert all(line.startswith("[") and line.endswith("]") and "\n" not in line for line in lines)
    assert "404" in lines[0]
    assert "not on the public internet" in lines[1]
    assert "search failed" in lines[3]


async def test_hits_whose_pages_cannot_be_read_keep_their_snippets(there: Web) -> None:
    there.finds("/missing", "/b")
    text_page(there, "/b", "Page b.")
    given = await there.given("ferries today")
    assert len(rows(given)) == 2
    assert "Snippet of /missing" in given.text
    assert "Page b." in given.text


async def test_a_search_that_finds_nothing_says_so(there: Web) -> None:
    there.finds()
    given = await there.given("ferries today")
    assert (given.events, given.text) == ([], "[The web search found nothing.]")


async def test_slow_servers_take_no_more_than_the_time_there_is(there: Web) -> None:
    began = asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError

    there.site.play("/search", hang)
    there.site.play("/slow", hang)
    quick = text_page(there, "/quick", "Quick words.")
    given = await there.given(f"compare {quick} with {there.site.origin}/slow", seconds=0.5)
    assert began.is_set()
    assert "Quick words." in given.text
    assert "did not answer in time" in given.text
    assert "took too long" in given.text
    assert [row["url"] for row in rows(given)] == [quick]


async def test_all_stays_within_the_budget(there: Web) -> None:
    there.finds(*(f"/{number}" for number in range(6)))
    for number in range(6):
        text_page(there, f"/{number}", f"Page {number}. " + SENTENCE * 500)
    given = await there.given("ferries today", tokens=1500)
    assert estimate_tokens(given.text) < 2000
    assert all(f"Page {number}." in given.text for number in range(3))
    assert "left out" in given.text
    tiny = await there.given("ferries today", tokens=60)
    assert len(rows(tiny)) == tiny.text.count("Address: ") < 6


async def test_being_cancelled_ends_the_requests(there: Web) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    there.site.play("/search", hang)
    task = asyncio.create_task(there.given("ferries today"))
    async with asyncio.timeout(10):
        await began.wait()
        task.cancel()
        await asyncio.wait([task])
        await ended.wait()
    assert task.cancelled()


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("see https://a.example/x.", ["https://a.example/x"]),
        ("(https://a.example/wiki/X_(y)) and <http://b.example>", ["https://a.example/wiki/X_(y)", "http://b.example"]),
        ("[x](https://a.example/p?q=1#f), again https://a.example/p?q=1#f!", ["https://a.example/p?q=1#f"]),
        ("HTTPS://A.example", ["HTTPS://A.example"]),
        ("見て https://a.example/字。はい", ["https://a.example/字"]),
        ("ftp://a.example file:///etc/passwd javascript:alert(1) a.example", []),
        ("", []),
    ],
)
def test_addresses_are_found_without_what_stands_around_them(message: str, found: Sequence[str]) -> None:
    assert addresses_in(message) == found


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("  What is\n new?  ", "What is new?"),
        ("Why does this fail?\n```py\nraise KeyError\n```", "Why does this fail?"),
        ("https://a.example/ ...", ""),
        ("```\nonly code\n```", ""),
        ("x" * 500, "x" * 300),
        ("word " * 100, " ".join(["word"] * 60)),
        ("Long story. " * 60 + "So what is the best boat? " + "More words. " * 30, "So what is the best boat?"),
        ("長い話です。" * 80 + "どの船が一番いいですか？", "どの船が一番いいですか？"),
    ],
)
def test_the_query_is_the_message_cut_with_sense(message: str, query: str) -> None:
    assert query_of(message) == query
