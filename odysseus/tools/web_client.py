"""One GET from the open web: redirects checked one by one, with limits on time and on the unpacked size.

Knows HTTP and its failures in plain words, and nothing of what a body holds. No cookie, no proxy of the environment and
no connection outlives a call.
"""

from __future__ import annotations

import asyncio
import http
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from odysseus import __version__
from odysseus.config import WebConfig
from odysseus.tools.addresses import NotPublic, PublicResolver, check_url
from odysseus.tools.base import ToolError

REDIRECTS = 5
USER_AGENT = f"Odysseus/{__version__} (a personal assistant's web reader)"
_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_MOVED = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html,application/xhtml+xml,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5",
    # Nothing that the optional libraries of aiohttp would unpack without a limit of their own.
    "Accept-Encoding": "gzip, deflate",
}

MakeResolver = Callable[[Collection[str]], AbstractResolver]
"""A resolver that knows the exempted hosts."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A good answer. `content_type` is lower case without parameters, `charset` what the header says or empty."""

    url: str
    content_type: str
    charset: str
    body: bytes


async def fetch(address: str, config: WebConfig, make_resolver: MakeResolver = PublicResolver) -> Fetched:
    """GET an address within the limits of `config`. Raises ToolError, which tells nothing of an inner host."""
    url = check_url(address, config.allow_hosts)
    try:
        async with (
            asyncio.timeout(config.fetch_seconds),
            open_session(_HEADERS, make_resolver(config.allow_hosts)) as session,
        ):
            return await _follow(session, url, config)
    except TimeoutError as error:
        raise ToolError(f"The page did not come whole within {config.fetch_seconds:g} seconds.") from error
    except aiohttp.ClientError as error:
        raise ToolError(_words(error)) from error


def open_session(headers: dict[str, str], resolver: AbstractResolver | None = None) -> aiohttp.ClientSession:
    """A session for one call: nothing kept, nothing taken from the environment, no time limit of its own."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
    )


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The unpacked body. Raises ToolError as soon as it is over the limit, ClientError when it breaks off."""
    body = bytearray()
    if (response.content_length or 0) <= limit:
        while data := await response.content.readany():
            body += data
            if len(body) > limit:
                break
        else:
            return bytes(body)
    raise ToolError(f"The answer is larger than {limit:,} bytes, the limit of this tool.")


async def _follow(session: aiohttp.ClientSession, url: URL, config: WebConfig) -> Fetched:
    for _ in range(REDIRECTS + 1):
        async with session.get(url, allow_redirects=False) as response:
            if response.status not in _MOVED:
                return await _take(response, url, config.fetch_bytes)
            url = _next_hop(url, response.headers.get("Location", ""), config.allow_hosts)
    raise ToolError(f"The address leads on and on: more than {REDIRECTS} redirects.")


def _next_hop(url: URL, location: str, allow_hosts: Collection[str]) -> URL:
    if not location:
        raise ToolError("The server redirects without saying where to.")
    try:
        # Only what has no scheme is relative: joined, an address like http:/x would become another one.
        target = check_url(location if _SCHEME.match(location) else urljoin(str(url), location), allow_hosts)
    except (ValueError, ToolError) as error:
        reason = error.message if isinstance(error, ToolError) else "It is not a valid address."
        raise ToolError(f"The server redirects to another address. {reason}") from error
    if url.scheme == "https" and target.scheme == "http":
        raise ToolError(
            "The server redirects from https to http, which is not followed. Fetch the http address if it is wanted."
        )
    return target


async def _take(response: aiohttp.ClientResponse, url: URL, limit: int) -> Fetched:
    status = response.status
    if not 200 <= status < 300:
        raise ToolError(f"The server answered {status} ({_phrase(status)}) and no page.")
    body = await read_body(response, limit)
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return Fetched(str(url), kind, response.charset or "", body)


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "an unknown status"


_WORDS: tuple[tuple[type[aiohttp.ClientError], str], ...] = (
    (aiohttp.ClientConnectorDNSError, "The host name was not found. Check the address."),
    (aiohttp.ClientConnectorCertificateError, "The server's certificate is not valid, so the page is not read."),
    (aiohttp.ClientSSLError, "No secure connection to the server came about."),
    (aiohttp.ClientConnectorError, "The server cannot be reached."),
    (aiohttp.ClientPayloadError, "The page broke off or was packed wrongly."),
    (aiohttp.ServerDisconnectedError, "The server closed the connection without an answer."),
)


def _words(error: aiohttp.ClientError) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError) and isinstance(error.os_error, NotPublic):
        return str(error.os_error)
    return next(
        (words for kind, words in _WORDS if isinstance(error, kind)), "The server's answer cannot be understood."
    )
