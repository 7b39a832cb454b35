"""What answers at an address, and which of the common local servers run here. Only ever asked for, never assumed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from msgspec import structs

from odysseus.config import EndpointConfig, EndpointKind
from odysseus.errors import BadRequest, ProviderError
from odysseus.providers.base import ModelListing, Provider

TEST_SECONDS = 10.0
LOCAL_SECONDS = 1.0
LOCAL_SERVERS: tuple[tuple[str, int, EndpointKind, str], ...] = (
    ("Ollama", 11434, "ollama", ""),
    ("llama.cpp", 8080, "openai", "/v1"),
    ("LM Studio", 1234, "openai", "/v1"),
    ("vLLM", 8000, "openai", "/v1"),
)

Make = Callable[[EndpointConfig], Provider]


@dataclass(frozen=True, slots=True)
class Found:
    """A server that lists its models."""

    endpoint: EndpointConfig
    models: Sequence[ModelListing]


def guesses(endpoint: EndpointConfig) -> Sequence[EndpointConfig]:
    """The ways in which an address and a key may be meant, likeliest first. A path that is given is kept first."""
    parts = urlsplit(endpoint.base_url)
    if (parts.hostname or "").endswith("anthropic.com"):
        return [replace_endpoint(endpoint, "anthropic", endpoint.base_url)]
    as_openai = replace_endpoint(endpoint, "openai", endpoint.base_url)
    if parts.path.rstrip("/"):
        return [as_openai]
    with_path = replace_endpoint(endpoint, "openai", endpoint.base_url + "/v1")
    as_ollama = replace_endpoint(endpoint, "ollama", endpoint.base_url)
    return [as_ollama, with_path, as_openai] if parts.port == 11434 else [with_path, as_openai, as_ollama]


def replace_endpoint(endpoint: EndpointConfig, kind: EndpointKind, base_url: str) -> EndpointConfig:
    """The same endpoint, meant in another way."""
    return structs.replace(endpoint, kind=kind, base_url=base_url)


async def identify(endpoint: EndpointConfig, make: Make, seconds: float = TEST_SECONDS) -> Found:
    """The first way that lists models. Raises BadRequest with the likeliest way's failure."""
    failures: list[str] = []
    for guess in guesses(endpoint):
        try:
            return Found(guess, await _list(guess, make, seconds))
        except ProviderError as error:
            failures.append(error.message)
    raise BadRequest(failures[0])


async def find_local(make: Make, own_port: int) -> Sequence[Found]:
    """The common local servers that answer on loopback just now, without this one."""
    asked = [_find(make, *server) for server in LOCAL_SERVERS if server[1] != own_port]
    return [found for found in await asyncio.gather(*asked) if found]


async def _find(make: Make, label: str, port: int, kind: EndpointKind, path: str) -> Found | None:
    endpoint = EndpointConfig(id=f"local-{port}", kind=kind, label=label, base_url=f"http://127.0.0.1:{port}{path}")
    try:
        return Found(endpoint, await _list(endpoint, make, LOCAL_SECONDS))
    except ProviderError:
        return None  # nothing there, which is the usual case


async def _list(endpoint: EndpointConfig, make: Make, seconds: float) -> Sequence[ModelListing]:
    provider = make(endpoint)
    try:
        async with asyncio.timeout(seconds):
            return await provider.models()
    except TimeoutError as error:
        raise ProviderError("The endpoint did not answer in time.", status=504) from error
    finally:
        await provider.close()
