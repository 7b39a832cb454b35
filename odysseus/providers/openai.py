"""OpenAI-compatible chat completions: the provider, and one answer from its records to its chunks.

The mapping is in its own file; sockets and time belong to the HTTP glue, what makes an answer whole to the assembly.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import ChatRequest, Chunk, ModelListing
from odysseus.providers.failures import StatusError, clean_message, reported_error
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.openai_mapping import (
    NOT_AN_ANSWER,
    document_to_chunks,
    error_in,
    parse,
    to_body,
    to_chunks,
    to_listings,
    usual_delta,
)
from odysseus.providers.wire import Record, SseDecoder

MODELS_SECONDS = 10.0
_SENTINELS = (b"[DONE]", b"DONE")
_log = logging.getLogger(__name__)


class OpenAIProvider:
    """One OpenAI-compatible endpoint."""

    def __init__(self, config: EndpointConfig) -> None:
        self._config = config
        self._http = HttpEndpoint(config)
        self._asks_usage = True

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Chunks as they come. Asked again only when the endpoint refuses to be asked for the usage."""
        try:
            async with aclosing(self._attempt(request)) as batches:
                async for batch in batches:
                    yield batch
            return
        except StatusError as error:
            if not self._asks_usage or error.status not in (400, 422) or b"stream_options" not in error.body:
                raise
            self._asks_usage = False
        async with aclosing(self._attempt(request)) as batches:
            async for batch in batches:
                yield batch

    def _attempt(self, request: ChatRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        body = to_body(request, usage=self._asks_usage)
        return self._http.stream("chat/completions", body, OpenAIReading(self._http.secrets))

    async def models(self) -> Sequence[ModelListing]:
        """The configured models, else what the endpoint lists."""
        if self._config.models:
            return [ModelListing(name) for name in self._config.models]
        return to_listings(await self._http.get_json("models", MODELS_SECONDS))

    def state(self) -> str:
        return "ready"

    async def preload(self) -> None:
        """There is nothing to load here."""

    async def close(self) -> None:
        await self._http.close()


class OpenAIReading:
    """One answer: the records of its stream, or its one document, to chunks."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self.decoder = SseDecoder()
        self.done = False
        self.failure: ProviderError | None = None
        self._assembly = Assembly()
        self._secrets = secrets

    @property
    def finished(self) -> bool:
        return self._assembly.finished is not None

    def take(self, records: Sequence[Record], *, last: bool = False) -> list[Chunk]:
        chunks: list[Chunk] = []
        assembly = self._assembly
        for record in records:
            delta = usual_delta(record.data, assembly.model) if assembly.plain and not record.event else None
            if delta:
                chunks.append(delta)
                continue
            chunks += self._take_unusual(record, last=last)
            if self.done or self.failure:
                break
        return chunks

    def take_whole(self, body: bytes) -> list[Chunk]:
        self.done = True
        try:
            return self._assembly.add(document_to_chunks(parse(body)))
        except ProviderError as error:
            self._fail(error)
        except ValueError:
            self._fail(ProviderError(NOT_AN_ANSWER))
        return []

    def end(self) -> list[Chunk]:
        held = self._assembly.flush()
        self.failure = self.failure or self._assembly.fault(ended=self.done)
        return [*held, *self._assembly.end(whole=self.failure is None)]

    def _take_unusual(self, record: Record, *, last: bool) -> list[Chunk]:
        words = record.data.strip()
        if words in _SENTINELS:
            self.done = True
            return []
        try:
            body = parse(words)
            if record.event == "error":
                raise reported_error(error_in(body) or body)
            return self._assembly.add(to_chunks(body))
        except ProviderError as error:
            self._fail(error)
        except ValueError:
            self._take_words(words, record.event, last=last)
        return []

    def _take_words(self, words: bytes, event: str, *, last: bool) -> None:
        """A record that is not JSON: an error in words, JSON that was cut, or some keep-alive of the server's own."""
        if event == "error":
            self._fail(reported_error(words.decode("utf-8", "replace")))
        elif words.startswith(b"{") and not last:
            self._fail(ProviderError("The endpoint sent a piece of its answer that is not valid JSON."))
        else:
            _log.info("Left out a record of %d bytes that is not JSON", len(words))

    def _fail(self, error: ProviderError) -> None:
        words = clean_message(error.message, self._secrets)
        self.failure = ProviderError(words, status=error.status, retryable=error.retryable)
