"""The web before an answer: addresses in the message are read, then it is searched, then the first hits are read.

Knows neither who searches nor how a page is fetched; both are given in. Whatever fails is told to the model in a line.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import urlsplit

from odysseus.context.budget import estimate_tokens
from odysseus.context.cutting import beginning, shares
from odysseus.context.given import Given, as_data
from odysseus.errors import OdysseusError
from odysseus.events import WebSourcesUsed
from odysseus.text import clipped

TimeFilter = Literal["", "day", "week", "month", "year"]

SECONDS = 20.0
TOKENS = 6_000
"""The usual budget of all that is found."""
PAGE_TOKENS = 2_500
MOST_ADDRESSES = 3
MOST_READ = 3
"""Of the hits, so many are read."""
QUERY_LIMIT = 300
SNIPPET_LIMIT = 300
TITLE_LIMIT = 200
FAILURE_LIMIT = 200
SEARCH_SHARE = 0.6
"""The search may take this part of the time, so that some is left to read what it found."""

_FENCED = re.compile(r"```.*?(```|\Z)|~~~.*?(~~~|\Z)", re.DOTALL)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\x00-\x1f\x7f（）「」。，]+", re.IGNORECASE)
_QUESTION = re.compile(r"[^.!?。！？\n]*[?？]")
_CLOSING = {")": "(", "]": "[", "}": "{"}


class Hit(Protocol):
    """A result of a search, as one line of text each."""

    @property
    def title(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def snippet(self) -> str: ...


class Page(Protocol):
    """What could be read at an address; `url` is where it led."""

    @property
    def url(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...


class Search(Protocol):
    """Who searches."""

    async def __call__(self, query: str, time_filter: TimeFilter, /) -> Sequence[Hit]:
        """The hits, best first. Raises OdysseusError."""
        ...


class Fetch(Protocol):
    """Who reads a page."""

    async def __call__(self, url: str, /) -> Page:
        """The page. Raises OdysseusError."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """What was found at one address: the words of the search, the page, or both."""

    url: str
    title: str
    snippet: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Failure:
    """What did not work, in words."""

    words: str


@dataclass(frozen=True, slots=True)
class Found:
    """The pages that a message names, the hits of the search, and what did not work, in words."""

    asked: Sequence[Source] = ()
    hits: Sequence[Source] = ()
    notes: Sequence[str] = ()


async def find(
    message: str, search: Search, fetch: Fetch, *, time_filter: TimeFilter = "", seconds: float = SECONDS
) -> Found:
    """What the web has for this message, within so many seconds. Never fails: what did is told in the notes."""
    until = asyncio.get_running_loop().time() + seconds
    addresses, query = addresses_in(message), query_of(message)
    async with asyncio.TaskGroup() as group:
        pages = [group.create_task(_read(fetch, url, until)) for url in addresses[:MOST_ADDRESSES]]
        searched = group.create_task(_search(search, query, time_filter, until - seconds * (1 - SEARCH_SHARE)))
    asked = [task.result() for task in pages]
    hits = searched.result()
    known = {*addresses, *(page.url for page in asked if isinstance(page, Source))}
    found = [hit for hit in hits if isinstance(hit, Source) and hit.url not in known]
    found = await _with_pages(found, fetch, until)
    failures = [*asked, *hits]
    notes = [one.words for one in failures if isinstance(one, _Failure)]
    if len(addresses) > MOST_ADDRESSES:
        notes.append(f"Of the addresses in the message only the first {MOST_ADDRESSES} were read.")
    return Found([one for one in asked if isinstance(one, Source)], found, notes)


def given(found: Found, tokens: int = TOKENS) -> Given:
    """The text within the budget, its sources numbered from 1, and the row of each in it. Slow: call it in a thread."""
    sources = [*found.asked, *found.hits]
    heads = [_head(source) for source in sources]
    while heads and sum(map(estimate_tokens, heads)) > tokens:
        heads.pop()
    sources = sources[: len(heads)]
    left = tokens - sum(map(estimate_tokens, heads))
    most = [tokens if place < len(found.asked) else PAGE_TOKENS for place in range(len(sources))]
    wanted = [min(estimate_tokens(source.text), limit) for source, limit in zip(sources, most, strict=True)]
    texts = [
        beginning(source.text.strip(), room) if source.text and room > 0 else ""
        for source, room in zip(sources, shares(wanted, left), strict=True)
    ]
    parts = [
        as_data(f"Web source {number}", f"{head}\n\n{text}" if text else head)
        for number, (head, text) in enumerate(zip(heads, texts, strict=True), 1)
    ]
    parts += [f"[{note}]" for note in found.notes]
    events = [WebSourcesUsed([_row(source) for source in sources])] if sources else []
    return Given("\n\n".join(parts), events)


def addresses_in(message: str) -> list[str]:
    """The http and https addresses in a text, each once, without the punctuation behind them."""
    return list(dict.fromkeys(_trimmed(found) for found in _ADDRESS.findall(message)))


def query_of(message: str) -> str:
    """What to search for: the message without code and addresses; of a long one its last question, or its beginning."""
    text = " ".join(_ADDRESS.sub(" ", _FENCED.sub(" ", message)).split())
    if len(text) > QUERY_LIMIT:
        questions = [found.strip() for found in _QUESTION.findall(text)]
        fitting = [found for found in questions if 10 <= len(found) <= QUERY_LIMIT]
        text = fitting[-1] if fitting else text
    if len(text) > QUERY_LIMIT:
        cut = text[:QUERY_LIMIT]
        text = cut.rpartition(" ")[0] or cut
    return text if re.search(r"\w", text) else ""


async def _search(search: Search, query: str, time_filter: TimeFilter, until: float) -> Sequence[Source | _Failure]:
    if not query:
        return []
    try:
        async with asyncio.timeout_at(until):
            hits = await search(query, time_filter)
    except TimeoutError:
        return [_Failure("The web search took too long. Answer without it, and say so.")]
    except (OdysseusError, OSError) as error:
        return [_Failure(f"The web search failed: {_words(error)} Answer without it, and say so.")]
    sources = [Source(hit.url, _line(hit.title, TITLE_LIMIT), _line(hit.snippet, SNIPPET_LIMIT)) for hit in hits]
    return [one for one in sources if _is_web(one.url)] or [_Failure("The web search found nothing.")]


async def _read(fetch: Fetch, url: str, until: float) -> Source | _Failure:
    try:
        async with asyncio.timeout_at(until):
            page = await fetch(url)
    except TimeoutError:
        return _Failure(f"An address in the message ({_domain(url)}) did not answer in time, so it was not read.")
    except (OdysseusError, OSError) as error:
        return _Failure(f"An address in the message ({_domain(url)}) was not read: {_words(error)}")
    if not page.text.strip():
        return _Failure(f"An address in the message ({_domain(url)}) holds no text that can be read.")
    address = page.url if _is_web(page.url) else url
    return Source(address, _line(page.title, TITLE_LIMIT), text=page.text)


async def _with_pages(found: Sequence[Source], fetch: Fetch, until: float) -> list[Source]:
    """The hits, the first of them with what their pages say; one that cannot be read keeps its snippet."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_read(fetch, hit.url, until)) for hit in found[:MOST_READ]]
    pages = [task.result() for task in tasks]
    texts = [page.text if isinstance(page, Source) else "" for page in pages]
    read = [Source(hit.url, hit.title, hit.snippet, text) for hit, text in zip(found, texts, strict=False)]
    return [*read, *found[MOST_READ:]]


