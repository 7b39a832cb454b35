"""Where a text holds the words that were searched for, as one short line. Pure; belongs in a thread for long texts."""

from __future__ import annotations

from collections.abc import Sequence

from odysseus.text import plain

SNIPPET = 160
_STEP = 512


def snippet_of(content: str, words: Sequence[str]) -> str:
    """Up to 160 characters around the first of the plain `words` that is found, on one line."""
    compared = plain(content)
    at = min((place for place in map(compared.find, words) if place >= 0), default=0)
    if len(compared) != len(content):
        at = _place(content, at)
    start = max(0, at - SNIPPET // 3)
    piece = " ".join(content[start : start + SNIPPET].split())
    return ("…" if start else "") + piece + ("…" if start + SNIPPET < len(content) else "")


def _place(content: str, wanted: int) -> int:
    """The place in `content` of what is at `wanted` in its plain form, near enough for a snippet."""
    passed = 0
    for start in range(0, len(content), _STEP):
        length = len(plain(content[start : start + _STEP]))
        if passed + length > wanted:
            break
        passed += length
    else:
        return 0
    for place in range(start, start + _STEP):
        passed += len(plain(content[place : place + 1]))
        if passed > wanted:
            return place
    return start
