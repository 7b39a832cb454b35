"""A file of the library to chunks with their terms. Small texts are read in a thread, everything else in a process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from odysseus.extract.extract import extract
from odysseus.extract.kinds import CSV, TSV, is_textual, sniff
from odysseus.extract.reading import read_file
from odysseus.extract.result import Extracted, ExtractLimits
from odysseus.retrieval.chunks import chunks
from odysseus.retrieval.words import terms
from odysseus.store.library import NewChunk

LIMITS = ExtractLimits(table_characters=500_000)
"""How much of one file is indexed. Of tables more than a prompt would hold."""
SMALL_TEXT = 1_000_000
"""Bytes up to which a text needs no process of its own."""

_PROSE = frozenset({".md", ".markdown", ".txt", ".rst", ".adoc", ".org", ".html", ".htm", ".csv", ".tsv", ".tab", ""})


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What a file holds: `kind` and `note` are those of its reading."""

    kind: str
    note: str
    chunks: Sequence[NewChunk]


class Reader:
    """Reads one file at a time in a process, so that those of a chat find one free."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def read(self, path: Path, name: str, shown: str) -> ReadDocument:
        """The chunks of a file; `shown` is its name with folders. One that cannot be read is an answer too."""
        found = await asyncio.to_thread(_small_text, path, name)
        if found is None:
            async with self._turn:
                found = await extract(path, name, LIMITS)
        return await asyncio.to_thread(_document, found, shown)


def _small_text(path: Path, name: str) -> Extracted | None:
    """The text of a file that is safe and quick to read here; None for all others."""
    try:
        if path.stat().st_size > SMALL_TEXT:
            return None
        mime = sniff(path, name)
    except OSError:
        return None
    if not is_textual(mime) or mime in {CSV, TSV}:
        return None
    return read_file(path, name, LIMITS, "")


def _document(found: Extracted, shown: str) -> ReadDocument:
    if found.kind not in {"text", "ocr"}:
        return ReadDocument(found.kind, found.note, [])
    code = is_textual(found.mime) and PurePath(shown).suffix.lower() not in _PROSE
    title = terms(shown)
    made = [
        NewChunk(one.text, one.heading, one.page, " ".join([*title, *terms(one.heading)]), " ".join(terms(one.text)))
        for one in chunks(found.text, code=code)
    ]
    return ReadDocument(found.kind, found.note, made)


def with_vectors(chunk: NewChunk, whole: bytes, parts: bytes) -> NewChunk:
    """The chunk with its vectors."""
    return replace(chunk, whole=whole, parts=parts)


def embedded_text(heading: str, text: str) -> str:
    """What a vector is made of: a chunk with the headings that it stands under, unless it begins with them."""
    last = heading.rpartition(" > ")[2]
    return text if not heading or last in text[: len(last) + 10] else f"{heading}.\n\n{text}"
