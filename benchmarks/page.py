"""The page in Chromium: a fast answer beside a page that only appends its text, and a long chat opened and scrolled."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from benchmarks.processes import ROOT
from benchmarks.report import Figure, high, middle

FRAME_MS = 1000 / 60


async def measure() -> list[Figure]:
    """The table's lines."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.page_process"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        cwd=ROOT,
    )
    told, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the page's process ended with {process.returncode}")
    seen = json.loads(told)
    if seen is None:
        return [Figure("there is no Chromium on this machine", 0)]
    return [*_streaming(seen["streamed"], seen["appended"]), *_reading(seen["opened"])]


def _streaming(page: dict[str, Any], bare: dict[str, Any]) -> list[Figure]:
    used = page["TaskDuration"] / bare["TaskDuration"]
    return [
        Figure("10,000 tokens at 1,000 a second: tasks over 50 ms", len(page["long"]), most=0),
        Figure("  the longest of them", max(page["long"], default=0), "ms"),
        Figure("  tasks over 50 ms of the bare page", len(bare["long"])),
        Figure("  main thread, times that of the bare page", used, most=1.0),
        Figure("  of it script", page["ScriptDuration"], "s"),
        Figure("  of it style and layout", page["RecalcStyleDuration"] + page["LayoutDuration"], "s"),
    ]


def _reading(seen: dict[str, Any]) -> list[Figure]:
    frames = seen["frames"]
    return [
        Figure("a chat of 300 long answers: address to painted, first time", seen["first"], "ms", most=1000),
        Figure("  again, with nothing cached by the browser", seen["again"], "ms", most=1000),
        Figure("  all of it scrolled: a frame, median", middle(frames), "ms", most=1.5 * FRAME_MS),
        Figure("  all of it scrolled: a frame, p99", high(frames), "ms"),
        Figure("  longest task while earlier messages came in", max(seen["earlier"], default=0), "ms"),
    ]
