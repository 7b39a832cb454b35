"""Tools that read the workspace: read_file, ls, glob, grep. None of them changes anything or leaves it."""

from __future__ import annotations

import asyncio
import heapq
import os
import stat
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from odysseus.tools.base import Arguments, Tool, ToolContext, ToolError, ToolResult, make_tool
from odysseus.tools.confine import Place, file_at, folder_at, locate, printable, reason, sentences
from odysseus.tools.globs import parse_glob
from odysseus.tools.grep_worker import REFUSED, Request
from odysseus.tools.reading import LINES, Page, read_page
from odysseus.tools.walking import SKIPPED, Patience, Walk, in_thread
from odysseus.tools.workspace import Workspace

SECONDS = 20.0
LISTED = 500
GLOBBED = 200

_WORKER = Path(__file__).with_name("grep_worker.py")

Folder = Annotated[str, Meta(description="Folder to look in, relative to the workspace")]


class ReadFile(Arguments, frozen=True, kw_only=True):
    """What read_file takes."""

    path: Annotated[str, Meta(description="File path, relative to the workspace, or the name of a kept output")]
    offset: Annotated[int, Meta(ge=1, description="First line to read; 1 is the first of the file")] = 1
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Most lines to read")] = LINES
    column: Annotated[int, Meta(ge=1, description="Where to start in the first line, for very long lines")] = 1


class Ls(Arguments, frozen=True, kw_only=True):
    """What ls takes."""

    path: Folder = "."


class Glob(Arguments, frozen=True, kw_only=True):
    """What glob takes."""

    pattern: Annotated[str, Meta(description="Like *.py (in any folder), src/**/*.{ts,tsx} or docs/*.md")]
    path: Folder = "."


class Grep(Arguments, frozen=True, kw_only=True):
    """What grep takes."""

    pattern: Annotated[str, Meta(description="Python regular expression, searched line by line")]
    path: Annotated[str, Meta(description="Folder or file to search, or the name of a kept output")] = "."
    glob: Annotated[str, Meta(description="Only files that fit this pattern, like *.py")] = ""
    ignore_case: Annotated[bool, Meta(description="Whether capitals do not matter")] = False
    context: Annotated[int, Meta(ge=0, le=20, description="Lines to show before and after each match")] = 0


def file_tools() -> Sequence[Tool]:
    """The tools."""
    return [
        make_tool(
            "read_file", "Read a text file; lines come with their number.", ReadFile, _read, ["read"], outside=True
        ),
        make_tool("ls", "List a folder: folders first, then files with their size in bytes.", Ls, _ls, ["read"]),
        make_tool("glob", "Find files by name, newest first.", Glob, _glob, ["read"]),
        make_tool("grep", "Search the text of files.", Grep, _grep, ["read"], outside=True),
    ]


async def _read(given: ReadFile, context: ToolContext) -> ToolResult:
    def work(patience: Patience) -> str:
        place = locate(context.workspace, given.path)
        with sentences(place.shown), file_at(place) as file:
            return read_page(file, place.shown, Page(given.offset, given.limit, given.column), patience)

    return ToolResult(await in_thread(work, SECONDS))


async def _ls(given: Ls, context: ToolContext) -> ToolResult:
    return ToolResult(await in_thread(lambda patience: _listed(context.workspace, given.path, patience), SECONDS))


def _listed(workspace: Workspace, path: str, patience: Patience) -> str:
    place = locate(workspace, path)
    rows: list[tuple[bool, str, str]] = []
    cut = ""
    with sentences(place.shown), folder_at(place) as folder, folder.entries() as entries:
        for entry in entries:
            if patience.over:
                cut = "\n[Time was up before all were seen.]"
                break
            rows.append(_row(entry))
    rows.sort()
    lines = [line for _, _, line in rows[:LISTED]]
    if len(rows) > LISTED:
        cut = f"\n[{len(rows) - LISTED:,} more are not shown; find them with glob.]" + cut
    return ("\n".join(lines) or f"[{place.shown} is empty.]") + cut


def _row(entry: os.DirEntry[str]) -> tuple[bool, str, str]:
    """What sorts an entry, and its line."""
    name = printable(entry.name)
    if entry.is_dir(follow_symlinks=False):
        return False, entry.name.casefold(), f"{name}/"
    try:
        state = entry.stat(follow_symlinks=False)
    except OSError as error:  # it has just gone
        return True, entry.name.casefold(), f"{name}  [{reason(error)}]"
    kind = f"{state.st_size:,}" if stat.S_ISREG(state.st_mode) else "[link]" if entry.is_symlink() else "[not a file]"
    return True, entry.name.casefold(), f"{name}  {kind}"


async def _glob(given: Glob, context: ToolContext) -> ToolResult:
    return ToolResult(await in_thread(lambda patience: _globbed(context.workspace, given, patience), SECONDS))


def _globbed(workspace: Workspace, given: Glob, patience: Patience) -> str:
    wanted = parse_glob(given.pattern)
    place = locate(workspace, given.path)
    walk = Walk(patience, SKIPPED - wanted.names - set(place.parts))
    base = "/".join(place.parts)
    prefix = f"{base}/" if base else ""
    newest: list[tuple[int, str]] = []
    total = 0
    with sentences(place.shown), folder_at(place) as folder:
        for entry in walk.files(folder, prefix):
            if not wanted.matches(entry.path[len(prefix) :]):
                continue
            total += 1
            heapq.heappush(newest, (_changed_at(entry.found), entry.path))
            if len(newest) > GLOBBED:
                heapq.heappop(newest)
    lines = [printable(path) for _, path in sorted(newest, key=lambda one: (-one[0], one[1]))] or ["No files found."]
    if total > len(newest):
        lines.append(f"[The newest {len(newest)} of {total:,} files; narrow the pattern or the path to see others.]")
    return "\n".join([*lines, *filter(None, [walk.note()])])


def _changed_at(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except FileNotFoundError:
        return 0


async def _grep(given: Grep, context: ToolContext) -> ToolResult:
    place = await asyncio.to_thread(locate, context.workspace, given.path)
    output, ended = await _searched(given, place)
    text = output.decode("utf-8", "replace").rstrip("\n")
    if ended == REFUSED:
        raise ToolError(text)
    if ended is None:
        note = f"[Stopped after {SECONDS:.0f} seconds. Use a simpler pattern, or look in a smaller folder.]"
        return ToolResult(f"{text}\n{note}" if text else note, exit_code=1)
    if ended != 0:
        raise ToolError("The search ended early, most likely for want of memory. Use a simpler pattern.")
    return ToolResult(text)


async def _searched(given: Grep, place: Place) -> tuple[bytes, int | None]:
    """What the searching process wrote, and how it ended; None when its time was up. It never outlives this call."""
    # -P: the folder of the worker holds names that must not hide other modules.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(_WORKER), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    output = bytearray()
    try:
        async with asyncio.timeout(SECONDS):
            await _talk(process, msgspec.json.encode(_request(given, place)), output)
            return bytes(output), await process.wait()
    except TimeoutError:
        return bytes(output), None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _request(given: Grep, place: Place) -> Request:
    return Request(
        root=str(place.root),
        parts=tuple(place.parts),
        label=place.label,
        pattern=given.pattern,
        glob=given.glob,
        ignore_case=given.ignore_case,
        context=given.context,
        seconds=SECONDS * 0.8,  # a slow walk ends by itself, and says so
    )


async def _talk(process: Process, request: bytes, output: bytearray) -> None:
    assert process.stdin
    assert process.stdout
    process.stdin.write(request)
    process.stdin.close()
    while data := await process.stdout.read(65_536):
        output += data
