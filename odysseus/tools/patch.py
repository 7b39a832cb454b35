"""Patches as values: unified diffs and the `*** Begin Patch` form, read from text. Pure.

Line counts in a unified diff are believed when they hold; models often get them wrong, so else a hunk goes on to the
next head.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from odysseus.tools.base import ToolError

Action = Literal["add", "update", "delete"]
Sign = Literal[" ", "-", "+"]

BEGIN, END, END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
NO_NEWLINE = "\\ No newline"

_NUMBERS = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FILE_HEAD = re.compile(r"^\*\*\* (Add|Update|Delete) File: *(\S.*?) *$")
_FENCE = re.compile(r"\A\s*(?:```\w*|apply_patch <<['\"]?EOF['\"]?)\n(.*?)\n(?:```|EOF)\s*\Z", re.DOTALL)
_QUIET = ("index ", "similarity index ", "dissimilarity index ", "new file mode ", "deleted file mode ", "diff --git ")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that stay (` `), go (`-`) and come (`+`), without line ends.

    `line` is where it stands in the old file from 1, None when not told. `anchors` are lines that come before it.
    `at_end` says that it ends the file; `ends_bare` whether the new file then has no last line end, None for as it was.
    """

    lines: Sequence[tuple[Sign, str]]
    line: int | None = None
    anchors: Sequence[str] = ()
    at_end: bool = False
    ends_bare: bool | None = None

    @property
    def old(self) -> Sequence[str]:
        """What it looks for."""
        return [text for sign, text in self.lines if sign != "+"]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What is done to one file; `new_path` is where it goes, empty when it stays."""

    path: str
    action: Action
    hunks: Sequence[Hunk] = ()
    new_path: str = ""


def parse_patch(text: str) -> Sequence[FilePatch]:
    """The files of a patch, in order. Raises ToolError that says what is wrong with which line."""
    text = text.replace("\r\n", "\n")
    if found := _FENCE.match(text):
        text = found[1]
    lines = text.strip("\n").split("\n")
    begun = any(line.strip() == BEGIN for line in lines)
    files = _begin_form(lines) if begun else _unified(lines)
    if not files:
        raise ToolError(f"The patch changes no file. Give a unified diff, or the form that starts with {BEGIN}.")
    return files


def _begin_form(lines: Sequence[str]) -> Sequence[FilePatch]:
    stripped = [line.strip() for line in lines]
    if END not in stripped:
        raise ToolError(f"The patch has no {END} line, so it may be cut off. Send it whole.")
    start, end = stripped.index(BEGIN) + 1, stripped.index(END)
    files: list[FilePatch] = []
    at = start
    while at < end:
        head = _FILE_HEAD.match(lines[at])
        if not head:
            if lines[at].strip():
                raise ToolError(f"Line {at + 1} of the patch is not understood: {lines[at][:80]!r}.")
            at += 1
            continue
        after = next((i for i in range(at + 1, end) if _FILE_HEAD.match(lines[i])), end)
        files.append(_begin_file(head[1].lower(), head[2], lines[at + 1 : after]))
        at = after
    return files


def _begin_file(action: str, path: str, body: Sequence[str]) -> FilePatch:
    if action == "delete":
        return FilePatch(path, "delete")
    if action == "add":
        return _added(path, body)
    new_path = ""
    if body and body[0].startswith("*** Move to:"):
        new_path, body = body[0].partition(":")[2].strip(), body[1:]
    hunks = _begin_hunks(path, body)
    if not hunks and not new_path:
        raise ToolError(f"The patch names {path} but changes nothing in it.")
    return FilePatch(path, "update", hunks, new_path)


def _added(path: str, body: Sequence[str]) -> FilePatch:
    kept = list(body)
    while kept and not kept[-1].strip():
        kept.pop()
    for line in kept:
        if not line.startswith("+"):
            raise ToolError(f"Each line of the new file {path} must begin with +, but one is {line[:80]!r}.")
    return FilePatch(path, "add", [Hunk([("+", line[1:]) for line in kept])])


def _begin_hunks(path: str, body: Sequence[str]) -> Sequence[Hunk]:
    hunks: list[Hunk] = []
    anchors: list[str] = []
    lines: list[tuple[Sign, str]] = []
    place: int | None = None

    def close(*, at_end: bool = False) -> None:
        if at_end or any(text for _, text in lines):
            hunks.append(Hunk(_trimmed(lines), place, anchors=tuple(anchors), at_end=at_end))
            anchors.clear()
        lines.clear()

    for line in body:
        if line.startswith("@@"):
            close()
            numbers = _NUMBERS.match(line)
            place = _first_line(numbers) if numbers else None
            if not numbers and (text := line[2:].removesuffix("@@").strip()):
                anchors.append(text)
        elif line.strip() == END_OF_FILE:
            close(at_end=True)
        else:
            lines.append(_signed(path, line))
    close()
    return hunks


def _trimmed(lines: Sequence[tuple[Sign, str]]) -> Sequence[tuple[Sign, str]]:
    """Without the blank lines that stand between one hunk and the next head."""
    kept = list(lines)
    while kept and kept[-1] == (" ", ""):
        kept.pop()
    return kept


def _signed(path: str, line: str) -> tuple[Sign, str]:
    match line[:1]:
        case "+":
            return "+", line[1:]
        case "-":
            return "-", line[1:]
        case " ":
            return " ", line[1:]
        case "":
            return " ", ""
    raise ToolError(f"A line of the patch for {path} begins with neither space, + nor -: {line[:80]!r}.")


def _unified(lines: Sequence[str]) -> Sequence[FilePatch]:
    files: list[FilePatch] = []
    renamed: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(("rename from ", "rename to ")):
            renamed.append(_named(line.split(" ", 2)[2]))
            if len(renamed) == 2 and not _goes_on(lines, at + 1):
                files.append(FilePatch(renamed[0], "update", (), renamed[1]))
        elif _is_head(lines, at):
            hunks, after = _unified_hunks(lines, at + 2)
            files.append(_unified_file(_name(line), _name(lines[at + 1]), hunks))
            renamed.clear()
            at = after
            continue
        elif line.startswith("diff --git "):
            renamed.clear()
        elif line.startswith(("@@ ", "GIT binary patch", "Binary files ")):
            raise ToolError(f"Line {at + 1} of the patch belongs to no file, or to a binary one: {line[:80]!r}.")
        at += 1
    return files


def _goes_on(lines: Sequence[str], at: int) -> bool:
    """Whether a renamed file has hunks too."""
    while at < len(lines) and lines[at].startswith(_QUIET[:3]):
        at += 1
    return _is_head(lines, at)


def _is_head(lines: Sequence[str], at: int) -> bool:
    return at + 1 < len(lines) and lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")


def _name(line: str) -> str:
    """The name in a file's head; empty for no file."""
    name = _named(line[4:].partition("\t")[0])
    return "" if name == "/dev/null" else name


