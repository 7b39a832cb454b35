"""OpenAI-compatible chat completions: the provider, and one answer from its records to its chunks.

The mapping is in its own file; sockets and time belong to the HTTP glue, what makes an answer whole to the assembly.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import replace

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import ChatRequest, Chunk, ModelListing, ProviderState, ToolCall
from odysseus.providers.failures import StatusError, clean_message, reported_error
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.openai_calls import joined_state
from odysseus.providers.openai_mapping import (
    NOT_AN_ANSWER,
    document_to_chunks,
    error_in,
    parse,
    to_chunks,
    to_listings,
    usual_delta,
)
from odysseus.providers.openai_request import SOURCE, Ways, first_ways, to_body, without_refused
from odysseus.providers.profiles import profile_of
from odysseus.providers.server_facts import ServerFacts
from odysseus.providers.text_forms import Schemas
from odysseus.providers.text_tools import all_schemas, without_tools, written_schemas
from odysseus.providers.wire import Record, SseDecoder

MODELS_SECONDS = 10.0
_OWN_SERVERS = frozenset({"generic", "llama.cpp", "vllm"})
_SENTINELS = (b"[DONE]", b"DONE")
_log = logging.getLogger(__name__)


class OpenAIProvider:
    """One OpenAI-compatible endpoint. Raises ConfigError on an unknown profile, a wrong address or key."""

    def __init__(self, config: EndpointConfig) -> None:
        self._config = config
        self._profile = profile_of(config)
        self._http = HttpEndpoint(config, self._profile.key_headers)
        self._asks_usage = self._profile.asks_usage
        self._ways: dict[str, Ways] = {}
        self._facts = ServerFacts(config) if self._profile.name in _OWN_SERVERS else None

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Chunks as they come. Asked again only without what the endpoint refused by name, each once."""
        ways = self._ways_of(request.model)
        while True:
            try:
                async with aclosing(self._attempt(request, ways)) as batches:
                    async for batch in batches:
                        self._learn(request.model, ways)
                        yield batch
                return
            except StatusError as error:
                changed = without_refused(ways, request, error)
                if changed is None:
                    raise
                ways = changed

    def _attempt(self, request: ChatRequest, ways: Ways) -> AsyncGenerator[Sequence[Chunk], None]:
        source = f"{self._config.id}/{request.model}"
        body = to_body(request if ways.tools else without_tools(request), self._profile, ways, source)
        tools = [tool.name for tool in request.tools]
        written = written_schemas(request) if ways.tools else all_schemas(request)
        return self._http.stream("chat/completions", body, OpenAIReading(self._http.secrets, tools, source, written))

    def _ways_of(self, model: str) -> Ways:
        """What the endpoint is known to take for this model."""
        ways = self._ways.get(model) or first_ways(self._profile)
        return replace(ways, usage=ways.usage and self._asks_usage)

    def _learn(self, model: str, ways: Ways) -> None:
        """Remember what was answered: for the model, and for all where it is the server's way."""
        self._ways[model] = ways
        self._asks_usage = ways.usage

    async def models(self) -> Sequence[ModelListing]:
        """The configured models, else what the endpoint lists."""
        if self._config.models:
            return [ModelListing(name) for name in self._config.models]
        if not self._profile.models_path:
            raise ProviderError("This endpoint does not list its models: name them in its setting `models`.")
        body = await self._http.get_json(self._profile.models_path, MODELS_SECONDS)
        listings = to_listings(body)
        return await self._facts.with_windows(body, listings) if self._facts else listings

    async def count(self, model: str, texts: Sequence[str]) -> Sequence[int] | None:
        """By the server's `/tokenize`, which llama.cpp and vLLM have."""
        return await self._facts.count(model, texts) if self._facts else None

    def state(self) -> str:
        return "ready"

    async def preload(self) -> None:
        """There is nothing to load here."""

    async def close(self) -> None:
        await self._http.close()
        if self._facts:
            await self._facts.close()


class OpenAIReading:
    """One answer: the records of its stream, or its one document, to chunks.

    `tools` are the names on offer, `written` those that may be called in the text, with their schemas; `source` marks
    the states of this answer, see to_body.
    """

    def __init__(
        self,
        secrets: Sequence[str] = (),
        tools: Collection[str] = (),
        source: str = "",
        written: Schemas | None = None,
    ) -> None:
        self.decoder = SseDecoder()
        self.done = False
        self.failure: ProviderError | None = None
        self._assembly = Assembly(tools, written)
        self._secrets = secrets
        self._source = source

    @property
    def finished(self) -> bool:
        return self._assembly.finished is not None

    def take(self, records: Sequence[Record], *, last: bool = False) -> list[Chunk]:
        chunks: list[Chunk] = []
        assembly = self._assembly
        for record in records:
            delta = usual_delta(record.data, assembly.model) if assembly.plain and not record.event else None
            if delta and not assembly.watches:
                chunks.append(delta)
                continue
            if delta:
                chunks += assembly.pass_on(delta)
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
        return [*held, *map(self._marked, self._assembly.end(whole=self.failure is None))]

    def _marked(self, chunk: Chunk) -> Chunk:
        """The chunk, with the name of its source in the state that it holds."""
        match chunk:
            case ProviderState(data):
                return ProviderState({**joined_state(data), SOURCE: self._source})
            case ToolCall(state=state) if state:
                return replace(chunk, state={**state, SOURCE: self._source})
        return chunk

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
