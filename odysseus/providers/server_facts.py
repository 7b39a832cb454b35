"""What a model server of the user's own tells beside OpenAI's calls: its tokenizer, and the window that it runs with.

llama.cpp and vLLM have `/tokenize` at the root of the server; llama.cpp has `/props` too. Each is found out once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.providers.base import ModelListing
from odysseus.providers.failures import StatusError, is_retryable
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.loose import as_count, as_mapping

SECONDS = 5.0
_AT_ONCE = 4
_log = logging.getLogger(__name__)


class ServerFacts:
    """Asks the root of one server. Owns its connections."""

    def __init__(self, config: EndpointConfig) -> None:
        root = config.base_url.rstrip("/").removesuffix("/v1").rstrip("/")
        self._http = HttpEndpoint(structs.replace(config, base_url=root))
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._counts: bool | None = None

    async def count(self, model: str, texts: Sequence[str]) -> Sequence[int] | None:
        """The tokens of each text, or None: the server does not count, or not now."""
        if self._counts is False or not texts:
            return None if texts else []
        try:
            first = await self._tokens(model, texts[0])
            self._counts = True
            return [first, *await asyncio.gather(*(self._tokens(model, text) for text in texts[1:]))]
        except ProviderError as error:
            if self._counts is None and isinstance(error, StatusError) and not is_retryable(error.status):
                self._counts = False
            _log.info("The server does not count tokens: status %d", error.status)
            return None

    async def with_windows(self, body: Any, listings: Sequence[ModelListing]) -> Sequence[ModelListing]:
        """The listings of a llama.cpp server with the window that it was started with, not the model's own."""
        if not _is_llama_cpp(body):
            return listings
        try:
            props = as_mapping(await self._http.get_json("props", SECONDS))
        except ProviderError as error:
            _log.info("The server does not tell its window: status %d", error.status)
            return listings
        window = as_count(as_mapping(props.get("default_generation_settings")).get("n_ctx"))
        return [replace(listing, context_length=window or listing.context_length) for listing in listings]

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.close()

    async def _tokens(self, model: str, text: str) -> int:
        async with self._gate:
            # llama.cpp reads `content`, vLLM the other two.
            asked = {"content": text, "model": model, "prompt": text, "add_special_tokens": False}
            answer = as_mapping(await self._http.post_json("tokenize", asked, SECONDS))
        tokens = answer.get("tokens")
        counted = len(tokens) if isinstance(tokens, list) else as_count(answer.get("count"))
        if counted is None:
            raise StatusError("The server did not say how many tokens there are.", status=404, body=b"")
        return counted


def _is_llama_cpp(body: Any) -> bool:
    entries = as_mapping(body).get("data")
    return isinstance(entries, list) and any(as_mapping(entry).get("owned_by") == "llamacpp" for entry in entries)
