"""A file's bytes as text and back: encoding, byte order mark, line endings. Whatever is not touched stays as it was.

Knows bytes and text only.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

HEAD = 8192

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

_KINDS = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "a Linux program"),
    (b"MZ", "a Windows program"),
    (b"SQLite format 3", "a SQLite database"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a text is kept: the codec's name, and the mark its file begins with."""

    codec: str = "utf-8"
    mark: bytes = b""


def encoding_of(head: bytes) -> Encoding | None:
    """The encoding of a file that begins with `head`; None when it is no text."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return Encoding(codec, mark)
    return None if b"\x00" in head[:HEAD] else Encoding()


def kind_of(head: bytes) -> str:
    """What binary data is, in words."""
    return next((words for start, words in _KINDS if head.startswith(start)), "binary data")


def decode(content: bytes) -> tuple[str, Encoding] | None:
    """The text, such that `encode` gives the same bytes again; None when it is no text."""
    encoding = encoding_of(content)
    if encoding is None:
        return None
    try:
        # Bytes that are no UTF-8 are kept as lone surrogates, which `encode` turns into the same bytes.
        errors = "surrogateescape" if encoding.codec == "utf-8" else "strict"
        return content[len(encoding.mark) :].decode(encoding.codec, errors), encoding
    except UnicodeDecodeError:
        return None


def encode(text: str, encoding: Encoding) -> bytes:
    """The bytes of a text."""
    errors = "surrogateescape" if encoding.codec == "utf-8" else "strict"
    return encoding.mark + text.encode(encoding.codec, errors)


def line_ending(text: str) -> str:
    """The line ending that a text has most of; `\\n` for one without."""
    carriages = text.count("\r\n")
    return "\r\n" if carriages > text.count("\n") - carriages else "\n"


def with_ending(text: str, ending: str) -> str:
    """A text with all its lines ended in one way."""
    plain = text.replace("\r\n", "\n")
    return plain if ending == "\n" else plain.replace("\n", ending)


def lines_of(text: str) -> list[str]:
    """The lines with their endings. Only `\\n` ends a line, as in every tool that counts them."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])