def _named(text: str) -> str:
    name = text.strip()
    if not name:
        raise ToolError("The patch has a file without a name.")
    if name.startswith('"'):
        raise ToolError(f"The quoted name {name[:80]} is not understood. Write the name without quotes.")
    return name


def _unified_file(old: str, new: str, hunks: Sequence[Hunk]) -> FilePatch:
    if (not old or old.startswith("a/")) and (not new or new.startswith("b/")):
        old, new = old[2:], new[2:]
    if not old and not new:
        raise ToolError("The patch has a file without a name.")
    if not old:
        if any(sign != "+" for hunk in hunks for sign, _ in hunk.lines):
            raise ToolError(f"The new file {new} can only have lines that begin with +.")
        return FilePatch(new, "add", hunks)
    if not new:
        return FilePatch(old, "delete", hunks)
    if not hunks:
        raise ToolError(f"The patch names {old} but changes nothing in it.")
    return FilePatch(old, "update", hunks, "" if new == old else new)


def _unified_hunks(lines: Sequence[str], at: int) -> tuple[Sequence[Hunk], int]:
    hunks: list[Hunk] = []
    while at < len(lines) and lines[at].startswith("@@"):
        numbers = _NUMBERS.match(lines[at])
        end = line = None
        if numbers:
            counts = [int(count) if count is not None else 1 for count in (numbers[2], numbers[4])]
            end = _counted_end(lines, at + 1, counts[0], counts[1])
            line = _first_line(numbers)
        after = end or _next_head(lines, at + 1)
        hunk = _unified_hunk(lines[at + 1 : after], line)
        hunks.append(hunk if end else replace(hunk, lines=_trimmed(hunk.lines)))
        at = after
    return hunks, at


def _first_line(numbers: re.Match[str]) -> int:
    """The line of the old file, from 1, where a hunk stands; without old lines it comes after the one it names."""
    return int(numbers[1]) + (numbers[2] == "0")


def _counted_end(lines: Sequence[str], at: int, old: int, new: int) -> int | None:
    """Where a hunk ends by its counts, None when they do not hold."""
    while old > 0 or new > 0:
        sign = lines[at][:1] or " " if at < len(lines) else "x"
        if sign not in " +-\\":
            return None
        old -= sign in " -"
        new -= sign in " +"
        at += 1
    while at < len(lines) and lines[at].startswith("\\"):
        at += 1
    goes_on = at < len(lines) and lines[at][:1] in {"+", "-", " "} and not _is_head(lines, at)
    return None if old < 0 or new < 0 or goes_on else at


def _next_head(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and not (lines[at].startswith(("@@", "diff --git ")) or _is_head(lines, at)):
        at += 1
    return at


def _unified_hunk(body: Sequence[str], line: int | None) -> Hunk:
    made: list[tuple[Sign, str]] = []
    bare: dict[str, bool] = {}
    for text in body:
        if text.startswith("\\"):
            if made:
                bare[made[-1][0]] = True
        else:
            made.append(_signed("a file", text))
    ends_bare = None
    if bare:
        ends_bare = bool(bare.get("+") or bare.get(" "))
    return Hunk(made, line, at_end=bool(bare), ends_bare=ends_bare)
