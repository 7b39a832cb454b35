"""What a change does to texts, as a unified diff. Knows texts and names only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from odysseus.tools.content import decode, lines_of
from odysseus.tools.matching import Change, changes_between
from odysseus.tools.output import cut

CONTEXT = 3
SHOWN_LIMIT = 20_000


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
    if new is None or (old is None and after is None):
        sizes = " to ".join(f"{len(content or b''):,} bytes" for content in (before, after))
        return Diff(name, 0, 0, f"{name} is not text; it changes from {sizes}.\n")
    if old is None:  # the text that comes in its place is shown whole
        whole = diff_of(name, None, after)
        note = f"{name} is not text; its {len(before or b''):,} bytes make room for this:\n"
        return Diff(name, 0, 0, note + whole.text)
    source = "/dev/null" if before is None else f"a/{name}"
    target = "/dev/null" if after is None else f"b/{name}"
    body = list(_hunks(lines_of(old), lines_of(new)))
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


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The lines of the diff below its head."""
    for group in _groups(changes_between(old, new)):
        first, last = group[0], group[-1]
        lead = min(CONTEXT, first.old_start)
        trail = min(CONTEXT, len(old) - last.old_end)
        old_span = _span(first.old_start - lead, last.old_end + trail)
        new_span = _span(first.new_start - lead, last.new_end + trail)
        yield f"@@ -{old_span} +{new_span} @@\n"
        at = first.old_start - lead
        for change in group:
            yield from _signed(" ", old[at : change.old_start])
            yield from _signed("-", old[change.old_start : change.old_end])
            yield from _signed("+", new[change.new_start : change.new_end])
            at = change.old_end
        yield from _signed(" ", old[at : at + trail])


def _groups(changes: Sequence[Change]) -> Sequence[list[Change]]:
    """Changes so near to each other that their context meets."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change.old_start - groups[-1][-1].old_end <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _span(start: int, end: int) -> str:
    """Lines as a diff numbers them: from 1, without a count of one, and an empty span by the line before it."""
    count = end - start
    return f"{start + (count > 0)}" + ("" if count == 1 else f",{count}")


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    return (_ended(f"{sign}{line}") for line in lines)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
