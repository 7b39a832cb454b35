"""Texts cut to a budget of tokens: beginning and end stay, and a line says what is missing. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from odysseus.context.budget import estimate_tokens

HEAD_SHARE = 0.75
_MARK_TOKENS = 16


def head_and_tail(text: str, tokens: int) -> str:
    """The text, or its beginning and its end within about so many tokens, with a line between them."""
    if estimate_tokens(text) <= tokens:
        return text
    kept = _fitting(text, tokens - _MARK_TOKENS)
    head = round(kept * HEAD_SHARE)
    tail = kept - head
    line = f"[… {len(text) - kept:,} characters are left out here …]"
    return "\n".join(part for part in (text[:head].rstrip(), line, text[len(text) - tail :].lstrip()) if part)


def beginning(text: str, tokens: int) -> str:
    """The text, or its beginning within about so many tokens, with a line that says so."""
    if estimate_tokens(text) <= tokens:
        return text
    kept = _fitting(text, tokens - _MARK_TOKENS)
    return f"{text[:kept].rstrip()}\n[… {len(text) - kept:,} more characters are left out …]".lstrip()


def shares(wanted: Sequence[int], tokens: int) -> list[int]:
    """What each gets of a budget: small ones all they want, the rest is split evenly among the others."""
    given = [0] * len(wanted)
    left = max(0, tokens)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for place, index in enumerate(order):
        given[index] = min(wanted[index], left // (len(order) - place))
        left -= given[index]
    return given


def _fitting(text: str, tokens: int) -> int:
    """How many characters may stay; where letters are dearer at the ends than elsewhere, some fewer."""
    kept = max(0, len(text) * tokens // max(1, estimate_tokens(text)))
    while kept > 0 and estimate_tokens(_ends(text, kept)) > tokens:
        kept = kept * 9 // 10
    return kept


def _ends(text: str, kept: int) -> str:
    """The dearer of the cuts that may be made."""
    head = round(kept * HEAD_SHARE)
    return max(text[:kept], text[:head] + text[len(text) - (kept - head) :], key=estimate_tokens)
