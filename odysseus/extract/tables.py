"""Rows to Markdown tables that fit: whole where they are small, else head, tail and the number of rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from odysseus.extract.result import ExtractLimits

# One part of so many is kept for the tail, and no row of a table is shorter than this.
_TAIL_SHARE = 4
_LEAST_ROW = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """A table as text. `rows` counts all rows below the head, `complete` says that all of the table is shown."""

    text: str
    head: Sequence[str]
    rows: int
    complete: bool


class TableWriter:
    """Takes rows one by one and keeps only what will be shown. The first row is the head."""

    def __init__(self, limits: ExtractLimits) -> None:
        self._cells = limits.cell_characters
        self._columns = limits.columns
        self._tail_room = limits.table_characters // _TAIL_SHARE
        self._room = limits.table_characters - self._tail_room
        self._names: list[str] = []
        self._first: list[str] = []
        self._last: deque[Sequence[str]] = deque(maxlen=max(1, self._tail_room // _LEAST_ROW))
        self.width = 0
        self.rows = -1

    def add(self, cells: Sequence[str]) -> None:
        """Take a row."""
        self.rows += 1
        self.width = max(self.width, len(cells))
        if self._last:
            self._last.append(cells)
            return
        row = self._cut(cells)
        if not self.rows:
            self._names = row
        self._room -= sum(map(len, row)) + _LEAST_ROW
        if self._room >= 0 or not self.rows:
            self._first.append(as_row(row))
        else:
            self._last.append(cells)

    def shown(self) -> Shown:
        """The table as it will be read."""
        head = [*self._first[:1], as_row(["---"] * len(self._names))]
        tail = self._tail()
        left_out = max(self.rows, 0) - len(self._first[1:]) - len(tail)
        gap = [f"\n[{counted(left_out, 'row')} left out here]\n", *(head if tail else ())] if left_out else []
        text = "\n".join([*head, *self._first[1:], *gap, *tail])
        return Shown(text, self._names, max(self.rows, 0), not left_out and self.width <= self._columns)

    def _tail(self) -> list[str]:
        lines: deque[str] = deque()
        room = self._tail_room
        for cells in reversed(self._last):
            line = as_row(self._cut(cells))
            room -= len(line)
            if room < 0:
                break
            lines.appendleft(line)
        return list(lines)

    def _cut(self, cells: Sequence[str]) -> list[str]:
        return [cut_cell(cell, self._cells) for cell in cells[: self._columns]]


def as_row(cells: Iterable[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def cut_cell(text: str, limit: int) -> str:
    """A cell's text on one line, where nothing ends the cell but its end."""
    if len(text) > limit:
        text = text[:limit] + "…"
    if text.isalnum():
        return text
    return " ".join(text.split()).replace("|", "\\|")


def whole_table(rows: Sequence[Sequence[str]], limits: ExtractLimits) -> str:
    """A table of a document, with rows of one length; a frame of one column is only its text."""
    width = max(map(len, rows), default=0)
    if width <= 1:
        return "\n\n".join(row[0].strip() for row in rows if row and row[0].strip())
    cells = [[cut_cell(cell, limits.cell_characters) for cell in row] + [""] * (width - len(row)) for row in rows]
    head, *others = map(as_row, cells)
    return "\n".join([head, as_row(["---"] * width), *others])


def counted(number: int, what: str) -> str:
    """`1 row`, `1,000 rows`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
