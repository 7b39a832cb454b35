"""Ollama's own chat API: the provider.

Its context is as large as each prompt needs. The mapping is in its own file; sockets and time belong to the HTTP glue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import msgspec

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import ChatRequest, Chunk, ModelListing
from odysseus.providers.failures import StatusError
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.ollama_mapping import (
    ModelFacts,
    OllamaAnswer,
    fitting_context,
    refused_prompt,
    to_body,
    to_facts,
    to_listings,
    to_names,
)
from odysseus.providers.reading import RecordReading
from odysseus.providers.text_forms import Schemas
from odysseus.providers.text_tools import all_schemas, refuses_tools, without_tools, written_schemas
from odysseus.providers.wire import NdjsonDecoder

MODELS_SECONDS = 10.0
SHOW_SECONDS = 10.0
_AT_ONCE = 4
_TRIES = 3
_log = logging.getLogger(__name__)


class OllamaProvider:
    """One Ollama server. Its base URL may come with `/api` or `/v1`, or without."""

    def __init__(self, config: EndpointConfig) -> None:
        self._config = config
        origin = config.base_url.rstrip("/").removesuffix("/v1").removesuffix("/api").rstrip("/")
        self._http = HttpEndpoint(msgspec.structs.replace(config, base_url=origin))
        self._facts: dict[str, ModelFacts] = {}
        self._loaded: dict[str, int] = {}
        self._toolless: set[str] = set()  # models that take tools only as a part of the text

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Chunks as they come. Asked again with the tools in the text when the model does not take them."""
        while True:
            plain = request.model in self._toolless
            written = all_schemas(request) if plain else written_schemas(request)
            try:
                asked = without_tools(request) if plain else request
                async with aclosing(self._fitted(asked, written)) as batches:
                    async for batch in batches:
                        yield batch
                return
            except StatusError as error:
                if plain or not refuses_tools(request, error):
                    raise
                self._toolless.add(request.model)

    async def _fitted(self, request: ChatRequest, written: Schemas) -> AsyncGenerator[Sequence[Chunk], None]:
        """Asked again with a larger context when the prompt did not fit the one it was given."""
        num_ctx = await self._context(request)
        for tries_left in range(_TRIES - 1, -1, -1):
            try:
                async with aclosing(self._attempt(request, num_ctx, written)) as batches:
                    async for batch in batches:
                        self._loaded[request.model] = num_ctx
                        yield batch
                return
            except StatusError as error:
                prompt = refused_prompt(error.body) if error.status in (400, 500) else None
                if prompt is None:
                    raise
                larger = await self._context(request, prompt or num_ctx)
                if larger <= num_ctx or not tries_left:
                    raise _too_long(num_ctx, prompt) from error
                num_ctx = larger

    def _attempt(self, request: ChatRequest, num_ctx: int, written: Schemas) -> AsyncGenerator[Sequence[Chunk], None]:
        assembly = Assembly([tool.name for tool in request.tools] or written, written)
        reading = RecordReading(NdjsonDecoder(), OllamaAnswer(), assembly, self._http.secrets)
        return self._http.stream("api/chat", to_body(request, num_ctx), reading)

    async def _context(self, request: ChatRequest, prompt_tokens: int | None = None) -> int:
        """Never smaller than the last time, since each change of it loads the model anew."""
        if self._config.context_length:
            return self._config.context_length
        needed = max(fitting_context(request, prompt_tokens), self._loaded.get(request.model, 0))
        limit = (await self._facts_of(request.model)).context_length
        return min(needed, limit) if limit else needed

    async def _facts_of(self, model: str) -> ModelFacts:
        """What the server tells of the model, asked once. A server that cannot tell may still answer."""
        if model not in self._facts:
            try:
                shown = await self._http.post_json("api/show", {"model": model}, SHOW_SECONDS)
            except ProviderError as error:
                _log.info("The server does not describe a model: status %d", error.status)
                return ModelFacts()
            self._facts[model] = to_facts(shown)
        return self._facts[model]

    async def models(self) -> Sequence[ModelListing]:
        """The configured models, else those that the server has and that can chat."""
        if self._config.models:
            return [ModelListing(name) for name in self._config.models]
        names = to_names(await self._http.get_json("api/tags", MODELS_SECONDS))
        gate = asyncio.Semaphore(_AT_ONCE)

        async def known(name: str) -> ModelFacts:
            async with gate:
                return await self._facts_of(name)

        return to_listings(names, await asyncio.gather(*map(known, names)))

    async def count(self, model: str, texts: Sequence[str]) -> Sequence[int] | None:
        """The server has no call for it."""
        return None

    def state(self) -> str:
        return "ready"

    async def preload(self) -> None:
        """The server loads a model when it is asked."""

    async def close(self) -> None:
        await self._http.close()


def _too_long(num_ctx: int, prompt: int) -> ProviderError:
    size = f" of {prompt:,} tokens" if prompt else ""
    return ProviderError(
        f"The prompt{size} does not fit the model's context of {num_ctx:,} tokens: shorten the chat or choose a model "
        "with a larger context.",
        status=400,
    )
