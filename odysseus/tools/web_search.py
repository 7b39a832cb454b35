"""The tool that searches the web: SearXNG, Brave or DuckDuckGo, whichever is set.

`search` is the same without a tool around it. Knows the three services' answers, and nothing of the pages they name.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import aiohttp
import orjson
from msgspec import Meta
from yarl import URL

from odysseus.config import WebConfig
from odysseus.text import clean_text, clipped
from odysseus.tools.base import Arguments, Tool, ToolContext, ToolError, ToolResult, make_tool, one_line
from odysseus.tools.cited import Row
from odysseus.tools.web_client import USER_AGENT, open_session, read_body
from odysseus.worker import WorkerError, ask_worker

TimeRange = Literal["", "day", "week", "month", "year"]

BRAVE_URL = "https://api.search.brave.com/res/v1/web/search"
ANSWER_BYTES = 5_000_000
QUERY_LIMIT = 400
TITLE_LIMIT = 200
SNIPPET_LIMIT = 500
URL_LIMIT = 2048
_LIBRARY_SECONDS = 10
_WORKER_SECONDS = 30.0
_SCRIPT = Path(__file__).with_name("search_worker.py")
_DUCKDUCKGO = {
    "missing": "Web search is not set up. Set [web] searxng_url, or put a key of Brave in its environment variable, "
    "or install DuckDuckGo's library: pip install 'odysseus[search]'.",
    "refused": "DuckDuckGo refuses: too many searches. Try again later.",
    "timeout": "DuckDuckGo did not answer in time. Try again later.",
    "network": "DuckDuckGo cannot be reached or refuses. Try again later, or set up SearXNG or Brave.",
}
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_URL = re.compile(r"https?://[^\s\x00-\x1f\x7f<>]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One hit. `title` and `snippet` are one line of plain text each; `url` is http or https."""

    title: str
    url: str
    snippet: str


class SearchArguments(Arguments, frozen=True):
    """What web_search takes."""

    query: Annotated[str, Meta(description="What to search for, in a few words.")]
    time_range: Annotated[TimeRange, Meta(description="Only pages of the last day, week, month or year.")] = ""


def search_tools(config: WebConfig, brave_url: str = BRAVE_URL) -> Sequence[Tool]:
    """The tool `web_search`."""

    async def run(given: SearchArguments, context: ToolContext) -> ToolResult:
        found = await search(config, given.query, given.time_range, brave_url=brave_url)
        rows = [context.sources.add(hit.url, hit.title, hit.snippet) for hit in found]
        return ToolResult(_show(found, rows), extras={"sources": rows} if rows else {})

    return [
        make_tool(
            "web_search",
            "Search the web; gives titles, addresses and snippets. Put [n] behind what source n says.",
            SearchArguments,
            run,
            ("network",),
            # Only a search engine reads a query, which is the user's own choice.
            sends=lambda _given, _seen: False,
            seconds=config.fetch_seconds + _LIBRARY_SECONDS,
            outside=True,
        )
    ]


async def search(
    config: WebConfig, query: str, time_range: TimeRange = "", *, brave_url: str = BRAVE_URL
) -> Sequence[SearchResult]:
    """At most `config.results` hits, best first, no address twice. Raises ToolError that says what to set."""
    query = one_line(clean_text(query))
    if not query or len(query) > QUERY_LIMIT:
        raise ToolError(f"The query must have 1 to {QUERY_LIMIT} characters.")
    service = _service(config)
    try:
        async with asyncio.timeout(config.fetch_seconds):
            if service == "searxng":
                found = await _searxng(config, query, time_range)
            elif service == "brave":
                found = await _brave(config, query, time_range, brave_url)
            else:
                found = await _duckduckgo(query, time_range, config.results)
    except TimeoutError as error:
        raise ToolError(f"The search did not answer within {config.fetch_seconds:g} seconds.") from error
    except aiohttp.ClientError as error:
        raise ToolError("The search service cannot be reached.") from error
    return _clean(found)[: config.results]


def _service(config: WebConfig) -> str:
    """Who searches. Raises ToolError when the chosen one lacks its setting."""
    if config.search == "searxng" and not config.searxng_url:
        raise ToolError("Searching with SearXNG needs the setting [web] searxng_url.")
    if config.search == "brave" and not _brave_key(config):
        raise ToolError(f"Searching with Brave needs a key in the environment variable {config.brave_key_env}.")
    if config.search != "auto":
        return config.search
    if config.searxng_url:
        return "searxng"
    return "brave" if _brave_key(config) else "duckduckgo"


def _brave_key(config: WebConfig) -> str:
    return os.environ.get(config.brave_key_env, "").strip()


