"""Tools that change files: write_file, edit_file, apply_patch. What a file held before is kept, so a run can be undone.

Each is a plan (the steps from what the files hold now), which the preview shows and the run takes.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from odysseus.store.changes import Change, ChangeStore, content_hash
from odysseus.text import clean_text
from odysseus.tools.base import Arguments, Preview, Tool, ToolContext, ToolError, ToolResult, make_tool
from odysseus.tools.content import decode, encode, line_ending, with_ending
from odysseus.tools.diffs import Diff, diff_of, extras_of
from odysseus.tools.drafting import Draft, text_of
from odysseus.tools.output import cut
from odysseus.tools.patch import parse_patch
from odysseus.tools.replacing import replace
from odysseus.tools.rewriting import Rewrite, rewrite_all
from odysseus.tools.workspace import Workspace

PREVIEW_LIMIT = 200_000
FILES_LIMIT = 200
TITLED_LIMIT = 50_000

T = TypeVar("T")
A = TypeVar("A", bound=Arguments)
Plan = Callable[[A, Workspace], Sequence[Rewrite]]

FilePath = Annotated[str, Meta(description="File path, relative to the workspace")]


class WriteFile(Arguments, frozen=True, kw_only=True):
    """What write_file takes."""

    path: FilePath
    content: Annotated[str, Meta(description="The whole text of the file")]


class EditFile(Arguments, frozen=True, kw_only=True):
    """What edit_file takes."""

    path: FilePath
    old: Annotated[str, Meta(description="Exact text to replace, with its indentation and without line numbers")]
    new: Annotated[str, Meta(description="Text to put in its place")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence; else old must occur once")] = False


class ApplyPatch(Arguments, frozen=True, kw_only=True):
    """What apply_patch takes."""

    patch: Annotated[str, Meta(description="A unified diff, or a patch from *** Begin Patch to *** End Patch")]


def edit_tools(changes: ChangeStore) -> Sequence[Tool]:
    """The tools, which keep in `changes` what files held."""
    return [
        _tool(changes, "write_file", "Write a whole text file; folders are made as needed.", WriteFile, _write),
        _tool(changes, "edit_file", "Replace an exact piece of text in a file.", EditFile, _edit),
        _tool(
            changes,
            "apply_patch",
            "Change, add, move or delete files with one patch: all of them or none.",
            ApplyPatch,
            _patch,
            command=lambda given: _patch_title(given.patch),
        ),
    ]


def _tool(
    changes: ChangeStore,
    name: str,
    description: str,
    arguments: type[A],
    plan: Plan[A],
    *,
    command: Callable[[A], str] | None = None,
) -> Tool:
    async def run(given: A, context: ToolContext) -> ToolResult:
        return await _to_the_end(_change(changes, given, context, plan))

    async def preview(given: A, context: ToolContext) -> Preview:
        return await asyncio.to_thread(_preview, plan, given, context.workspace)

    effects: Sequence[Any] = ("write", "destructive") if name == "apply_patch" else ("write",)
    return make_tool(name, description, arguments, run, effects, command=command, preview=preview, policy="ask")


async def _to_the_end(work: Awaitable[T]) -> T:
    """Being cancelled waits until the files are whole and what they held is kept."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            await asyncio.wait([task])
        raise


async def _change(changes: ChangeStore, given: A, context: ToolContext, plan: Plan[A]) -> ToolResult:
    async with changes.lock:
        steps = await asyncio.to_thread(plan, given, context.workspace)
        diffs = await asyncio.to_thread(_diffs, steps)
        kept: Sequence[int] = ()
        if steps and not context.incognito:
            kept = await changes.record(context.run_id, [_change_of(step) for step in steps])
        try:
            await asyncio.to_thread(rewrite_all, steps)
        except ToolError:
            await changes.forget(kept)
            raise
    return ToolResult(_told(steps, diffs), extras=extras_of(diffs))


def _change_of(step: Rewrite) -> Change:
    path = "/".join(step.place.parts)
    return Change(str(step.place.root), path, step.before, step.mode, content_hash(step.after))


def _preview(plan: Plan[A], given: A, workspace: Workspace) -> Preview:
    steps = plan(given, workspace)
    mark = hashlib.sha256()
    for step in steps:
        mark.update(repr((step.place.parts, content_hash(step.before), step.mode)).encode("utf-8", "replace"))
    text = "".join(diff.text for diff in _diffs(steps))
    return Preview(cut(text, PREVIEW_LIMIT) or "Nothing would change.", mark.hexdigest())


def _diffs(steps: Sequence[Rewrite]) -> Sequence[Diff]:
    return [diff_of(step.place.shown, step.before, step.after) for step in steps]


def _told(steps: Sequence[Rewrite], diffs: Sequence[Diff]) -> str:
    lines = []
    for step, diff in zip(steps, diffs, strict=True):
        verb = "Deleted" if step.after is None else "Made" if step.before is None else "Changed"
        counts = "" if step.after is None else f" (+{diff.added} -{diff.removed} lines)"
        lines.append(f"{verb} {diff.file}{counts}.")
    return "\n".join(lines) or "Nothing changed: the files hold this already."


def _write(given: WriteFile, workspace: Workspace) -> Sequence[Rewrite]:
    draft = Draft(workspace)
    file = draft.file(given.path)
    draft.put(file, _kept_shape(clean_text(given.content), file.before))
    return draft.steps()


def _kept_shape(text: str, before: bytes | None) -> bytes:
    """A file's new text with the encoding, the line endings and the last line end that it has had."""
    found = decode(before or b"")
    if not before or found is None:
        return text.encode()
    old, encoding = found
    if not old:
        return encode(text, encoding)
    shaped = with_ending(text.removeprefix("\ufeff"), line_ending(old)) if "\n" in old else text
    if shaped and old.endswith("\n") and not shaped.endswith("\n"):
        shaped += line_ending(old)
    return encode(shaped, encoding)


def _edit(given: EditFile, workspace: Workspace) -> Sequence[Rewrite]:
    draft = Draft(workspace)
    file = draft.file(given.path)
    text, encoding = text_of(file)
    changed = replace(text, clean_text(given.old), clean_text(given.new), everywhere=given.replace_all)
    draft.put(file, encode(changed, encoding))
    return draft.steps()


def _patch(given: ApplyPatch, workspace: Workspace) -> Sequence[Rewrite]:
    files = parse_patch(clean_text(given.patch))
    if len(files) > FILES_LIMIT:
        raise ToolError(f"The patch names {len(files)} files; {FILES_LIMIT} is the most. Send it in parts.")
    draft = Draft(workspace)
    for file in files:
        draft.patch(file)
    return draft.steps()


def _patch_title(patch: str) -> str:
    """The files of a patch on one line; a patch that is not understood, or is long to read, has none."""
    if len(patch) > TITLED_LIMIT:
        return "a long patch"
    try:
        files = parse_patch(patch)
    except ToolError:
        return "a patch"
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0].action} {files[0].path}{more}"
