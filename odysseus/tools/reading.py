"""A part of a text file as numbered lines, in bounded memory however large the file or its lines are.

Knows an open file and text only.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from odysseus.tools.base import ToolError
from odysseus.tools.content import HEAD, encoding_of, kind_of
from odysseus.tools.walking import Patience

LINES = 500
PAGE_CHARACTERS = 14_000
LINE_CHARACTERS = 2_000
CHUNK = 65_536
COUNTED = 20_000_000


@dataclass(frozen=True, slots=True)
class Page:
    """Which part: lines from `offset` (1 is the first), the first of them from `column` (1 is its start)."""

    offset: int = 1
    limit: int = LINES
    column: int = 1


def read_page(file: BinaryIO, shown: str, page: Page, patience: Patience) -> str:
    """The lines as `number<tab>text`, and how to read on where there is more. Raises ToolError."""
    head = file.read(HEAD)
    encoding = encoding_of(head)
    if encoding is None:
        size = os.fstat(file.fileno()).st_size
        return f"{shown} is {kind_of(head)} of {size:,} bytes, not text. Its bytes are not shown."
    file.seek(len(encoding.mark))
    with io.TextIOWrapper(file, encoding.codec, "replace", newline="\n") as text:
        return _page(text, shown, page, patience)


def _page(text: TextIO, shown: str, page: Page, patience: Patience) -> str:
    for passed in range(page.offset - 1):
        if _line(text, 0, 0, patience) is None:
            raise ToolError(_too_far(shown, passed, page.offset))
    rows: list[str] = []
    room = PAGE_CHARACTERS
    number = page.offset
    held = 0
    notes: list[str] = []
    while number < page.offset + page.limit:
        skip = page.column - 1 if number == page.offset else 0
        line = _line(text, skip, LINE_CHARACTERS if page.limit > 1 else room, patience)
        if line is None:
            break
        kept, length = line
        if len(kept) > room:
            held = 1  # taken from the file, but left for the next page
            break
        if skip + len(kept) < length:
            notes.append(f"Line {number} has {length:,} characters; see more of it with {_on(number, skip, kept)}.")
        rows.append(f"{number}\t{kept}")
        room -= len(rows[-1])
        number += 1
    if not rows:
        return f"[{shown} is empty.]" if number == 1 else _fail(_too_far(shown, number - 1, page.offset))
    return "\n".join([*rows, *_notes(page, number, notes, _rest(text, held, patience))]).replace("\x00", "\ufffd")


def _on(number: int, skip: int, kept: str) -> str:
    return f"offset={number}, limit=1, column={skip + len(kept) + 1}"


def _notes(page: Page, number: int, notes: list[str], left: tuple[int, bool]) -> list[str]:
    """What follows the lines: where there is more."""
    rest, whole = left
    if rest:
        total = f" of {number - 1 + rest:,}" if whole else ""
        notes = [f"Lines {page.offset}-{number - 1}{total}; read on with offset={number}.", *notes[:5]]
    return [f"[{note}]" for note in notes[:6]]


def _line(text: TextIO, skip: int, most: int, patience: Patience) -> tuple[str, int] | None:
    """At most `most` characters of the next line behind `skip`, and the line's length; None at the end."""
    kept, length = "", 0
    while piece := text.readline(CHUNK):
        body = piece.removesuffix("\n").removesuffix("\r") if piece.endswith("\n") else piece
        end = skip + most - length
        if end > 0:
            kept += body[max(0, skip - length) : end]
        length += len(body)
        if piece.endswith("\n"):
            return kept, length
        _check(patience)
    return (kept, length) if length else None


def _rest(text: TextIO, held: int, patience: Patience) -> tuple[int, bool]:
    """How many lines follow, with those held back, and whether all were counted."""
    lines, seen, last = held, 0, "\n"
    while piece := text.read(CHUNK):
        lines += piece.count("\n")
        last = piece[-1]
        seen += len(piece)
        if seen > COUNTED or patience.over:
            return lines + 1, False
    return lines + (last != "\n"), True


def _too_far(shown: str, lines: int, offset: int) -> str:
    return f"{shown} has {lines:,} lines, so there is no line {offset:,}."


def _check(patience: Patience) -> None:
    if patience.over:
        raise ToolError("The file is so large that time was up before that line was reached. Use grep to find it.")


def _fail(message: str) -> str:
    raise ToolError(message)
