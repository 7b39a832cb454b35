"""Pictures over a real socket: the shapes of the answer, and clean errors."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from upstream import Hang, Upstream

from odysseus.config import EndpointConfig
from odysseus.errors import ProviderError
from odysseus.providers.base import Image
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.images import generate_images

KEY = "sk-test-0123456789"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
JPEG = b"\xff\xd8\xff\xe0" + bytes(40)
WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(8)


@pytest.fixture
async def endpoint(upstream: Upstream) -> AsyncIterator[HttpEndpoint]:
    made = HttpEndpoint(EndpointConfig(id="e", kind="openai", base_url=upstream.base_url, api_key=KEY))
    yield made
    await made.close()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_pictures_come_as_bytes_with_the_type_they_have(upstream: Upstream, endpoint: HttpEndpoint) -> None:
    entries = [{"b64_json": encoded(PNG), "revised_prompt": "a cat"}, {"b64_json": encoded(JPEG)}]
    entries.append({"b64_json": "data:image/png;base64," + encoded(WEBP)})
    upstream.reply_json({"created": 1, "data": entries})
    images = await generate_images(endpoint, "a cat", "painter", size="512x512", n=3)
    assert images == [Image("image/png", PNG), Image("image/jpeg", JPEG), Image("image/webp", WEBP)]
    [request] = upstream.requests
    assert request.path == "/v1/images/generations"
    assert request.json == {
        "model": "painter", "prompt": "a cat", "n": 3, "size": "512x512", "response_format": "b64_json",
    }  # fmt: skip


async def test_a_model_that_refuses_the_format_is_asked_without_it(upstream: Upstream, endpoint: HttpEndpoint) -> None:
    upstream.reply_json({"error": {"message": "Unknown parameter: 'response_format'."}}, status=400)
    upstream.reply_json({"data": [{"b64_json": encoded(PNG)}]})
    assert await generate_images(endpoint, "a cat", "painter") == [Image("image/png", PNG)]
    assert upstream.requests[1].json == {"model": "painter", "prompt": "a cat", "n": 1}


ANSWERS: list[tuple[Any, int, str]] = [
    ({"data": [{"url": "https://cdn.example/x.png"}]}, 200, "a picture's address in place of the picture"),
    ({"data": []}, 200, "without a picture"),
    ({"data": [{"b64_json": ""}]}, 200, "without a picture"),
    ({"data": [{"b64_json": None}, 7]}, 200, "without a picture"),
    ({"data": "x"}, 200, "without a picture"),
    ([], 200, "without a picture"),
    ({"data": [{"b64_json": "***"}]}, 200, "cannot be read"),
    ({"data": [{"b64_json": encoded(b"<svg/>")}]}, 200, "not known"),
    ({"error": {"message": f"no {KEY}", "code": 402}}, 200, r"^no \(key\)$"),
    ({"error": {"message": "Blocked by our policy."}}, 400, "HTTP 400: Blocked by our policy"),
    ({"error": {"message": "busy"}}, 503, "HTTP 503: busy"),
]


@pytest.mark.parametrize(("body", "status", "words"), ANSWERS)
async def test_anything_else_is_an_error_in_words(
    upstream: Upstream, endpoint: HttpEndpoint, body: Any, status: int, words: str
) -> None:
    upstream.reply_json(body, status=status)
    with pytest.raises(ProviderError, match=words):
        await generate_images(endpoint, "a cat", "painter")
    assert len(upstream.requests) == 1


async def test_an_endpoint_that_stays_silent_is_given_up(upstream: Upstream, endpoint: HttpEndpoint) -> None:
    upstream.reply(before=[Hang()])
    with pytest.raises(ProviderError, match="Read timeout"):
        await generate_images(endpoint, "a cat", "painter", seconds=0.05)
