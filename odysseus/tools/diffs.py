"""What a change does to texts, as a unified diff. Knows texts and names only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import takewhile
from typing import Any

from odysseus.tools.content import decode, lines_of
from odysseus.tools.output import cut

CONTEXT = 3
SHOWN_LIMIT = 20_000
EFFORT_LIMIT = 4_000_000
"""The most pairs of lines that are compared; beyond it a changed part is shown as removed and added whole."""

_NUMBERS = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@$")


@dataclass(frozen=True, slots=True)
class Diff:
    """One file's change: lines added and removed, and the unified diff."""

    file: str
    added: int
    removed: int
    text: str


def diff_of(name: str, before: bytes | None, after: bytes | None) -> Diff:
    """How a file changes; None is no file."""
    old, new = _text(before), _text(after)
    if old is None or new is None:
        sizes = " to ".join(f"{len(content or b''):,} bytes" for content in (before, after))
        return Diff(name, 0, 0, f"{name} is not text; it changes from {sizes}.\n")
    source = "/dev/null" if before is None else f"a/{name}"
    target = "/dev/null" if after is None else f"b/{name}"
    body = _hunks(lines_of(old), lines_of(new))
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    return Diff(name, added, removed, "".join([f"--- {source}\n+++ {target}\n", *body]))


def extras_of(diffs: Sequence[Diff]) -> dict[str, Any]:
    """The contract's `diff` of a call."""
    if not diffs:
        return {}
    more = f" …and {len(diffs) - 1} more" if len(diffs) > 1 else ""
    return {
        "diff": {
            "file": diffs[0].file + more,
            "added": sum(diff.added for diff in diffs),
            "removed": sum(diff.removed for diff in diffs),
            "text": cut("".join(diff.text for diff in diffs), SHOWN_LIMIT),
        }
    }


def _text(content: bytes | None) -> str | None:
    found = decode(content or b"")
    if found is None:
        return None
    text, encoding = found
    mark = "\ufeff" if encoding.mark else ""
    return mark + text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """The lines of the diff below its head. What is equal at both ends is left out of the comparison."""
    head = _equal(zip(old, new, strict=False))
    most = min(len(old), len(new)) - head
    tail = min(most, _equal(zip(reversed(old), reversed(new), strict=False)))
    start = max(0, head - CONTEXT)
    ends = [len(lines) - max(0, tail - CONTEXT) for lines in (old, new)]
    part_old, part_new = old[start : ends[0]], new[start : ends[1]]
    if (len(old) - head - tail) * (len(new) - head - tail) > EFFORT_LIMIT:
        return _whole(part_old, part_new, head - start, tail - max(0, tail - CONTEXT), start)
    made = list(unified_diff(part_old, part_new, n=CONTEXT))[2:]
    return [_ended(_moved(line.rstrip("\n"), start) if line.startswith("@@ ") else line) for line in made]


def _equal(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _whole(old: list[str], new: list[str], head: int, tail: int, start: int) -> list[str]:
    """One hunk that takes the old part out and puts the new one in."""
    numbers = f"@@ -{start + 1},{len(old)} +{start + 1},{len(new)} @@\n"
    middle = [f"-{line}" for line in old[head : len(old) - tail]] + [f"+{line}" for line in new[head : len(new) - tail]]
    around = [f" {line}" for line in old[:head]], [f" {line}" for line in old[len(old) - tail :]]
    return [numbers, *map(_ended, [*around[0], *middle, *around[1]])]


def _moved(numbers: str, by: int) -> str:
    found = _NUMBERS.match(numbers)
    if not found:
        return f"{numbers}\n"
    old, old_count, new, new_count = found.groups()
    return f"@@ -{int(old) + by}{old_count or ''} +{int(new) + by}{new_count or ''} @@\n"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
