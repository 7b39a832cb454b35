"""A text to the terms that the index of words keeps, the same for what is stored and what is asked. Pure.

Letters lose their case and accents. Scripts without spaces are cut into pairs, since their words are mostly two
characters long. A name like `getUserName` is kept whole and in its parts, and of long words the beginning too, since
what is asked for often stands with another ending.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from odysseus.text import unaccented

TERM_MOST = 64
BEGINNING = 5

_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana, Han
    "\uac00-\ud7af"  # Hangul, whose endings stand on the word
)
# The vowels of Indian scripts are marks, not letters.
_TOKEN = re.compile(rf"(?P<paired>[{_PAIRED}]+)|(?:[^\W_{_PAIRED}]|[\u0900-\u0963\u0966-\u0dff])+")
_COMPOUND = re.compile(r"[^\W_]+(?:[-_./:@]+[^\W_]+)+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def terms(text: str) -> list[str]:
    """The terms of a text: first as they follow each other, then the parts of names and the beginnings of words."""
    words: list[str] = []
    more: list[str] = []
    for found in _TOKEN.finditer(unaccented(text)):
        words += _whole(found)
        more += _camel_parts(found[0])
        if len(found[0]) > BEGINNING and not found["paired"] and found[0].isalpha():
            more.append(found[0].casefold()[:BEGINNING])
    return words + more


def phrases(text: str) -> list[list[str]]:
    """What is written as one word of several parts, like `E-4417`, as the terms that have to follow each other."""
    words = ([term for found in _TOKEN.finditer(word) for term in _whole(found)] for word in _compounds(text))
    return [parts for parts in words if len(parts) > 1]


def typed(text: str) -> list[list[str]]:
    """Each word of what somebody types, as the terms that have to follow each other; none for a word of signs alone."""
    return [[term for found in _TOKEN.finditer(word) for term in _whole(found)] for word in unaccented(text).split()]


def _compounds(text: str) -> list[str]:
    return _COMPOUND.findall(unaccented(text))


def _whole(found: re.Match[str]) -> Iterator[str]:
    token = found[0]
    if not found["paired"]:
        yield token.casefold()[:TERM_MOST]
    elif len(token) == 1:
        yield token
    else:
        yield from (token[place : place + 2] for place in range(len(token) - 1))


def _camel_parts(token: str) -> Iterator[str]:
    if not token.isascii() or token.islower() or token.isupper():
        return
    parts = _CAMEL.findall(token)
    if len(parts) > 1:
        yield from (part.casefold() for part in parts if len(part) > 1)
