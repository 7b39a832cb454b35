"""A text to the pieces that are found and shown: by its structure, each with the headings it stands under. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from odysseus.retrieval.blocks import Block, code_blocks, prose_blocks

LEAST = 800
"""A chunk is closed at the next block once it has so many characters."""
MOST = 1_500
"""A chunk never has more characters."""
OVERLAP = 150
"""Where a paragraph is split, up to so many characters stand in both pieces."""
HEADING_MOST = 200

_HEAD_MOST = 400  # of a table's head or a fence's first line, which every piece of it repeats
_RULE = re.compile(r"\s*\|[\s:|-]+\|\s*")
_ENDS = (re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]"), re.compile(r"\n"), re.compile(r"\s+"))


@dataclass(frozen=True, slots=True)
class Chunk:
    """`heading` is the path of headings at its beginning, like `Guide > Setup`; `page` where it begins, if known."""

    text: str
    heading: str = ""
    page: int | None = None


def chunks(text: str, *, code: bool = False) -> list[Chunk]:
    """The chunks of a text in their order. `code` says that lines with `#` are no headings.

    Everything but white space and the marks of pages is in one of them.
    """
    packer = _Packer()
    for block in code_blocks(text) if code else prose_blocks(text):
        packer.add(block)
    return packer.end()


def windows(text: str, most: int) -> list[str]:
    """Sentences in groups of about `most` characters, for models that know short texts best."""
    groups, held = [], ""
    for sentence in _sentences(text, most):
        if held and len(held) + len(sentence) > most:
            groups.append(held)
            held = ""
        held = f"{held} {sentence}".strip()
    return [*groups, held] if held else groups


def _sentences(text: str, most: int) -> Iterator[str]:
    for part in re.split(r"(?<=[.!?…:;])\s+|(?<=[。！？])|\n\s*\n|\n(?=[|#*-])", text):
        words = " ".join(part.split())
        yield from (words[start : start + 2 * most] for start in range(0, len(words), 2 * most))


class _Packer:
    """Fills chunk after chunk with blocks."""

    def __init__(self) -> None:
        self._done: list[Chunk] = []
        self._parts: list[str] = []
        self._size = 0
        self._path: list[tuple[int, str]] = []
        self._page: int | None = None
        self._start = Chunk("")
        self._heads: list[str] = []

    def add(self, block: Block) -> None:
        if block.kind == "page":
            self._close_when_full()
            self._page = block.number
        elif block.kind == "heading" and len(block.text) <= HEADING_MOST:
            self._close_when_full()
            self._path = [*(one for one in self._path if one[0] < block.number), (block.number, block.title)]
            self._heads.append(block.text)
        else:
            self._add_body(block)

    def end(self) -> list[Chunk]:
        if self._heads:
            self._put("\n\n".join(self._taken_heads()))
        self._close()
        return self._done

    def _add_body(self, block: Block) -> None:
        self._close_when_full()
        text = "\n\n".join([*self._heads, block.text])
        if len(text) <= MOST:
            self._heads.clear()
            self._put(text)
            return
        if self._heads:
            self._put("\n\n".join(self._taken_heads()))
        for piece in _pieces(block):
            self._put(piece)

    def _taken_heads(self) -> list[str]:
        """Headings without a body that they would fit beside. Many in a row can be more than a chunk."""
        heads, self._heads = self._heads, []
        while len(heads) > 1 and len("\n\n".join(heads)) > MOST:
            self._put(heads.pop(0))
        return heads

    def _put(self, text: str) -> None:
        if self._parts and self._size + 2 + len(text) > MOST:
            self._close()
        if not self._parts:
            self._start = Chunk("", " > ".join(title for _, title in self._path)[:HEADING_MOST], self._page)
        self._size += len(text) + (2 if self._parts else 0)
        self._parts.append(text)

    def _close_when_full(self) -> None:
        if self._size >= LEAST:
            self._close()

    def _close(self) -> None:
        if self._parts:
            self._done.append(Chunk("\n\n".join(self._parts), self._start.heading, self._start.page))
        self._parts, self._size = [], 0


def _pieces(block: Block) -> Iterator[str]:
    """A block that is too long for a chunk, in parts that fit."""
    lines = block.text.split("\n")
    if block.kind == "table":
        count = 2 if len(lines) > 1 and _RULE.fullmatch(lines[1]) else 1
        head = lines[:count] if len("\n".join(lines[:count])) <= _HEAD_MOST else []
        yield from _by_lines(lines[len(head) :], head, [])
    elif block.kind == "fence" and lines[0].lstrip().startswith(("```", "~~~")) and len(lines[0]) <= _HEAD_MOST:
        closed = len(lines) > 1 and not lines[-1].strip().strip("`~")
        mark = lines[0].strip()[: len(lines[0].strip()) - len(lines[0].strip().lstrip("`~"))]
        yield from _by_lines(lines[1 : -1 if closed else None], lines[:1], [mark])
    elif block.kind == "fence":
        yield from _by_lines(lines, [], [])
    else:
        yield from split_text(block.text)


def _by_lines(lines: Iterable[str], head: list[str], tail: list[str]) -> Iterator[str]:
    """Groups of whole lines, each between `head` and `tail`. A line that is too long is split like a paragraph."""
    room = MOST - sum(len(line) + 1 for line in (*head, *tail))
    held: list[str] = []
    for line in lines:
        if held and sum(map(len, held)) + len(held) + len(line) > room:
            yield "\n".join([*head, *held, *tail])
            held = []
        if len(line) > room:
            yield from split_text(line)
        elif held or line.strip():
            held.append(line)
    if held:
        yield "\n".join([*head, *held, *tail])


def split_text(text: str) -> Iterator[str]:
    """A long text in pieces of about one size, cut at ends of sentences, else of lines, else of words; they overlap."""
    count = -(-len(text) // (MOST - OVERLAP))
    size = min(MOST, -(-len(text) // count) + OVERLAP)
    start = 0
    while len(text) - start > size:
        end = _cut(text, start, start + size)
        yield text[start:end].strip()
        start = _overlap(text, start, end)
    if rest := text[start:].strip():
        yield rest


def _cut(text: str, start: int, end: int) -> int:
    """The best place for an end in the later half of a piece."""
    half = start + (end - start) // 2
    for pattern in _ENDS:
        places = [found.end() for found in pattern.finditer(text, half, end)]
        if places:
            return places[-1]
    return end


def _overlap(text: str, start: int, end: int) -> int:
    """Where the next piece begins: at a word in the last characters of the one before."""
    first = max(start + 1, end - OVERLAP)
    found = re.compile(r"\s\S").search(text, first - 1, end)
    return found.end() - 1 if found else first
