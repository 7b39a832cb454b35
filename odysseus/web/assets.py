"""The page's files on their way out: found by address, compressed once, and told to be kept or asked for again."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import mimetypes
import re
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import brotli
from aiohttp import ETag, web

from odysseus.web.release import WORKER, Release, make_release, read_sources, stamps

RELEASES = 3
"""So many are remembered: a page that was opened before its files were changed still finds its own."""

KEPT_BODIES = 512
QUALITY = 6
"""Of brotli: the best, 11, takes 35 times as long for a tenth less, and the first page after a start waits for it."""
NEVER = re.compile(r";q=0(\.0*)?$")
ASK_AGAIN = "no-cache"
FOR_EVER = "private, max-age=31536000, immutable"
TYPES = {
    "js": "text/javascript",
    "css": "text/css",
    "html": "text/html",
    "svg": "image/svg+xml",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent. `coding` is empty for plain bytes."""

    body: bytes
    coding: str
    etag: str
    type: str
    charset: str | None
    caching: str


class Assets:
    """The files of one folder. All methods but `answer` read files or compress, and belong in a thread."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._stamps: dict[str, tuple[int, int]] = {}
        self._releases: dict[str, Release] = {}
        self._newest: Release | None = None

    def newest(self) -> Release:
        """The release of the files as they are now. Raises OSError."""
        with self._lock:
            now = stamps(self.root)
            if self._newest is None or now != self._stamps:
                self._newest = make_release(read_sources(self.root))
                self._stamps = now
                self._releases[self._newest.version] = self._newest
                for old in list(self._releases)[:-RELEASES]:
                    del self._releases[old]
            return self._newest

    def find(self, path: str, accepted: str) -> Asset | None:
        """The file at `/static/{path}`, in a coding of the Accept-Encoding header; None where there is none."""
        first, _, rest = path.partition("/")
        if first.startswith("v-") and rest:
            if first[2:] not in self._releases:
                self.newest()
            release = self._releases.get(first[2:])
            return _asset(release, rest, accepted, FOR_EVER) if release else None
        return _asset(self.newest(), path, accepted, ASK_AGAIN)

    def worker(self, accepted: str) -> Asset:
        """The service worker, which knows the newest release."""
        return _encoded(self.newest().worker, WORKER, accepted, ASK_AGAIN)

    async def answer(self, request: web.Request, path: str | None) -> web.Response:
        """The answer with the file at this path, or with the service worker for None. Raises HTTPNotFound."""
        accepted = request.headers.get("Accept-Encoding", "")
        if path is None:
            found: Asset | None = await asyncio.to_thread(self.worker, accepted)
        else:
            found = await asyncio.to_thread(self.find, path, accepted)
        if found is None:
            raise web.HTTPNotFound
        return _response(request, found)


def _asset(release: Release, name: str, accepted: str, caching: str) -> Asset | None:
    body = release.files.get(name)
    return None if body is None else _encoded(body, name, accepted, caching)


def _encoded(body: bytes, name: str, accepted: str, caching: str) -> Asset:
    ending = name.rpartition(".")[2]
    media = TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    coding = _coding(accepted) if ending in TYPES else ""
    sent, digest = _compressed(body, coding)
    return Asset(sent, coding, f"{digest}-{coding or 'plain'}", media, "utf-8" if ending in TYPES else None, caching)


def _coding(accepted: str) -> str:
    """The better of the codings that an Accept-Encoding header allows; empty for none."""
    offers = [offer.replace(" ", "").lower() for offer in accepted.split(",")]
    names = {offer.partition(";")[0] for offer in offers if not NEVER.search(offer)}
    return next((coding for coding in ("br", "gzip") if coding in names), "")


@lru_cache(KEPT_BODIES)
def _compressed(body: bytes, coding: str) -> tuple[bytes, str]:
    """The body in a coding, and a short name for what it holds."""
    digest = hashlib.sha256(body).hexdigest()[:16]
    if coding == "br":
        return brotli.compress(body, mode=brotli.MODE_TEXT, quality=QUALITY), digest
    return (gzip.compress(body, mtime=0) if coding == "gzip" else body), digest


def _response(request: web.Request, asset: Asset) -> web.Response:
    tag = ETag(asset.etag)
    known = any(offer.value in {asset.etag, "*"} for offer in request.if_none_match or ())
    headers = {"Cache-Control": asset.caching, "Vary": "Accept-Encoding"}
    if known:
        answer = web.Response(status=304, headers=headers)
    else:
        if asset.coding:
            headers["Content-Encoding"] = asset.coding
        answer = web.Response(body=asset.body, content_type=asset.type, charset=asset.charset, headers=headers)
    answer.etag = tag
    return answer
