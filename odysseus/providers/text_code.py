"""Whether a place in a Markdown text is inside code, as far as that can be told from what comes before it.

Pure: must not know what is looked for in the text.
"""

from __future__ import annotations

import re

DEEPEST_INDENT = 3
"""Spaces before a line; with more of them the line is code."""
_FENCE = re.compile(r"((?:[ \t>*+-]|\d+[.)])*)(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(r"(`{3,}|~{3,})[ \t\r]*$")
_TICKS = re.compile("`+")
_TICKS_OR_ESCAPE = re.compile(r"\\.|`+")


class Code:
    """Whether the next line of a text is inside code: a fence, or inline code over several lines."""

    def __init__(self) -> None:
        self._line: list[str] = []
        self._fence: tuple[str, str] | None = None  # what stands before it, and its marks
        self._ticks = 0

    @property
    def in_line(self) -> bool:
        """Whether the text ends in the middle of a line."""
        return bool(self._line)

    @property
    def inside(self) -> bool:
        return self._fence is not None or self._ticks > 0

    def add(self, text: str) -> None:
        """Take the next piece of the text, which is not empty."""
        *lines, rest = text.split("\n")
        for line in lines:
            self._end_line("".join([*self._line, line]))
            self._line = []
        if rest:
            self._line.append(rest)

    def _end_line(self, line: str) -> None:
        if self._fence:
            self._fence = None if _closes(line, *self._fence) else self._fence
        elif found := _FENCE.match(line):
            self._fence, self._ticks = (found[1], found[2]), 0
        elif not line.strip():
            self._ticks = 0
        else:
            self._count_ticks(line)

    def _count_ticks(self, line: str) -> None:
        """Inline code goes from marks to as many marks. In doubt it is not closed."""
        at = 0
        while found := (_TICKS if self._ticks else _TICKS_OR_ESCAPE).search(line, at):
            at, size = found.end(), len(found[0])
            if found[0][0] == "`":
                self._ticks = (0 if size == self._ticks else self._ticks) if self._ticks else size


def _closes(line: str, before: str, marks: str) -> bool:
    """Whether this line ends the fence that was opened by these marks with this before them."""
    body = line.lstrip(" \t>" if ">" in before else " \t")
    found = _FENCE_END.match(body)
    near = len(line) - len(body) <= len(before) + DEEPEST_INDENT
    return found is not None and near and found[1].startswith(marks)
