"""Connections that cannot be made: what was wrong is told in words, without the address."""

from __future__ import annotations

import ssl

import trustme
from aiohttp import web
from aiohttp.test_utils import TestServer
from upstream import Upstream
from wire_files import collect

from odysseus.config import EndpointConfig
from odysseus.providers.openai import OpenAIProvider


async def failure_at(base_url: str) -> str:
    provider = OpenAIProvider(EndpointConfig(id="box", kind="openai", base_url=base_url))
    played = await collect(provider)
    await provider.close()
    assert "127.0.0.1" not in str(played.failure)
    return str(played.failure)


async def test_a_certificate_that_is_not_accepted_is_told() -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    server = TestServer(web.Application(), host="127.0.0.1", scheme="https")
    await server.start_server(ssl=context)
    try:
        failure = await failure_at(f"https://127.0.0.1:{server.port}/v1")
    finally:
        await server.close()
    assert failure.startswith("No secure connection to the endpoint: its certificate is signed by an authority")


async def test_a_server_without_tls_is_told(upstream: Upstream) -> None:
    assert "does not speak TLS" in await failure_at(upstream.base_url.replace("http:", "https:"))
