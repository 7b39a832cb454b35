"""Which models make pictures in place of words: those the settings name, and those known by their names. Pure."""

from __future__ import annotations

import re

from odysseus.config import EndpointConfig

ABLE = frozenset({"openai", "openai-responses"})
"""The kinds of endpoints whose wire has pictures."""

_NAMES = re.compile(
    r"(^|[/:_-])(dall-e|gpt-image|chatgpt-image|flux|sdxl|stable-diffusion|sd3|imagen|ideogram|recraft|qwen-image"
    r"|seedream|hidream|kandinsky|z-image)(?![a-z])",
    re.IGNORECASE,
)


def makes_pictures(endpoint: EndpointConfig, model: str) -> bool:
    """Whether a model of this endpoint is asked for pictures."""
    return endpoint.kind in ABLE and (model in endpoint.image_models or bool(_NAMES.search(model)))
