"""Where two lists of lines differ, found in bounded time. Pure.

Lines that occur once in both lists are matched first; what lies between is compared in full while it is small.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

EFFORT_LIMIT = 4_000_000
"""The most pairs of lines that are compared in full; beyond it a part is taken as changed as a whole."""


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `old_start` to `old_end` (from 0, not included) become lines `new_start` to `new_end`."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changes_between(old: Sequence[str], new: Sequence[str]) -> Sequence[Change]:
    """The changes, in order; lines between them are equal."""
    found: list[Change] = []
    effort = EFFORT_LIMIT
    for part in _parts(old, new):
        tight = _tight(old, new, part)
        cost = (tight.old_end - tight.old_start) * (tight.new_end - tight.new_start)
        if cost and cost <= effort:
            effort -= cost
            found += _compared(old, new, tight)
        elif tight.old_end > tight.old_start or tight.new_end > tight.new_start:
            found.append(tight)
    return found


def _parts(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """What lies between lines that are matched for sure."""
    old_at = new_at = 0
    for old_line, new_line in [*_sure(old, new), (len(old), len(new))]:
        yield Change(old_at, old_line, new_at, new_line)
        old_at, new_at = old_line + 1, new_line + 1


def _sure(old: Sequence[str], new: Sequence[str]) -> Sequence[tuple[int, int]]:
    """Pairs of equal lines that occur once in each list: the longest row of them that rises in both."""
    old_counts, new_counts = Counter(old), Counter(new)
    places = {line: number for number, line in enumerate(new) if new_counts[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old) if old_counts[line] == 1 and line in places]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, new_line) in enumerate(pairs):
        length = bisect_left(ends, new_line)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [new_line]
        last[length : length + 1] = [number]
    chain = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _tight(old: Sequence[str], new: Sequence[str], part: Change) -> Change:
    """The part without the lines that are equal at both its ends."""
    old_start, old_end, new_start, new_end = part.old_start, part.old_end, part.new_start, part.new_end
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return Change(old_start, old_end, new_start, new_end)


def _compared(old: Sequence[str], new: Sequence[str], part: Change) -> Iterator[Change]:
    matcher = SequenceMatcher(
        None, old[part.old_start : part.old_end], new[part.new_start : part.new_end], autojunk=False
    )
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            shift, other = part.old_start, part.new_start
            yield Change(old_start + shift, old_end + shift, new_start + other, new_end + other)
