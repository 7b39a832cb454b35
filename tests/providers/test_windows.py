"""Counting by the endpoint's tokenizer, and the window of a model: who is asked, how often, what if nobody tells."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from upstream import Cut, Upstream

from odysseus.config import ChatConfig, EndpointConfig
from odysseus.providers.anthropic import AnthropicProvider, shared_out
from odysseus.providers.base import ModelListing, Provider
from odysseus.providers.ollama import OllamaProvider
from odysseus.providers.openai import OpenAIProvider
from odysseus.providers.responses import ResponsesProvider
from odysseus.providers.router import Router
from odysseus.providers.windows import UNKNOWN_HERE, UNKNOWN_HOSTED, careful_window, is_near, listed_window

KINDS: Mapping[str, Any] = {
    "openai": OpenAIProvider,
    "anthropic": AnthropicProvider,
    "ollama": OllamaProvider,
    "openai-responses": ResponsesProvider,
}


@asynccontextmanager
async def provider(upstream: Upstream, kind: str = "openai", **settings: Any) -> AsyncIterator[Any]:
    upstream.counts = True
    base = upstream.base_url if kind.startswith("openai") else upstream.origin
    made = KINDS[kind](EndpointConfig(**{"id": "box", "kind": kind, "base_url": base, **settings}))
    try:
        yield made
    finally:
        await made.close()


async def test_llama_cpp_counts_at_its_root(upstream: Upstream) -> None:
    async with provider(upstream) as made:
        for tokens in ([5, 6, 7], [], [1]):
            upstream.reply_json({"tokens": tokens})
        assert await made.count("m", ["three"]) == [3]
        assert await made.count("m", ["", "one"]) == [0, 1]
        assert await made.count("m", []) == []
    assert [request.path for request in upstream.requests] == ["/tokenize"] * 3
    assert upstream.requests[0].json["content"] == upstream.requests[0].json["prompt"] == "three"


async def test_a_count_without_the_tokens_will_do(upstream: Upstream) -> None:
    async with provider(upstream, profile="vllm") as made:
        upstream.reply_json({"count": 12, "max_model_len": 4096})
        assert await made.count("m", ["a"]) == [12]


@pytest.mark.parametrize("status", [400, 401, 404, 405])
async def test_a_server_that_cannot_count_is_asked_once(upstream: Upstream, status: int) -> None:
    async with provider(upstream) as made:
        upstream.reply_json({"error": "no such path"}, status=status)
        assert await made.count("m", ["a", "b"]) is None
        assert await made.count("m", ["a"]) is None
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("body", [{}, {"tokens": "many"}, [1, 2]])
async def test_an_answer_of_another_kind_is_no_count(upstream: Upstream, body: Any) -> None:
    async with provider(upstream) as made:
        upstream.reply_json(body)
        assert await made.count("m", ["a"]) is None
        assert await made.count("m", ["a"]) is None
    assert len(upstream.requests) == 1


async def test_a_server_that_fails_for_a_moment_is_asked_again(upstream: Upstream) -> None:
    async with provider(upstream) as made:
        upstream.reply_json({"error": "busy"}, status=503).reply(before=[Cut()])
        assert await made.count("m", ["a"]) is None
        assert await made.count("m", ["a"]) is None
        upstream.reply_json({"tokens": [1]})
        assert await made.count("m", ["a"]) == [1]


@pytest.mark.parametrize("settings", [{"profile": "openai"}, {"profile": "groq"}])
async def test_vendors_without_a_tokenizer_are_not_asked(upstream: Upstream, settings: Any) -> None:
    async with provider(upstream, **settings) as made:
        assert await made.count("m", ["a"]) is None
    assert upstream.requests == []


@pytest.mark.parametrize("kind", ["ollama", "openai-responses"])
async def test_kinds_without_a_call_for_it_leave_it_to_estimates(upstream: Upstream, kind: str) -> None:
    async with provider(upstream, kind) as made:
        assert await made.count("m", ["a"]) is None
    assert upstream.requests == []


async def test_anthropic_counts_few_texts_by_themselves_and_many_in_one_request(upstream: Upstream) -> None:
    async with provider(upstream, "anthropic", api_key="k") as made:
        upstream.reply_json({"input_tokens": 9}).reply_json({"input_tokens": 9})
        assert await made.count("claude", ["a", " ", "b"]) == [9, 0, 9]
        assert {request.path for request in upstream.requests} == {"/v1/messages/count_tokens"}
        upstream.reply_json({"input_tokens": 100})
        counted = await made.count("claude", ["a" * size for size in (1, 2, 3, 4, 10)])
        assert counted == [5, 10, 15, 20, 50]
    assert len(upstream.requests) == 3
    assert upstream.requests[2].json["messages"][0]["content"][0] == {"type": "text", "text": "a"}


async def test_a_proxy_of_anthropic_that_cannot_count_is_asked_once(upstream: Upstream) -> None:
    async with provider(upstream, "anthropic", api_key="k") as made:
        upstream.reply_json({"type": "error"}, status=404)
        assert await made.count("claude", ["a"]) is None
        assert await made.count("claude", ["a"]) is None
    assert len(upstream.requests) == 1


@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**6), min_size=1))
def test_what_is_shared_out_adds_up(tokens: int, sizes: list[int]) -> None:
    parts = shared_out(tokens, sizes)
    assert len(parts) == len(sizes)
    assert min(parts) >= 0
    assert sum(parts) == (tokens if sum(sizes) else 0)


@asynccontextmanager
async def llama_cpp(props: Any, status: int = 200) -> AsyncIterator[str]:
    """A server that lists its model as llama.cpp does, with the window that it was trained for."""
    entry = {"id": "q", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [entry]})

    async def tell(_: web.Request) -> web.Response:
        return web.json_response(props, status=status)

    app = web.Application()
    app.router.add_get("/v1/models", models)
    app.router.add_get("/props", tell)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("props", "status", "window"),
    [
        ({"default_generation_settings": {"n_ctx": 4096}}, 200, 4096),
        ({"default_generation_settings": {"n_ctx": "many"}}, 200, None),
        ([], 200, None),
        ({"error": "x"}, 404, None),
    ],
)
async def test_the_window_of_llama_cpp_is_the_one_it_was_started_with(
    props: Any, status: int, window: int | None
) -> None:
    async with llama_cpp(props, status) as base_url:
        made = OpenAIProvider(EndpointConfig(id="box", kind="openai", base_url=base_url))
        assert await made.models() == [ModelListing("q", context_length=window)]
        await made.close()


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("", True),
        ("localhost", True),
        ("127.0.0.1", True),
        ("192.168.1.9", True),
        ("::1", True),
        ("box", True),
        ("box.lan", True),
        ("api.openai.com", False),
        ("8.8.8.8", False),
    ],
)
def test_what_runs_in_the_own_network_is_guessed_with_more_care(host: str, near: bool) -> None:
    assert is_near(host) == near
    assert careful_window(host) == (UNKNOWN_HERE if near else UNKNOWN_HOSTED)


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-mini-2024-07-18", 128_000),
        ("openai/gpt-4o", 128_000),
        ("gpt-4", 8192),
        ("gpt-4-0613", 8192),
        ("gpt-4.1-nano", 1_047_576),
        ("claude-sonnet-4-20250514", 200_000),
        ("gemini-2.5-pro", 1_048_576),
        ("gpt-4oh", None),
        ("claudette", None),
        ("nobody-knows-me", None),
    ],
)
def test_hosted_models_have_their_published_windows(model: str, window: int | None) -> None:
    assert listed_window("api.example.com", model) == window
    assert listed_window("127.0.0.1", model) is None


async def routed(upstream: Upstream, **settings: Any) -> tuple[Router, int]:
    def make(config: EndpointConfig) -> Provider:
        return OpenAIProvider(config)

    router = Router(ChatConfig(endpoint="box", model="fake-model"), make)
    router.add(EndpointConfig(**{"id": "box", "kind": "openai", "base_url": upstream.base_url, **settings}))
    return router, await (await router.route("box", "fake-model")).window()


async def test_a_window_that_is_set_is_taken_without_asking(upstream: Upstream) -> None:
    router, window = await routed(upstream, context_length=5000)
    assert (window, upstream.model_requests) == (5000, [])
    await router.close()


async def test_else_the_endpoint_is_asked_once(upstream: Upstream) -> None:
    upstream.models_reply(b'{"data": [{"id": "fake-model", "max_model_len": 16384}]}')
    router, window = await routed(upstream)
    assert window == 16384
    assert await (await router.route("box", "fake-model")).window() == 16384
    assert len(upstream.model_requests) == 1
    await router.close()


async def test_when_nobody_tells_the_guess_is_careful_and_the_endpoint_is_not_asked_at_every_turn(
    upstream: Upstream,
) -> None:
    upstream.models_reply(b"no list", status=500)
    router, window = await routed(upstream)
    assert window == UNKNOWN_HERE
    assert await (await router.route("box", "fake-model")).window() == UNKNOWN_HERE
    assert len(upstream.model_requests) == 1
    await router.close()
