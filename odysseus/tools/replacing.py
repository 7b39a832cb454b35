"""Exact replacement in a text, and help when the wanted text is not there. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from odysseus.tools.base import OutsideError, ToolError
from odysseus.tools.content import line_ending, lines_of, with_ending

SHOWN_LINES = 6
COMPARED_LINES = 3000
NAMED_PLACES = 10


def replace(text: str, old: str, new: str, *, everywhere: bool) -> str:
    """The text with `old` replaced; line endings are the text's own. Raises ToolError.

    Without `everywhere`, `old` must be there exactly once.
    """
    if not old:
        raise ToolError("old is empty. Give the exact text to replace; write_file makes a new file.")
    if old == new:
        raise ToolError("old and new are the same, so nothing would change.")
    places = _places(text, old)
    if not places:
        raise _not_found(text, old)
    if len(places) > 1 and not everywhere:
        raise ToolError(_too_often(text, places))
    ending = line_ending(text)
    put = with_ending(new, ending) if "\n" in text else new
    pieces, at = [], 0
    for start, end in places:
        pieces += [text[at:start], put]
        at = end
    return "".join([*pieces, text[at:]])


def _places(text: str, old: str) -> list[tuple[int, int]]:
    """Where `old` stands; its line ends match the text's, whatever they are."""
    pattern = re.escape(old)
    if "\r\n" in text or "\r\n" in old:
        pattern = r"\r?\n".join(re.escape(line) for line in old.replace("\r\n", "\n").split("\n"))
    return [found.span() for found in re.finditer(pattern, text)]


def _too_often(text: str, places: Sequence[tuple[int, int]]) -> str:
    numbers = [str(text.count("\n", 0, start) + 1) for start, _ in places[:NAMED_PLACES]]
    more = ", …" if len(places) > NAMED_PLACES else ""
    return (
        f"old was found {len(places)} times (at lines {', '.join(numbers)}{more}), so it is not clear which is meant. "
        "Add lines around it, or set replace_all."
    )


def _not_found(text: str, old: str) -> ToolError:
    lines = [line.rstrip("\r\n") for line in lines_of(text)]
    wanted = old.strip("\r\n").splitlines() or [old]
    index = nearest(wanted, lines)
    if index is None:
        return ToolError(
            "old was found 0 times, and nothing like it is there. Read the file, then copy the text exactly."
        )
    shown = lines[index : index + min(SHOWN_LINES, len(wanted) + 1)]
    numbered = "\n".join(f"{number}\t{line[:300]}" for number, line in enumerate(shown, index + 1))
    numbered = numbered.encode("utf-8", "replace").decode()
    return OutsideError(
        f"old was found 0 times. Nearest lines of the file:\n{numbered}\nCopy the text exactly, with its indentation."
    )


def nearest(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """The index where the first telling line of `wanted` would stand, None when nothing is like it."""
    skipped = next((number for number, line in enumerate(wanted) if line.strip()), 0)
    key = wanted[skipped].strip()[:300]
    for number, line in enumerate(lines):
        if key and line.strip() == key:
            return max(0, number - skipped)
    found = _most_like(key, lines[:COMPARED_LINES])
    return None if found is None else max(0, found - skipped)


def _most_like(key: str, lines: Sequence[str]) -> int | None:
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(key)
    best, index = 0.6, None
    for number, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:300])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, index = matcher.ratio(), number
    return index
