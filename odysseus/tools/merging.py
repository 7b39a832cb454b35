"""Three texts to one: two changes of one text, kept both where they do not touch. Pure.

Lines are compared first, and where lines touch, their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from odysseus.tools.matching import Change, changes_between

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"\w+|\n|[^\S\n]+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Merge:
    """`text` holds both changes. Where they touch `clean` is False, and both are in it, theirs before mine."""

    text: str
    clean: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of the base, as pieces, and what each side makes of it."""

    base: Sequence[str]
    mine: Sequence[str]
    theirs: Sequence[str]


def merge(base: str, mine: str, theirs: str) -> Merge:
    """Both changes of `base` in one text. The same change on both sides counts once."""
    if mine in (base, theirs):
        return Merge(theirs, clean=True)
    if theirs == base:
        return Merge(mine, clean=True)
    merged: list[str] = []
    clean = True
    for part in _parts(*(_LINE.findall(text) for text in (base, mine, theirs))):
        one = _settled(part)
        one = _by_words(part) if one is None else one
        clean = clean and one is not None
        merged.append(_both(part) if one is None else one)
    return Merge("".join(merged), clean)


def _settled(part: _Part) -> str | None:
    """The stretch when one side alone has changed it, or both in the same way."""
    if part.mine in (part.base, part.theirs):
        return "".join(part.theirs)
    return "".join(part.mine) if part.theirs == part.base else None


def _by_words(part: _Part) -> str | None:
    """The stretch merged word by word; None where words touch too."""
    pieces = [_WORD.findall("".join(lines)) for lines in (part.base, part.mine, part.theirs)]
    settled = [_settled(small) for small in _parts(*pieces)]
    return None if None in settled else "".join(one for one in settled if one is not None)


def _both(part: _Part) -> str:
    theirs, mine = "".join(part.theirs), "".join(part.mine)
    return theirs + ("" if not theirs or theirs.endswith("\n") else "\n") + mine


def _parts(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> Iterator[_Part]:
    """The base in order: stretches that neither side has changed, and those between, as wide as changes touch."""
    at = mine_at = theirs_at = 0
    for start, end, mine_grown, theirs_grown in _regions(changes_between(base, mine), changes_between(base, theirs)):
        same = base[at:start]
        yield _Part(same, same, same)
        mine_at, theirs_at = mine_at + start - at, theirs_at + start - at
        mine_end, theirs_end = mine_at + end - start + mine_grown, theirs_at + end - start + theirs_grown
        yield _Part(base[start:end], mine[mine_at:mine_end], theirs[theirs_at:theirs_end])
        at, mine_at, theirs_at = end, mine_end, theirs_end
    yield _Part(base[at:], base[at:], base[at:])


def _regions(mine: Sequence[Change], theirs: Sequence[Change]) -> list[tuple[int, int, int, int]]:
    """Stretches of the base that are changed: start, end, and by how much each side's is longer."""
    marked = [(change, True) for change in mine] + [(change, False) for change in theirs]
    regions: list[tuple[int, int, int, int]] = []
    for change, is_mine in sorted(marked, key=lambda one: (one[0].old_start, one[0].old_end)):
        start, end, mine_grown, theirs_grown = change.old_start, change.old_end, 0, 0
        if regions and start <= regions[-1][1]:
            start, before, mine_grown, theirs_grown = regions.pop()
            end = max(end, before)
        grown = change.new_end - change.new_start - (change.old_end - change.old_start)
        regions.append((start, end, mine_grown + grown * is_mine, theirs_grown + grown * (not is_mine)))
    return regions
