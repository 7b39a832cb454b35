"""Embeddings over a real socket: the shapes of the answer, and clean errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from upstream import Upstream

from odysseus.config import EndpointConfig, RetrievalConfig
from odysseus.errors import ProviderError
from odysseus.providers.embeddings import EndpointEmbedding, embed_texts
from odysseus.providers.http import HttpEndpoint

KEY = "sk-test-0123456789"


@pytest.fixture
async def endpoint(upstream: Upstream) -> AsyncIterator[HttpEndpoint]:
    made = HttpEndpoint(EndpointConfig(id="e", kind="openai", base_url=upstream.base_url, api_key=KEY))
    yield made
    await made.close()


def answer(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]}


async def test_each_text_gets_its_vector(upstream: Upstream, endpoint: HttpEndpoint) -> None:
    upstream.reply_json(answer([1, 0.5], [0, -2]))
    assert await embed_texts(endpoint, ["a", ""], "embedder") == [[1.0, 0.5], [0.0, -2.0]]
    (request,) = upstream.requests
    assert request.path == "/v1/embeddings"
    assert request.json == {"model": "embedder", "input": ["a", " "], "encoding_format": "float"}


async def test_the_index_tells_the_order_and_may_be_missing(upstream: Upstream, endpoint: HttpEndpoint) -> None:
    upstream.reply_json({"data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}]})
    upstream.reply_json({"data": [{"embedding": [1]}, {"embedding": [2]}]})
    assert await embed_texts(endpoint, ["a", "b"], "m") == [[1.0], [2.0]]
    assert await embed_texts(endpoint, ["a", "b"], "m") == [[1.0], [2.0]]


@pytest.mark.parametrize(
    "body",
    [
        answer([1.0]),
        answer([1.0], [1.0, 2.0]),
        answer([1.0], [None]),
        answer([1.0], []),
        answer([1.0], "AAAA"),
        {"data": None},
        {},
        [],
    ],
)
async def test_what_is_no_answer_is_told(upstream: Upstream, endpoint: HttpEndpoint, body: Any) -> None:
    upstream.reply_json(body)
    with pytest.raises(ProviderError) as failed:
        await embed_texts(endpoint, ["a", "b"], "m")
    assert failed.value.message.endswith(".")


async def test_the_endpoints_own_words_are_told_without_the_key(upstream: Upstream, endpoint: HttpEndpoint) -> None:
    upstream.reply_json({"error": {"message": f"No such model for {KEY}"}}, status=404)
    with pytest.raises(ProviderError) as failed:
        await embed_texts(endpoint, ["a"], "m")
    assert "No such model" in failed.value.message
    assert KEY not in failed.value.message


SETTINGS = RetrievalConfig(endpoint="e", model="m")
UNABLE: list[tuple[RetrievalConfig, list[EndpointConfig], str]] = [
    (SETTINGS, [], "retrieval.endpoint"),
    (SETTINGS, [EndpointConfig(id="e", kind="anthropic", base_url="http://127.0.0.1:9")], "retrieval.endpoint"),
    (
        RetrievalConfig(endpoint="e"),
        [EndpointConfig(id="e", kind="openai", base_url="http://127.0.0.1:9")],
        "retrieval.model",
    ),
]


@pytest.mark.parametrize(("settings", "endpoints", "words"), UNABLE)
async def test_settings_that_cannot_work_are_named(
    settings: RetrievalConfig, endpoints: list[EndpointConfig], words: str
) -> None:
    with pytest.raises(ProviderError, match=words):
        await EndpointEmbedding(settings, lambda: endpoints).embed(["a"])


async def test_the_endpoint_is_taken_as_it_is_when_it_is_asked(upstream: Upstream) -> None:
    endpoints: list[EndpointConfig] = []
    embedding = EndpointEmbedding(RetrievalConfig(endpoint="e"), lambda: endpoints)
    endpoints.append(EndpointConfig(id="e", kind="openai", base_url=upstream.base_url, models=("first",)))
    upstream.reply_json(answer([3]))
    assert await embedding.embed(["a"]) == [[3.0]]
    assert upstream.requests[0].json["model"] == "first"
