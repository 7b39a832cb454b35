"""The pages of a round: searched for, each fetched once in the whole job, and pages that say the same taken once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from odysseus.context.web import addresses_in
from odysseus.errors import OdysseusError
from odysseus.research.hands import FETCHES, TIME_IS_UP, Hands, side_by_side
from odysseus.research.values import Page, Source
from odysseus.text import clipped

TEXT_LIMIT = 200_000
"""Characters that are kept of a page."""
LINE_LIMIT = 300
_TRACKING = ("utm_", "fbclid", "gclid", "mc_cid", "mc_eid")
_PORTS = {"http": 80, "https": 443}


class Gatherer:
    """Remembers for one job what was seen. `unread` says in words what could not be had."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._seen: set[str] = set()
        self._texts: set[str] = set()
        self._failed: dict[str, str] = {}
        self.read = 0
        self.sources: list[Source] = []

    @property
    def unread(self) -> Sequence[str]:
        """Each failure in a line."""
        return list(self._failed.values())

    async def gather(self, round_: int, queries: Sequence[str], most: int) -> list[Page]:
        """At most so many new pages, the best hits of each query first. What cannot be had is noted."""
        self._hands.progress("searching", round=round_, queries=list(queries), total_sources=len(self.sources))
        found = await side_by_side(FETCHES, self._search, queries)
        named = [(url, url, "") for url in addresses_in(self._hands.question)] if round_ == 1 else []
        hits = list(self._unseen([*named, *_in_turns(found)]))[:most]
        self.read += len(hits)
        self._hands.progress("searching", round=round_, queries=list(queries), total_sources=self.read)
        return self._taken(hits, await side_by_side(FETCHES, self._fetch, hits))

    async def _search(self, query: str) -> list[tuple[str, str, str]]:
        async def search() -> dict[str, Any]:
            try:
                hits = await self._hands.in_time(lambda: self._hands.search(query, ""))
            except (OdysseusError, OSError) as error:
                return {"failed": _words(error)}
            if hits is None:
                return {"failed": TIME_IS_UP}
            return {"hits": [[hit.url, _line(hit.title), _line(hit.snippet)] for hit in hits]}

        done = await self._hands.once(f"search {query}", search)
        if "failed" in done:
            self._failed[f"search {query}"] = f"Search for “{query}”: {done['failed']}"
        return [(url, title, snippet) for url, title, snippet in done.get("hits", ())]

    async def _fetch(self, hit: tuple[str, str, str]) -> Mapping[str, Any]:
        url, title, _ = hit
        self._hands.progress("reading", title=title, url=url)

        async def fetch() -> dict[str, Any]:
            try:
                page = await self._hands.in_time(lambda: self._hands.fetch(url))
            except (OdysseusError, OSError) as error:
                return {"failed": _words(error)}
            if page is None:
                return {"failed": TIME_IS_UP}
            digest = hashlib.sha256(page.text.encode("utf-8", "replace")).hexdigest()
            return {"url": page.url, "title": _line(page.title), "text": page.text[:TEXT_LIMIT], "hash": digest}

        done: Mapping[str, Any] = await self._hands.once(f"page {normal(url)}", fetch)
        return done

    def _unseen(self, hits: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
        for hit in hits:
            if normal(hit[0]) not in self._seen:
                self._seen.add(normal(hit[0]))
                yield hit

    def _taken(self, hits: Sequence[tuple[str, str, str]], fetched: Sequence[Mapping[str, Any]]) -> list[Page]:
        """The pages with words on them, those that led to the same address or say the same once."""
        pages: list[Page] = []
        for (url, title, snippet), done in zip(hits, fetched, strict=True):
            if failed := done.get("failed") or ("" if done["text"].strip() else "It holds no text that can be read."):
                self._failed[normal(url)] = f"{url}: {failed}"
                continue
            led = normal(done["url"])
            if done["hash"] in self._texts or (led != normal(url) and led in self._seen):
                continue
            self._texts.add(done["hash"])
            self._seen.add(led)
            source = Source(len(self.sources) + 1, done["url"], done["title"] or title or done["url"], snippet)
            self.sources.append(source)
            pages.append(Page(source, done["text"]))
        return pages


def normal(url: str) -> str:
    """An address without what makes no difference: case of the host, usual port, fragment, tracking, a last slash."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    scheme = parts.scheme.lower()
    host = (parts.hostname or "") + (f":{port}" if port and port != _PORTS.get(scheme) else "")
    query = [(name, value) for name, value in parse_qsl(parts.query, True) if not name.lower().startswith(_TRACKING)]
    return urlunsplit((scheme, host, parts.path.rstrip("/"), urlencode(query), ""))


def _in_turns(found: Sequence[Sequence[tuple[str, str, str]]]) -> list[tuple[str, str, str]]:
    """The first hit of each query, then the second of each, and so on."""
    return [hit for rank in zip_longest(*found) for hit in rank if hit]


def _line(text: str) -> str:
    return clipped(" ".join(text.split()), LINE_LIMIT)


def _words(error: OdysseusError | OSError) -> str:
    """An error in a line; one of the system says nothing to a reader."""
    return _line(error.message) if isinstance(error, OdysseusError) else "The network failed."
