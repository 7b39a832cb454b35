"""Pictures from an OpenAI-compatible endpoint: one request, its pictures as bytes.

Knows the wire of `images/generations`; must not know chats nor where the pictures are kept.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from odysseus.errors import ProviderError
from odysseus.providers.base import Image
from odysseus.providers.failures import StatusError, find_message, reported_error
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.loose import as_list, as_mapping

SECONDS = 300.0
_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


async def generate_images(
    endpoint: HttpEndpoint, prompt: str, model: str, *, size: str = "", n: int = 1, seconds: float = SECONDS
) -> list[Image]:
    """`n` pictures of this prompt; `size` is like `1024x1024`, empty for the endpoint's own. Raises ProviderError."""
    body = {"model": model, "prompt": prompt, "n": n, **({"size": size} if size else {})}
    try:
        answer = await endpoint.post_json("images/generations", {**body, "response_format": "b64_json"}, seconds)
    except StatusError as error:
        if error.status not in (400, 422) or b"response_format" not in error.body:
            raise
        answer = await endpoint.post_json("images/generations", body, seconds)
    return await asyncio.to_thread(_pictures, answer, endpoint.secrets)


def _pictures(answer: Any, secrets: Sequence[str]) -> list[Image]:
    entries = [as_mapping(entry) for entry in as_list(as_mapping(answer).get("data"))]
    if entries:
        return [_picture(entry) for entry in entries]
    if find_message(answer):
        raise reported_error(as_mapping(answer).get("error") or answer, secrets)
    raise ProviderError("The endpoint answered without a picture. Check that the model makes pictures.")


def _picture(entry: Mapping[str, Any]) -> Image:
    encoded = entry.get("b64_json")
    if not isinstance(encoded, str) or not encoded:
        if entry.get("url"):
            raise ProviderError("The endpoint answered with a picture's address in place of the picture.")
        raise ProviderError("The endpoint answered without a picture. Check that the model makes pictures.")
    try:
        data = base64.b64decode(encoded.partition(",")[2] if encoded.startswith("data:") else encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ProviderError("The endpoint sent a picture that cannot be read.") from error
    return Image(_kind(data), data)


def _kind(data: bytes) -> str:
    """The type by the first bytes: what an endpoint says of it is often wrong."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    for begin, kind in _KINDS:
        if data.startswith(begin):
            return kind
    raise ProviderError("The endpoint sent a picture of a kind that is not known.")
