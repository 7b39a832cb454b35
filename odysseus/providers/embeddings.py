"""Vectors of texts from an OpenAI-compatible endpoint, as it is when they are asked for.

Knows the wire of `embeddings`; must not know what the texts and the vectors are for.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

from odysseus.config import EndpointConfig, RetrievalConfig
from odysseus.errors import ProviderError
from odysseus.providers.failures import find_message, reported_error
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.loose import as_list, as_mapping
from odysseus.providers.profiles import profile_of

SECONDS = 30.0
ABLE = frozenset({"openai", "openai-responses"})
"""The kinds of endpoints whose wire has embeddings."""


async def embed_texts(
    endpoint: HttpEndpoint, texts: Sequence[str], model: str, *, seconds: float = SECONDS
) -> list[list[float]]:
    """A vector for each text, in their order, all of one length. Raises ProviderError."""
    body = {"model": model, "input": [text or " " for text in texts], "encoding_format": "float"}
    answer = await endpoint.post_json("embeddings", body, seconds)
    return await asyncio.to_thread(_vectors, answer, len(texts), endpoint.secrets)


class EndpointEmbedding:
    """The endpoint of the settings. `endpoints` gives those that are there now."""

    def __init__(self, config: RetrievalConfig, endpoints: Callable[[], Sequence[EndpointConfig]]) -> None:
        self._config = config
        self._endpoints = endpoints
        self.name = f"{config.endpoint}/{config.model}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text. Raises ProviderError."""
        config = self._endpoint()
        model = self._config.model or next(iter(config.models), "")
        if not model:
            raise ProviderError("No embedding model is set. Name one in the setting retrieval.model.", status=400)
        # A connection of its own: the endpoint may be another one the next time.
        http = HttpEndpoint(config, profile_of(config).key_headers)
        try:
            return await embed_texts(http, texts, model)
        finally:
            await http.close()

    def _endpoint(self) -> EndpointConfig:
        config = next((one for one in self._endpoints() if one.id == self._config.endpoint), None)
        if config is None:
            raise ProviderError(
                "The endpoint for embeddings is not there. Check the setting retrieval.endpoint.", status=400
            )
        if config.kind not in ABLE:
            raise ProviderError(
                f"The endpoint {config.name!r} makes no embeddings. Choose an OpenAI-compatible one in the setting "
                "retrieval.endpoint.",
                status=400,
            )
        return config


def _vectors(answer: Any, count: int, secrets: Sequence[str]) -> list[list[float]]:
    entries = [as_mapping(entry) for entry in as_list(as_mapping(answer).get("data"))]
    if not entries and find_message(answer):
        raise reported_error(as_mapping(answer).get("error") or answer, secrets)
    vectors: dict[int, list[float]] = {}
    for place, entry in enumerate(entries):
        index = entry.get("index")
        vectors[index if isinstance(index, int) else place] = _vector(entry.get("embedding"))
    found = [vectors[place] for place in range(count) if place in vectors]
    if len(found) != count or len({len(vector) for vector in found}) > 1:
        raise ProviderError("The endpoint answered without a vector for each text. Check that the model embeds texts.")
    return found


def _vector(value: Any) -> list[float]:
    numbers = as_list(value)
    if not numbers or not all(isinstance(one, int | float) and math.isfinite(one) for one in numbers):
        raise ProviderError("The endpoint sent a vector that cannot be read.")
    return [float(one) for one in numbers]
