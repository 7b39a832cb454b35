"""File patterns: `*` and `?` within a name, `**` over folders, `[…]`, `{a,b}`. Pure; no pattern takes long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate

from odysseus.tools.base import ToolError

PATTERN_LIMIT = 1000
BRANCH_LIMIT = 64

_BRACES = re.compile(r"\{([^{}]*)\}")
_ANY = "**"

Step = re.Pattern[str] | None
"""A name's pattern; None stands for any number of folders."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern, read. `names` are the folders and files that it names outright."""

    branches: Sequence[Sequence[Step]]
    names: frozenset[str]

    def matches(self, path: str) -> bool:
        """Whether it fits a path with `/` between its names."""
        names = path.split("/")
        return any(_fits(steps, names) for steps in self.branches)


def parse_glob(pattern: str) -> Glob:
    """A pattern; one without `/` fits a name in any folder. Raises ToolError."""
    if not pattern or len(pattern) > PATTERN_LIMIT:
        raise ToolError(f"A file pattern has 1 to {PATTERN_LIMIT:,} characters, like *.py or src/**/*.{{ts,tsx}}.")
    names: set[str] = set()
    branches = []
    for branch in _spread(pattern.removeprefix("./")):
        parts = [part for part in branch.split("/") if part]
        if ".." in parts or branch.startswith("/"):
            raise ToolError("A file pattern starts at the path and cannot leave it. Set path to the folder to look in.")
        names.update(parts)
        whole = parts if "/" in branch else [_ANY, *parts]
        whole = [part for at, part in enumerate(whole) if part != _ANY or whole[at - 1 : at] != [_ANY]]
        branches.append([None if part == _ANY else re.compile(translate(part)) for part in whole])
    return Glob(branches, frozenset(names))


def _spread(pattern: str) -> Sequence[str]:
    """The pattern once for each choice in its braces."""
    open_patterns, done = [pattern], []
    while open_patterns:
        first = open_patterns.pop()
        found = _BRACES.search(first)
        if not found:
            done.append(first)
            continue
        open_patterns += [first[: found.start()] + choice + first[found.end() :] for choice in found[1].split(",")]
        if len(open_patterns) + len(done) > BRANCH_LIMIT:
            raise ToolError(f"The file pattern has more than {BRANCH_LIMIT} choices in its braces. Use a simpler one.")
    return done


def _fits(steps: Sequence[Step], names: Sequence[str]) -> bool:
    at = _passed(steps, {0})
    for name in names:
        moved = set()
        for place in at:
            if place == len(steps):
                continue
            step = steps[place]
            if step is None:
                moved.add(place)
            elif step.match(name):
                moved.add(place + 1)
        at = _passed(steps, moved)
    return len(steps) in at


def _passed(steps: Sequence[Step], places: set[int]) -> set[int]:
    """The places, and those behind a step that needs no name; no two such steps follow each other."""
    return places | {place + 1 for place in places if place < len(steps) and steps[place] is None}
