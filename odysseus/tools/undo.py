"""Taking back what a run did to files: all of it, or nothing when a file has changed since.

Knows the kept changes and places, not who asks.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from odysseus.errors import Conflict
from odysseus.store.changes import Change, ChangeStore, RunChanges, content_hash
from odysseus.tools.base import ToolError
from odysseus.tools.confine import Place
from odysseus.tools.rewriting import Rewrite, read_whole, rewrite_all

NAMED = 10


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The files that are as before the run, relative to its workspace, sorted."""

    files: Sequence[str]


async def undo_run(changes: ChangeStore, run_id: str) -> UndoResult:
    """Give every file of the run back what it held before.

    Raises NotFound for an unknown run, and Conflict when there is nothing to take back, the run still goes on, or a
    file is not as the run left it; then nothing is changed.
    """
    async with changes.lock:
        found = await changes.of_run(run_id)
        if found.running:
            raise Conflict("This run still goes on. Stop it, then undo its changes.")
        if found.undone:
            raise Conflict("The changes of this run have been undone already.")
        if not found.changes:
            raise Conflict("This run changed no files, so there is nothing to undo.")
        files = await asyncio.to_thread(_restore, found)
        await changes.mark_undone(run_id)
    return UndoResult(files)


def _restore(found: RunChanges) -> Sequence[str]:
    """Restore the files. Raises Conflict."""
    steps, changed = [], []
    for place, own in _by_place(found.changes).items():
        step = _step(place, own, untaken=found.interrupted)
        if step is None:
            changed.append(place.shown)
        else:
            steps.append(step)
    if changed:
        raise Conflict(_refusal(sorted(changed)))
    try:
        rewrite_all([step for step in steps if step.before != step.after])
    except ToolError as error:
        raise Conflict(f"Nothing was undone. {error.message}") from error
    return sorted(step.place.shown for step in steps)


def _by_place(changes: Sequence[Change]) -> Mapping[Place, list[Change]]:
    places: dict[Place, list[Change]] = {}
    for change in changes:
        places.setdefault(Place(Path(change.root), tuple(change.path.split("/"))), []).append(change)
    return places


def _step(place: Place, changes: Sequence[Change], *, untaken: bool) -> Rewrite | None:
    """The way back of one file, None when it is not as the run left it. `untaken`: steps may not have been taken."""
    try:
        now, _ = read_whole(place)
    except ToolError as error:
        # A folder or a link in its place, a folder on its way that is gone or closed: not as it was left.
        if not isinstance(error.__cause__, OSError) or error.__cause__.errno != errno.ENOTDIR:
            return None
        now = None
    state = content_hash(now)
    for change in changes:
        held = content_hash(change.before)
        if state == change.after_hash:
            state = held
        elif not untaken or state != held:
            return None
    first = changes[-1]
    return Rewrite(place, now, first.before, first.mode)


def _refusal(files: Sequence[str]) -> str:
    named = ", ".join(files[:NAMED])
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return f"Nothing was undone, since files have changed after this run: {named}{more}."
