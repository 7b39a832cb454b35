"""Text as SQLite and UTF-8 can hold it, applied once where it enters the program; as searches compare it; cut short."""

from __future__ import annotations

import re
import unicodedata

# Accents and the like of European scripts, Hebrew and Arabic. The vowels of Indian scripts are marks too, and stay.
_MARKS = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]")
_SLICE = 8192
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Replace NUL and lone surrogates by U+FFFD; a surrogate pair in two halves becomes its character."""
    if not _UNSTORABLE.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "�")


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters of a text; an ellipsis is the last of them where there are more."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def unaccented(text: str) -> str:
    """One form for each character, without accents."""
    if text.isascii():
        return text
    if len(text) > _SLICE:  # no other thread goes on while a text is normalised
        return "".join(unaccented(text[start : start + _SLICE]) for start in range(0, len(text), _SLICE))
    parted = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    return unicodedata.normalize("NFC", _MARKS.sub("", parted))


def plain(text: str) -> str:
    """What a search compares: without accents and case. It may be longer or shorter than the text."""
    return unaccented(text).casefold()
