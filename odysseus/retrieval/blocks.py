"""A text to the blocks that it is made of: headings, paragraphs, fences, tables, marks of pages. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["heading", "paragraph", "fence", "table", "page"]

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*")
_PAGE = re.compile(r"\[Page (\d{1,9})[^\]]*\]")
_ROW = re.compile(r"\s*\|.*\|\s*")


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is as it stands. `number` is a heading's level or a page's number; `title` a heading without its marks."""

    kind: Kind
    text: str
    number: int = 0
    title: str = ""


def prose_blocks(text: str) -> Iterator[Block]:
    """The blocks of a text with the marks of Markdown, as the readers of files give it."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        if not line.strip():
            place += 1
            continue
        end, block = _block_at(lines, place)
        yield block
        place = end


def code_blocks(text: str) -> Iterator[Block]:
    """The blocks of a program or of settings: what an empty line and then a line without indent parts."""
    held: list[str] = []
    for line in text.split("\n"):
        if line[:1].strip() and held and not held[-1].strip():
            yield from _code(held)
            held = []
        held.append(line)
    yield from _code(held)


def _code(lines: list[str]) -> Iterator[Block]:
    text = "\n".join(lines).strip("\n").rstrip()
    if text.strip():
        yield Block("fence", text)


def _block_at(lines: list[str], start: int) -> tuple[int, Block]:
    """The block that begins on a line, and the line behind it."""
    line = lines[start]
    if heading := _HEADING.fullmatch(line):
        return start + 1, Block("heading", line.strip(), len(heading[1]), heading[2])
    if page := _PAGE.fullmatch(line.strip()):
        return start + 1, Block("page", line.strip(), int(page[1]))
    if fence := _FENCE.fullmatch(line):
        end = _fence_end(lines, start, fence[1])
        return end, Block("fence", "\n".join(lines[start:end]))
    table = bool(_ROW.fullmatch(line))
    end = start + 1
    while end < len(lines) and lines[end].strip() and bool(_ROW.fullmatch(lines[end])) == table:
        if not table and _begins_another(lines[end]):
            break
        end += 1
    return end, Block("table" if table else "paragraph", "\n".join(lines[start:end]))


def _begins_another(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in (_HEADING, _FENCE)) or bool(_PAGE.fullmatch(line.strip()))


def _fence_end(lines: list[str], start: int, mark: str) -> int:
    """The line behind a fence; one that is never closed goes to the end."""
    for place in range(start + 1, len(lines)):
        text = lines[place].strip()
        if len(text) >= len(mark) and not text.strip(mark[0]):
            return place + 1
    return len(lines)
