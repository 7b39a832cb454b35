"""Token figures: how many a text probably has, and how many a prompt may have. Pure.

The estimate adds up what kinds of characters cost, so that numbers, code and CJK text count dearer than prose. Its
weights were fitted to five tokenizers; docs/context.md has the errors.
"""

from __future__ import annotations

from dataclasses import dataclass

from odysseus.errors import ConfigError

MESSAGE_OVERHEAD = 5
"""What a chat template adds to each message."""
IMAGE_TOKENS = 1_500
MARGIN = 1.15
"""How much dearer a text may be than its estimate says, where no tokenizer is at hand."""

ANSWER_SHARE = 4
"""Without a limit of its own, the answer gets this part of the window: one in so many."""
MOST_ANSWER = 16_384

_LOWER = bytes(range(ord("a"), ord("z") + 1))
_UPPER = bytes(range(ord("A"), ord("Z") + 1))
_DIGITS = b"0123456789"
_BREAKS = b"\n\r\t"
_MARKS = bytes(byte for byte in range(33, 127) if not chr(byte).isalnum())
_ACCENTED = bytes(range(0xC3, 0xC6))  # first bytes of Latin letters with accents
_TWO = bytes(range(0xC6, 0xE0))  # of Greek, Cyrillic, Hebrew, Arabic
_THREE = bytes(range(0xE0, 0xF0))  # of CJK and most other scripts
_FOUR = bytes(range(0xF0, 0xF8))  # of emoji
_LONG_WORD = 14
"""Letters beyond so many in a word are no word any more, but base64 or a hash."""


@dataclass(frozen=True, slots=True)
class Room:
    """A model's window in tokens, and the part of it that is kept for the answer."""

    window: int
    answer: int

    @property
    def prompt(self) -> int:
        """What a prompt may have. A little stays free, for what templates add."""
        return max(1, self.window - self.answer - self.window // 100 - 32)


def room_of(window: int, max_tokens: int | None = None) -> Room:
    """The room in a window. The answer gets what its limit says, but never more than half."""
    if window < 1:
        raise ConfigError("A model's window needs at least one token.")
    wanted = max_tokens or min(window // ANSWER_SHARE, MOST_ANSWER)
    return Room(window, min(wanted, window // 2))


def estimate_tokens(text: str) -> int:
    """Tokens of `text`, by the kinds of its characters."""
    data = text.encode("utf-8", "replace")
    size = len(data)

    def count(kind: bytes) -> int:
        return size - len(data.translate(None, kind))

    lower, upper, digits = count(_LOWER), count(_UPPER), count(_DIGITS)
    tokens = 0.26 * lower + 0.42 * upper + digits + 0.55 * count(_MARKS) + 0.4 * count(_BREAKS)
    tokens += 0.35 * max(0, lower + upper + digits - _LONG_WORD * len(data.split()))
    if not text.isascii():
        tokens += 1.5 * count(_ACCENTED) + 0.65 * count(_TWO) + 1.05 * count(_THREE) + 2 * count(_FOUR)
    return max(1, round(tokens)) if text else 0


def with_margin(tokens: float) -> int:
    """An estimate made careful."""
    return -int(-tokens * MARGIN // 1)
