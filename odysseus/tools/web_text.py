"""What the body of an answer from the web is, and its text.

Knows content types, charsets and the process that reads HTML; nothing of how the body was fetched.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from odysseus.text import clean_text
from odysseus.tools.base import ToolError, one_line
from odysseus.worker import WorkerError, ask_worker

READING_SECONDS = 15.0
_SCRIPT = Path(__file__).with_name("page_worker.py")
_SNIFFED = 4096

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(
    r"text/.+|application/(.+\+)?(json|xml|yaml|toml)|application/(x-ndjson|jsonl|x-yaml|javascript|ecmascript|sql)"
)
_UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown"})
_MAGIC = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"RIFF", "a picture or a sound"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
)
# These could also begin a text.
_WORDLIKE = frozenset({b"GIF8", b"RIFF"})
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{2,40})")
_LATIN = frozenset({"cp1252", "iso8859-1", "ascii"})
# Encodings of Python that no page is written in, or that make text of what a filter has read as other text.
_NO_CHARSETS = frozenset(
    {"utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
)
# Controls, and the letters without a shape that can carry words past a reader's eye.
_UNSEEN = re.compile("[\x01-\x08\x0b-\x1f\x7f\U000e0000-\U000e007f]")


@dataclass(frozen=True, slots=True)
class Page:
    """What can be read of an answer. `title` is one line, empty when there is none."""

    title: str
    text: str


async def read_text(url: str, content_type: str, charset: str, body: bytes) -> Page:
    """The text of a body: of HTML its content as Markdown, of other texts all. Raises ToolError."""
    kind = kind_of(content_type, body, charset)
    text = await asyncio.to_thread(decode, body, charset)
    if kind == "html":
        return await read_html(text, url)
    return Page("", await asyncio.to_thread(_tidy, text))


def kind_of(content_type: str, body: bytes, charset: str = "") -> Literal["html", "text"]:
    """What a body is by its type, and by itself where the type does not say. Raises ToolError that names the type."""
    head = body[:_SNIFFED].lstrip()
    magic, named = next(((magic, name) for magic, name in _MAGIC if head.startswith(magic)), (b"", ""))
    has_nul = b"\x00" in head and not _is_wide(body, charset)
    if has_nul or (named and magic not in _WORDLIKE):
        raise _not_read(content_type, named or "binary data")
    if content_type in _HTML:
        return "html"
    if _TEXT.fullmatch(content_type):
        return "text"
    if content_type not in _UNKNOWN:
        raise _not_read(content_type, "")
    return "html" if head[:200].lower().startswith((b"<!doctype html", b"<html")) else "text"


def decode(body: bytes, declared: str = "") -> str:
    """Text in its real charset: the byte order mark, the header, the page's own word, then what the bytes can be."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    name = _charset(declared) or _declared_inside(body[:_SNIFFED])
    tried = ("utf-8", name) if name in _LATIN or not name else (name, "utf-8")
    for candidate in filter(None, tried):
        try:
            return body.decode(candidate)
        except UnicodeError:
            continue
    return _guess(body)


async def read_html(html: str, url: str) -> Page:
    """The content of a page, read by a process of its own, which ends with this call. Raises ToolError."""
    try:
        answer = await ask_worker(_SCRIPT, {"url": url}, html.encode("utf-8", "replace"), READING_SECONDS)
    except (TimeoutError, WorkerError) as error:
        raise ToolError("The page is too large or too tangled to be read.") from error
    if "missing" in answer:
        raise ToolError(
            "Reading HTML needs the extra `web`: pip install 'odysseus[web]'. Plain text and JSON are read."
        )
    return Page(one_line(_tidy(answer["title"])), await asyncio.to_thread(_tidy, answer["text"]))


def _not_read(content_type: str, found: str) -> ToolError:
    called = one_line(content_type)[:100]
    what = f"{found} ({called})" if found and called else found or f"of the type {called}"
    return ToolError(f"The address holds {what}. Only HTML, text, Markdown, JSON and XML are read.")


def _is_wide(body: bytes, charset: str) -> bool:
    """Whether the text is of two or four bytes for each letter, where NUL is usual."""
    marked = body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return marked or charset.lower().startswith(("utf-16", "utf-32"))


def _charset(name: str) -> str:
    """Python's name of a charset, empty for none, an unknown one, and what is no charset of pages."""
    try:
        found = codecs.lookup(name.strip("\"' ")).name if name else ""
        "".encode(found or "utf-8")
    except (LookupError, ValueError):
        return ""
    if found.replace("_", "-") in _NO_CHARSETS:
        return ""
    return "cp1252" if found in _LATIN else found


def _declared_inside(head: bytes) -> str:
    found = _META_CHARSET.search(head) or _XML_CHARSET.search(head)
    name = _charset(found[1].decode("ascii")) if found else ""
    return "" if name.startswith(("utf-16", "utf-32")) else name


def _guess(body: bytes) -> str:
    """UTF-8 with a few broken letters, or else the usual encoding of old pages."""
    text = body.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(character > "\x7f" for character in text) - broken
    return text if broken <= whole else body.decode("cp1252", "replace")


def _tidy(text: str) -> str:
    return clean_text(_UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))).strip()
