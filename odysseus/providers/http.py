"""The client side of HTTP: one request, its failures in plain words, its body as batches of chunks.

Knows sockets and time, and nothing of a vendor: the Reading it is given turns records to chunks. Closing the generator
or cancelling its task closes the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

import aiohttp
import orjson
from yarl import URL

from odysseus.config import EndpointConfig
from odysseus.errors import ConfigError, ProviderError
from odysseus.providers.address import SafeResolver, is_forbidden_host
from odysseus.providers.base import Chunk
from odysseus.providers.failures import retry_seconds, status_error
from odysseus.providers.network import network_error
from odysseus.providers.wire import MAX_RECORD_BYTES, Decoder, Record, SseDecoder

# Below the idle limit of common servers (5 s), so that a request never meets a connection that is just being closed.
KEEP_ALIVE_SECONDS = 4.0
# After the answer's own end, how long to wait for the usage and the sentinel.
GRACE_SECONDS = 5.0
# After the sentinel, how long the connection may take to come free for the next request.
DRAIN_SECONDS = 0.5
ERROR_BODY_BYTES = 65_536
WHOLE_BYTES = 1 << 20
ERROR_BODY_SECONDS = 5.0
_log = logging.getLogger(__name__)
_BLANK = b" \t\r\n\xef\xbb\xbf"


class Reading(Protocol):
    """One answer in the making: an adapter's side of a request."""

    failure: ProviderError | None
    """Why the answer is not whole. What came before stands."""

    @property
    def decoder(self) -> Decoder:
        """How the body is cut into records."""
        ...

    @property
    def done(self) -> bool:
        """The sentinel was seen: nothing that follows counts."""
        ...

    @property
    def finished(self) -> bool:
        """The model has ended its answer: all that may follow is the usage and the sentinel."""
        ...

    def take(self, records: Sequence[Record], *, last: bool = False) -> list[Chunk]:
        """The chunks of these records; sets `failure` in place of raising.

        `last` says that the body ended inside the record, so that one which cannot be read is left out.
        """
        ...

    def take_whole(self, body: bytes) -> list[Chunk]:
        """The chunks of an answer that came as one JSON document; sets `failure` in place of raising."""
        ...

    def end(self) -> list[Chunk]:
        """What was held back. Called once, at the end or after a failure; sets `failure` if the answer is not whole."""
        ...


KeyHeaders = Callable[[str], Mapping[str, str]]
"""The headers that show the key, which may be empty."""


def bearer(key: str) -> Mapping[str, str]:
    """The usual way to show a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body is sent piece by piece, so that it does not hold up the event loop."""
    return io.BytesIO(body) if body and len(body) > WHOLE_BYTES else body


class HttpEndpoint:
    """One endpoint's connections. Used on one event loop, closed once. Raises ConfigError on a wrong address or key."""

    def __init__(self, config: EndpointConfig, key_headers: KeyHeaders = bearer) -> None:
        self._config = config
        self._base = _base_url(config)
        self._headers = _headers(config, key_headers)
        self._session: aiohttp.ClientSession | None = None
        self._drains: set[asyncio.Task[None]] = set()
        self._streams: set[aiohttp.ClientResponse] = set()
        self._closed = False
        self.secrets = tuple(value for value in (config.key().strip(), *config.headers.values()) if value)
        """What must never be seen in a message."""

    async def stream(
        self, path: str, body: Mapping[str, Any], reading: Reading
    ) -> AsyncGenerator[Sequence[Chunk], None]:
        """POST `body` and yield one batch for each read that brought chunks. Raises ProviderError."""
        silence = self._config.silence_timeout
        response = await self._send("POST", path, silence, orjson.dumps(body))
        self._streams.add(response)
        try:
            source = _Body(response, reading, silence)
            while not source.ended:
                chunks = await source.next_batch()
                if chunks:
                    yield chunks
                    source.stirred()
            if reading.failure:
                raise reading.failure
        finally:
            self._streams.discard(response)
            self._let_go(response, reusable=reading.done)

    async def get_json(self, path: str, seconds: float, query: Mapping[str, str] | None = None) -> Any:
        """GET a JSON document within so many seconds. Raises ProviderError."""
        return await self._json("GET", path, seconds, query=query)

    async def post_json(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        """POST `body` for a JSON document within so many seconds. Raises ProviderError."""
        return await self._json("POST", path, seconds, orjson.dumps(body))

    async def _json(
        self, method: str, path: str, seconds: float, body: bytes | None = None, query: Mapping[str, str] | None = None
    ) -> Any:
        try:
            async with asyncio.timeout(seconds), await self._send(method, path, seconds, body, query) as response:
                return orjson.loads(await response.read())
        except orjson.JSONDecodeError as error:
            raise ProviderError("The endpoint did not answer with JSON. Check its base URL.") from error
        except aiohttp.ClientError as error:
            raise network_error(error) from error
        except TimeoutError as error:
            raise _silent() from error

    async def close(self) -> None:
        """Close every connection. Streams that still run end with a ProviderError, and nothing more is asked."""
        self._closed = True
        for response in self._streams:
            response.content.set_exception(aiohttp.ServerDisconnectedError())
        for task in self._drains:
            task.cancel()
        await asyncio.gather(*self._drains, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def _send(
        self, method: str, path: str, seconds: float, body: bytes | None = None, query: Mapping[str, str] | None = None
    ) -> aiohttp.ClientResponse:
        """Send, and wait so many seconds for the status line. Any status but success is raised."""
        if self._closed:
            raise ProviderError("The endpoint was changed or removed. Choose a model again.", status=503)
        url = self._base.joinpath(*path.split("/")).with_query(self._base.query).update_query(query or {})
        try:
            async with asyncio.timeout(seconds):
                response = await self._request(method, url, body)
        except aiohttp.ClientError as error:
            raise network_error(error) from error
        except TimeoutError as error:
            raise _silent() from error
        if response.status < 300:
            return response
        wait = retry_seconds(response.headers.get("Retry-After"), time.time())
        raise status_error(response.status, await _error_body(response), self.secrets, wait)

    async def _request(self, method: str, url: URL, body: bytes | None) -> aiohttp.ClientResponse:
        """Send; once more when the connection was an old one that the server had closed before this request."""
        sent = SimpleNamespace(reused=False)
        try:
            return await self._client().request(
                method, url, data=_payload(body), allow_redirects=False, trace_request_ctx=sent
            )
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not sent.reused:
                raise
            return await self._client().request(method, url, data=_payload(body), allow_redirects=False)

    def _client(self) -> aiohttp.ClientSession:
        """The session, made at the first request, when there is an event loop."""
        if self._session is None:
            seconds = self._config.connect_timeout
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS, resolver=SafeResolver()),
                timeout=aiohttp.ClientTimeout(total=None, connect=seconds, sock_connect=seconds),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                trace_configs=[_reuse_trace()],
            )
        return self._session

    def _let_go(self, response: aiohttp.ClientResponse, *, reusable: bool) -> None:
        """Close the connection at once, unless all that counts has come: then read on for a moment, to use it again."""
        if not reusable or response.content.at_eof():
            response.close()
            return
        task = asyncio.create_task(_drain(response))
        self._drains.add(task)
        task.add_done_callback(self._drains.discard)
        task.add_done_callback(lambda _: response.close())  # a task cancelled before its start runs nothing


