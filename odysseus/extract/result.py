"""What is asked of a reading and what comes of it. Shared by the server and the process that reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "ocr", "image", "none", "failed"]


@dataclass(frozen=True, slots=True)
class ExtractLimits:
    """How much one file may cost, and how much of it is read.

    `bytes` of the file (plain text and CSV are read that far, other formats refused above it), `pages` of a PDF and
    slides, `pixels` of a picture as it is decoded, `unpacked` bytes of an archive and its `ratio` to the packed ones,
    `characters` of text in all, `table_characters` of one sheet or CSV (head and tail above it), `cell_characters` and
    `columns` of a table, `seconds` by the clock, `memory` bytes of the process.
    """

    bytes: int = 100_000_000
    pages: int = 500
    pixels: int = 100_000_000
    unpacked: int = 500_000_000
    ratio: int = 200
    characters: int = 2_000_000
    table_characters: int = 60_000
    cell_characters: int = 2_000
    columns: int = 100
    seconds: float = 60.0
    memory: int = 1_500_000_000


@dataclass(frozen=True, slots=True)
class Extracted:
    """What is in a file.

    `kind` says where the text is from: `text` the file, `ocr` a picture of it; `image` is a picture without text,
    `none` a file in which there is none, `failed` one that could not be read. `note` is for the user: empty, or what
    was left out or wrong and what to do. `mime` is what the content is, whatever it is called; `mismatch` says that the
    declared type (or, without one, the ending of the name) is another. `width` and `height` are pixels as seen.
    """

    kind: Kind
    text: str = ""
    note: str = ""
    mime: str = ""
    width: int | None = None
    height: int | None = None
    pages: int | None = None
    mismatch: bool = False


class Unreadable(Exception):
    """A file that cannot be read; the words are the note for its user."""


class Missing(Unreadable):
    """A library is not installed; `extra` is what to install for it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra `{extra}`, which is not installed: pip install 'odysseus[{extra}]'.")
        self.extra = extra


def join_notes(*notes: str) -> str:
    """Sentences, one after the other, without the empty ones."""
    return " ".join(note for note in notes if note)