async def _searxng(config: WebConfig, query: str, time_range: str) -> Iterable[SearchResult]:
    """The user's own server, so its address is not judged; it gets the query and nothing else."""
    url = URL(config.searxng_url.rstrip("/"))
    if url.name != "search":
        url = url / "search"
    asked = {"q": query, "format": "json"} | ({"time_range": time_range} if time_range else {})
    status, body = await _get(url.with_query(asked), {})
    if status == 429:
        raise ToolError("SearXNG refuses: its limiter counts too many searches. Try again later.")
    answer = _json(body) if status == 200 else None
    if status == 403 or (status == 200 and answer is None):
        raise ToolError("SearXNG does not give JSON. Add `json` to `search.formats` in its settings.yml.")
    if answer is None:
        raise ToolError(f"SearXNG answered with status {status}. Check the setting [web] searxng_url.")
    found = [_result(item, "title", "url", "content") for item in _rows(answer.get("results"))]
    if not found and answer.get("unresponsive_engines"):
        raise ToolError("SearXNG found nothing, since some of its engines did not answer. Try again later.")
    return found


async def _brave(config: WebConfig, query: str, time_range: str, brave_url: str) -> Iterable[SearchResult]:
    key = _brave_key(config)
    if not (key.isascii() and key.isprintable()):
        raise ToolError(f"The key in {config.brave_key_env} holds a character that no key has.")
    asked = {"q": query, "count": str(config.results)} | ({"freshness": f"p{time_range[0]}"} if time_range else {})
    status, body = await _get(URL(brave_url).with_query(asked), {"X-Subscription-Token": key})
    if status in {401, 403} or b"SUBSCRIPTION_TOKEN_INVALID" in body:
        raise ToolError(f"Brave refuses the key in {config.brave_key_env}. Check it.")
    if status in {402, 429}:
        raise ToolError("Brave refuses: too many searches, or the plan is used up. Try again later.")
    answer = _json(body) if status == 200 else None
    if answer is None:
        raise ToolError(f"Brave answered with status {status} and no results.")
    web = answer.get("web")
    rows = _rows(web.get("results")) if isinstance(web, Mapping) else []
    return [_result(item, "title", "url", "description") for item in rows]


async def _duckduckgo(query: str, time_range: str, count: int) -> Iterable[SearchResult]:
    asked = {"query": query, "timelimit": time_range[:1] or None, "max_results": count, "seconds": _LIBRARY_SECONDS}
    try:
        answer = await ask_worker(_SCRIPT, asked, b"", _WORKER_SECONDS, ("DDGS_PROXY",))
    except WorkerError as error:
        raise ToolError(_DUCKDUCKGO["network"]) from error
    if failed := answer.get("failed"):
        raise ToolError(_DUCKDUCKGO[failed])
    return [_result(row, "title", "href", "body") for row in _rows(answer.get("rows"))]


async def _get(url: URL, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Status and body. Redirects are answers like others, so that no query and no key goes on to another host."""
    shown = {"Accept": "application/json", "Accept-Encoding": "gzip, deflate", "User-Agent": USER_AGENT, **headers}
    async with open_session(shown) as session, session.get(url, allow_redirects=False) as response:
        return response.status, await read_body(response, ANSWER_BYTES)


def _json(body: bytes) -> Mapping[str, Any] | None:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return answer if isinstance(answer, dict) else None


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _result(row: Mapping[str, Any], title: str, url: str, snippet: str) -> SearchResult:
    return SearchResult(
        _plain(row.get(title), TITLE_LIMIT), str(row.get(url) or ""), _plain(row.get(snippet), SNIPPET_LIMIT)
    )


def _plain(value: Any, limit: int) -> str:
    """Text of one line, without the marks that services put around what was found."""
    return clipped(one_line(clean_text(html.unescape(_TAG.sub("", str(value or ""))))), limit)


def _clean(found: Iterable[SearchResult]) -> list[SearchResult]:
    """Only what can be fetched, each address once."""
    kept: dict[str, SearchResult] = {}
    for result in found:
        url = result.url.partition("#")[0]
        if len(url) <= URL_LIMIT and _URL.fullmatch(url):
            kept.setdefault(url, SearchResult(result.title or url, url, result.snippet))
    return list(kept.values())


def _show(results: Sequence[SearchResult], rows: Sequence[Row]) -> str:
    if not results:
        return "No results. Try other words."
    pairs = zip(results, rows, strict=True)
    return "\n".join(f"[{row['number']}] {hit.title}\n   {hit.url}\n   {hit.snippet}".rstrip() for hit, row in pairs)
