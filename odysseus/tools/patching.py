"""A file's hunks put into its text: where each stands, and the text that comes of it. Pure.

A hunk must stand at the place it names, or be found exactly once; nothing is guessed. Lines that stay keep their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from odysseus.tools.base import OutsideError, ToolError
from odysseus.tools.content import line_ending, lines_of
from odysseus.tools.patch import Hunk
from odysseus.tools.replacing import nearest


def apply_hunks(name: str, text: str, hunks: Sequence[Hunk]) -> str:
    """The text after the hunks, in order. Raises ToolError that names the hunk which does not fit."""
    ending = line_ending(text)
    lines = lines_of(text)
    bare = bool(lines) and not lines[-1].endswith("\n")
    made: list[str] = []
    at = 0
    for number, hunk in enumerate(hunks, 1):
        start = _place(lines, at, hunk, f"Hunk {number} for {name}")
        made += lines[at:start]
        at = start
        for sign, line in hunk.lines:
            if sign == "+":
                made.append(line + ending)
                continue
            if sign == " ":
                made.append(lines[at])
            at += 1
        if hunk.ends_bare is not None and at == len(lines):
            bare = hunk.ends_bare
    made += lines[at:]
    return _joined(made, ending, bare)


def new_text(hunks: Sequence[Hunk]) -> str:
    """The text of a new file."""
    lines = [line for hunk in hunks for sign, line in hunk.lines if sign == "+"]
    bare = any(hunk.ends_bare for hunk in hunks)
    return "\n".join(lines) + ("\n" if lines and not bare else "")


def _joined(lines: list[str], ending: str, bare: bool) -> str:
    whole = [line if line.endswith("\n") else line + ending for line in lines]
    if bare and whole:
        whole[-1] = whole[-1].removesuffix("\n").removesuffix("\r")
    return "".join(whole)


def _place(lines: Sequence[str], at: int, hunk: Hunk, who: str) -> int:
    """The index of the hunk's first line, `at` or later."""
    for anchor in hunk.anchors:
        at = _after_anchor(lines, at, anchor, who)
    old = [_bare(line) for line in hunk.old]
    if not old:
        return _insertion(lines, at, hunk)
    if hunk.line is not None and hunk.line - 1 >= at and _fits(lines, hunk.line - 1, old):
        return hunk.line - 1
    if hunk.at_end and len(lines) - len(old) >= at and _fits(lines, len(lines) - len(old), old):
        return len(lines) - len(old)
    found = [start for start in range(at, len(lines) - len(old) + 1) if _fits(lines, start, old)]
    if not found:
        raise _missing(lines, old, who)
    if len(found) > 1 and not hunk.anchors:
        numbers = ", ".join(str(start + 1) for start in found[:10])
        raise ToolError(f"{who} fits at several places (lines {numbers}). Give it more lines around the change.")
    return found[0]


def _insertion(lines: Sequence[str], at: int, hunk: Hunk) -> int:
    if hunk.line is not None:
        return min(max(hunk.line - 1, at), len(lines))
    return at if hunk.anchors and not hunk.at_end else len(lines)


def _after_anchor(lines: Sequence[str], at: int, anchor: str, who: str) -> int:
    for same in (lambda line: line.strip() == anchor, lambda line: anchor in line):
        for number in range(at, len(lines)):
            if same(lines[number]):
                return number + 1
    raise ToolError(f"{who}: there is no line {anchor[:80]!r} after the last change.")


def _fits(lines: Sequence[str], start: int, old: Sequence[str]) -> bool:
    return start + len(old) <= len(lines) and all(
        _bare(lines[start + number]) == line for number, line in enumerate(old)
    )


def _bare(line: str) -> str:
    """A line without what ends it, blanks included: models seldom write them right."""
    return line.rstrip()


def _missing(lines: Sequence[str], old: Sequence[str], who: str) -> ToolError:
    index = nearest(old, [line.rstrip("\r\n") for line in lines])
    if index is None:
        return ToolError(
            f"{who} does not fit: its lines are not in the file. Read the file, then write the patch anew."
        )
    shown = "".join(f"{index + i + 1}\t{lines[index + i].rstrip()[:300]}\n" for i in range(min(6, len(lines) - index)))
    return OutsideError(
        f"{who} does not fit. Nearest lines of the file:\n{shown.encode('utf-8', 'replace').decode()}Copy them exactly."
    )
