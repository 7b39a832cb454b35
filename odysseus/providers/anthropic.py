"""Anthropic's Messages API: the provider.

The mapping is in its own file; sockets and time belong to the HTTP glue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from itertools import accumulate

import msgspec

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.providers.anthropic_answer import AnthropicAnswer
from odysseus.providers.anthropic_mapping import next_page, to_body, to_listings
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import ChatRequest, Chunk, ModelListing
from odysseus.providers.failures import StatusError, is_retryable
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.loose import as_count, as_mapping
from odysseus.providers.reading import RecordReading
from odysseus.providers.wire import SseDecoder

VERSION = "2023-06-01"
MODELS_SECONDS = 10.0
COUNT_SECONDS = 5.0
_COUNTED_ALONE = 4
_PAGE = 1000
_MAX_PAGES = 20
_OPTIONAL = ("temperature", "output_config")  # what some models refuse
_log = logging.getLogger(__name__)


class AnthropicProvider:
    """One endpoint that speaks Messages. Its base URL may come with `/v1` or without."""

    def __init__(self, config: EndpointConfig) -> None:
        self._config = config
        base_url = config.base_url.rstrip("/").removesuffix("/v1") + "/v1"
        self._http = HttpEndpoint(msgspec.structs.replace(config, base_url=base_url), _key_headers)
        self._refused: set[tuple[str, str]] = set()
        self._counts = True

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Chunks as they come. Asked again without a setting that this model refuses."""
        while True:
            body = to_body(request)
            for name in _OPTIONAL:
                if (request.model, name) in self._refused:
                    body.pop(name, None)
            assembly = Assembly([tool.name for tool in request.tools])
            reading = RecordReading(SseDecoder(), AnthropicAnswer(), assembly, self._http.secrets)
            try:
                async with aclosing(self._http.stream("messages", body, reading)) as batches:
                    async for batch in batches:
                        yield batch
                return
            except StatusError as error:
                refused = [name for name in _OPTIONAL if name in body and name.encode() in error.body]
                if error.status != 400 or not refused:
                    raise
                self._refused.update((request.model, name) for name in refused)

    async def models(self) -> Sequence[ModelListing]:
        """The configured models, else what the endpoint lists."""
        if self._config.models:
            return [ModelListing(name) for name in self._config.models]
        listings: dict[str, ModelListing] = {}
        after = ""
        for _ in range(_MAX_PAGES):
            query = {"limit": str(_PAGE), **({"after_id": after} if after else {})}
            page = await self._http.get_json("models", MODELS_SECONDS, query)
            listings |= {listing.id: listing for listing in to_listings(page)}
            after = next_page(page)
            if not after:
                break
        return list(listings.values())

    async def count(self, model: str, texts: Sequence[str]) -> Sequence[int] | None:
        """By `messages/count_tokens`: each text by itself, or many in one request with the sum shared out."""
        if not self._counts:
            return None
        try:
            if len(texts) <= _COUNTED_ALONE:
                return await asyncio.gather(*(self._tokens(model, [text]) for text in texts))
            return shared_out(
                await self._tokens(model, texts), [len(text.encode("utf-8", "replace")) for text in texts]
            )
        except ProviderError as error:
            self._counts = not isinstance(error, StatusError) or is_retryable(error.status)
            _log.info("The endpoint does not count tokens: status %d", error.status)
            return None

    async def _tokens(self, model: str, texts: Sequence[str]) -> int:
        written = [{"type": "text", "text": text} for text in texts if text.strip()]
        if not written:
            return 0
        body = {"model": model, "messages": [{"role": "user", "content": written}]}
        counted = as_count(
            as_mapping(await self._http.post_json("messages/count_tokens", body, COUNT_SECONDS)).get("input_tokens")
        )
        if counted is None:
            raise StatusError("The endpoint did not say how many tokens there are.", status=404, body=b"")
        return counted

    def state(self) -> str:
        return "ready"

    async def preload(self) -> None:
        """There is nothing to load here."""

    async def close(self) -> None:
        await self._http.close()


def shared_out(tokens: int, sizes: Sequence[int]) -> list[int]:
    """A sum of tokens among texts of these sizes; the parts add up to it."""
    ends = [tokens * total // max(1, sum(sizes)) for total in accumulate(sizes)]
    return [end - before for before, end in zip([0, *ends], ends, strict=False)]


def _key_headers(key: str) -> Mapping[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}
