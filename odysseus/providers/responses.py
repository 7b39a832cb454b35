"""OpenAI's Responses API: the provider.

The mapping is in its own file; sockets and time belong to the HTTP glue.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from odysseus.config import EndpointConfig
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import ChatRequest, Chunk, ModelListing
from odysseus.providers.failures import StatusError
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.openai_mapping import to_listings
from odysseus.providers.reading import RecordReading
from odysseus.providers.responses_answer import ResponsesAnswer
from odysseus.providers.responses_mapping import refused_settings, to_body
from odysseus.providers.wire import SseDecoder

MODELS_SECONDS = 10.0


class ResponsesProvider:
    """One endpoint that speaks Responses."""

    def __init__(self, config: EndpointConfig) -> None:
        self._config = config
        self._http = HttpEndpoint(config)
        self._refused: dict[str, set[str]] = {}

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """Chunks as they come. Asked again without a setting that this model refuses."""
        refused = self._refused.setdefault(request.model, set())
        while True:
            body = {name: value for name, value in to_body(request).items() if name not in refused}
            assembly = Assembly([tool.name for tool in request.tools])
            reading = RecordReading(SseDecoder(), ResponsesAnswer(), assembly, self._http.secrets)
            try:
                async with aclosing(self._http.stream("responses", body, reading)) as batches:
                    async for batch in batches:
                        yield batch
                return
            except StatusError as error:
                found = refused_settings(error.body, body.keys()) if error.status in (400, 422) else []
                if not found:
                    raise
                refused.update(found)

    async def models(self) -> Sequence[ModelListing]:
        """The configured models, else what the endpoint lists."""
        if self._config.models:
            return [ModelListing(name) for name in self._config.models]
        return to_listings(await self._http.get_json("models", MODELS_SECONDS))

    async def count(self, model: str, texts: Sequence[str]) -> Sequence[int] | None:
        """Left to an estimate."""
        return None

    def state(self) -> str:
        return "ready"

    async def preload(self) -> None:
        """There is nothing to load here."""

    async def close(self) -> None:
        await self._http.close()
