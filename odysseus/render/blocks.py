"""A growing Markdown text as a row of HTML blocks: finished ones never change, only the last one is drawn again.

It knows nothing of runs, frames or the page. The blocks depend on the text alone, not on how it was cut into pieces,
so a stored text and a streamed one look the same. A renderer belongs to one connection and is used by one thread at a
time; different renderers may work in different threads at once.
"""

import re
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from odysseus.render.citations import without_half
from odysseus.render.markdown import Span, outline, to_html

LIGHT = 8_000
"""Weight of an open block up to which every piece of text is looked at as it comes."""

GROWTH = 32
"""A heavier open block is looked at again when it grew by this fraction of itself, so that all work stays linear."""

_MARKS = "\n|*`[_$"
_MARK_WEIGHT = 50

_UNREADABLE = re.compile("[\0\ud800-\udfff]")
_FENCE_LINE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)
_BLANK_LAST_LINE = re.compile(r"\n[ \t]*\n\Z")
_PLAIN_START = re.compile(r"[^\s\d+*-]")
_ENDED_BY_PLAIN_TEXT = ("bullet_list_open", "ordered_list_open", "code_block")

# The start of a line that does not show yet what it will be: only marks, or the line that opens a fence.
_UNDECIDED = re.compile(
    r"(?>(?:[ \t>]|[-+*](?=[ \t]|\Z)|\d{1,9}[.)](?=[ \t]|\Z))*)"
    r"(?:[-+*=_#|:`~$ \t]*|\d{1,9}|(?:```|~~~).*|\[[ xX]?\]?)\Z"
)
_HALF_A_MARK = "*_~`\\"


@dataclass(frozen=True, slots=True)
class Block:
    """Block `index` (from 0, dense) as safe HTML without a wrapper. One that is not `open` never changes again."""

    index: int
    html: str
    open: bool


class BlockRenderer:
    """Turns the pieces of one text into blocks."""

    def __init__(self) -> None:
        self._source = ""  # from the start of the open block
        self._complete = 0  # length of the part of it that `_spans` describes: whole lines
        self._spans: list[Span] = []
        self._weight = 0  # of the source
        self._looked = 0  # weight of the source at the last look
        self._index = 0
        self._shown = ""  # html of the open block as last returned
        self._references: dict[str, Any] = {}
        self._carriage_return = ""  # held until it is known whether a line feed follows

    def feed(self, text: str) -> list[Block]:
        """Add text. Returns the blocks it finished, and the open one if its HTML changed."""
        old = len(self._source)
        self._add(text)
        if not self._is_due(old):
            return []
        changed = self._take_settled()
        self._looked = self._weight
        return changed + self._open_block()

    def finish(self, text: str = "") -> list[Block]:
        """Add the last text, if any, and finish everything. Only link definitions at the end make an empty block.

        Text that is fed later is a new one, whose blocks are counted on.
        """
        self._add(text)
        if self._carriage_return:
            self._add("\n")
        self._spans = outline(self._source)
        finished = self._take(len(self._spans))
        if self._source.strip():
            finished.append(self._close(""))
        self._source, self._spans, self._carriage_return = "", [], ""
        self._complete = self._weight = self._looked = 0
        return finished

    def _add(self, text: str) -> None:
        text = self._carriage_return + text
        self._carriage_return = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        self._source += _UNREADABLE.sub("\ufffd", text)
        self._weight += _weight(text)

    def _is_due(self, old: int) -> bool:
        if self._weight <= LIGHT or self._weight - self._looked >= self._weight // GROWTH:
            return len(self._source) > old
        line = self._source.rfind("\n", 0, old) + 1
        return bool(self._spans) and self._spans[-1].kind == "fence" and bool(_FENCE_LINE.search(self._source, line))

    def _take_settled(self) -> list[Block]:
        """Finish the blocks that no further text can change."""
        complete = self._source.rfind("\n") + 1
        if complete > self._complete:
            self._complete = complete
            self._spans = outline(self._source[:complete])
        if not self._spans:
            return []
        return self._take(len(self._spans) - (0 if self._is_settled(self._spans[-1]) else 1))

    def _is_settled(self, last: Span) -> bool:
        """Whether the last block of whole lines is over: by itself, or by the first character after a blank line."""
        if last.closed or last.kind not in _ENDED_BY_PLAIN_TEXT:
            return last.closed
        starts_plain = _PLAIN_START.match(self._source, self._complete)
        return bool(starts_plain and _BLANK_LAST_LINE.search(self._source[: self._complete]))

    def _take(self, count: int) -> list[Block]:
        """Finish the first `count` spans and cut them off the source."""
        blocks = []
        start = 0
        for span in self._spans[:count]:
            blocks.append(self._close(to_html(self._source[start : span.end], self._references)))
            start = span.end
        if start:
            self._source = self._source[start:]
            self._weight = _weight(self._source)
        self._complete = max(0, self._complete - start)
        self._spans = [replace(span, end=span.end - start) for span in self._spans[count:]]
        return blocks

    def _close(self, html: str) -> Block:
        block = Block(self._index, html, open=False)
        self._index += 1
        self._shown = ""
        return block

    def _open_block(self) -> list[Block]:
        html = to_html(self._visible(), ChainMap({}, self._references), unfinished=True)
        if html == self._shown:
            return []
        self._shown = html
        return [Block(self._index, html, open=True)]

    def _visible(self) -> str:
        """The source without what may still change: an undecided line, half a mark or citation, the head of a table."""
        partial = self._source[self._complete :]
        partial = "" if _UNDECIDED.match(partial) else without_half(partial.rstrip(_HALF_A_MARK))
        visible = self._source[: self._complete] + partial
        if self._spans and self._spans[-1].kind != "paragraph_open":
            return visible
        before, _, line = visible.rstrip().rpartition("\n")
        return before if line.lstrip().startswith("|") else visible


def _weight(text: str) -> int:
    """How much work a text makes: characters, and what starts a line, a cell or a piece of markup counts for many."""
    return len(text) + _MARK_WEIGHT * sum(map(text.count, _MARKS))


def render_markdown(text: str) -> str:
    """A whole text: the blocks that streaming it would give, each in its `<div class="block">`."""
    return render_stretches((text,))[0]


def render_stretches(stretches: Sequence[str]) -> tuple[str, list[int]]:
    """A text in stretches that no block spans: its HTML, and how many blocks there are after each stretch."""
    renderer = BlockRenderer()
    blocks: list[Block] = []
    counts: list[int] = []
    for stretch in stretches:
        blocks += renderer.finish(stretch)
        counts.append(len(blocks))
    return "".join(f'<div class="block">{block.html}</div>' for block in blocks), counts