class _Body:
    """The body of one answer, one batch for each read. `ended` when there is nothing more to read."""

    def __init__(self, response: aiohttp.ClientResponse, reading: Reading, silence: float) -> None:
        self._content = response.content
        self._reading = reading
        self._silence = silence
        self._loop = asyncio.get_running_loop()
        self._begun = False
        self.ended = False
        self.stirred()

    def stirred(self) -> None:
        """Start the silence anew. Comments do not come here."""
        self._deadline = self._loop.time() + (GRACE_SECONDS if self._reading.finished else self._silence)

    async def next_batch(self) -> list[Chunk]:
        reading = self._reading
        try:
            chunks = await self._take_next()
        except ProviderError as error:
            reading.failure = error
            chunks = []
        if self.ended or reading.done or reading.failure:
            self.ended = True
            chunks += reading.end()
        return chunks

    async def _take_next(self) -> list[Chunk]:
        data = await self._read()
        if not data:
            self.ended = True
            return self._reading.take(self._reading.decoder.end(), last=True)
        if not self._begun and self._is_document(data):
            return await self._take_document(data)
        records = self._reading.decoder.feed(data)
        if records:
            self.stirred()
        return self._reading.take(records)

    async def _read(self) -> bytes:
        """The bytes of one read, empty when the body ended. How it ended is told by what it held."""
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._content.readany()
        except aiohttp.ClientError as error:
            _log.info("The body of an answer broke off: %s", type(error).__name__)
        except TimeoutError as error:
            if not self._reading.finished:
                raise _silent() from error
        return b""

    def _is_document(self, data: bytes) -> bool:
        """Whether the body is one JSON document in place of a stream. Raises ProviderError on HTML."""
        first = data.lstrip(_BLANK)[:1]
        self._begun = bool(first)
        if first == b"<":
            raise ProviderError(
                "The endpoint answered with an HTML page in place of a model's answer. Check its base URL."
            )
        return first in (b"{", b"[") and isinstance(self._reading.decoder, SseDecoder)

    async def _take_document(self, data: bytes) -> list[Chunk]:
        whole = bytearray(data)
        while data and len(whole) <= MAX_RECORD_BYTES:
            self.stirred()
            data = await self._read()
            whole += data
        self.ended = True
        return self._reading.take_whole(bytes(whole))


def _reuse_trace() -> aiohttp.TraceConfig:
    """Marks the requests that go over a connection that was used before."""

    async def reused(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx.reused = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(reused)
    return trace


def _silent() -> ProviderError:
    return ProviderError("Read timeout", status=504, retryable=True)


def _base_url(config: EndpointConfig) -> URL:
    try:
        url = URL(config.base_url.rstrip("/"))
    except ValueError as error:
        raise ConfigError(f"Setting base_url of the endpoint {config.id!r}: not a valid address.") from error
    if is_forbidden_host(url.host or ""):
        raise ConfigError(f"Setting base_url of the endpoint {config.id!r}: a link-local or metadata address.")
    return url


def _headers(config: EndpointConfig, key_headers: KeyHeaders) -> dict[str, str]:
    """The headers of every request. Compression is not asked for: it would hold a stream back."""
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "Odysseus"}
    headers.update(key_headers(config.key().strip()))
    headers.update(config.headers)
    if not all(text.isprintable() for pair in headers.items() for text in pair):
        raise ConfigError(f"The key or a header of the endpoint {config.id!r} holds a control character.")
    return headers


async def _error_body(response: aiohttp.ClientResponse) -> bytes:
    """The first bytes of an error's body; whatever came when it does not end in time."""
    body = bytearray()
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):  # the status alone is an answer
        async with asyncio.timeout(ERROR_BODY_SECONDS), response:
            while len(body) < ERROR_BODY_BYTES and (data := await response.content.readany()):
                body += data
    response.close()
    return bytes(body[:ERROR_BODY_BYTES])


async def _drain(response: aiohttp.ClientResponse) -> None:
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):  # then the connection is not used again, that is all
        async with asyncio.timeout(DRAIN_SECONDS):
            while await response.content.readany():
                pass