def _head(source: Source) -> str:
    lines = (f"Title: {source.title}" if source.title else "", f"Address: {source.url}", source.snippet)
    return "\n".join(line for line in lines if line)


def _row(source: Source) -> dict[str, str]:
    return {
        "url": source.url,
        "title": source.title or source.url,
        "snippet": source.snippet or _line(source.text[: 4 * SNIPPET_LIMIT], SNIPPET_LIMIT),
        "domain": _domain(source.url),
    }


def _is_web(url: str) -> bool:
    return bool(_ADDRESS.fullmatch(url)) and bool(_domain(url))


def _domain(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _line(text: str, limit: int) -> str:
    """Text on one line, cut."""
    return clipped(" ".join(text.split()), limit)


def _words(error: OdysseusError | OSError) -> str:
    """An error in a line; one of the system says nothing to a reader."""
    return _line(error.message, FAILURE_LIMIT) if isinstance(error, OdysseusError) else "The network failed."


def _trimmed(url: str) -> str:
    """Without the punctuation of the sentence around it; a bracket stays when it was opened inside."""
    while url and (
        url[-1] in ".,;:!?*_~…" or (url[-1] in _CLOSING and url.count(url[-1]) > url.count(_CLOSING[url[-1]]))
    ):
        url = url[:-1]
    return url
