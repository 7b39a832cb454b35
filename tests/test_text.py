"""Text as the store and the wire can hold it."""

from __future__ import annotations

import random
import re

import pytest

from odysseus.text import clean_text

REPLACED = "\ufffd"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("", ""),
        ("plain é 字 🚲", "plain é 字 🚲"),
        ("a\x00b", f"a{REPLACED}b"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d", REPLACED),
        ("\ude00\ud83d", REPLACED * 2),
        ("\ud83d\ud83d\ude00", f"{REPLACED}😀"),
        ("\ud83dx\ude00", f"{REPLACED}x{REPLACED}"),
        ("\ud83d😀", f"{REPLACED}😀"),
        ("\ufeff\ufffe\uffff\U0010ffff\x01\x7f", "\ufeff\ufffe\uffff\U0010ffff\x01\x7f"),
    ],
)
def test_what_cannot_be_stored_is_replaced_and_nothing_else(text: str, clean: str) -> None:
    assert clean_text(text) == clean


@pytest.mark.parametrize("seed", range(50))
def test_any_text_becomes_text_that_can_be_stored(seed: int) -> None:
    chance = random.Random(seed)
    parts = ["\x00", "\ud83d", "\ude00", "\udfff", "a", "é", "字", "🚲", "\n", "\u2028"]
    text = "".join(chance.choices(parts, k=chance.randrange(40)))
    clean = clean_text(text)
    assert clean.encode().decode() == clean
    assert "\x00" not in clean
    assert clean_text(clean) == clean
    joined = re.sub("[\ud800-\udbff][\udc00-\udfff]", lambda pair: chr(codepoint(pair[0])), text)
    assert clean == re.sub("[\x00\ud800-\udfff]", REPLACED, joined)


def codepoint(pair: str) -> int:
    """The character that the two halves of a surrogate pair stand for."""
    return 0x10000 + ((ord(pair[0]) - 0xD800) << 10) + ord(pair[1]) - 0xDC00
