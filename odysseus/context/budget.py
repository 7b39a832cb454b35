"""Token figures where no tokenizer is at hand."""

from __future__ import annotations

BYTES_PER_TOKEN = 4
MESSAGE_OVERHEAD = 4


def estimate_tokens(text: str) -> int:
    """Tokens of `text` by its UTF-8 length: near enough for prose and code, and it counts CJK text dearer."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
