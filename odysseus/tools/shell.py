"""The tools `bash` and `python`: run what the model writes. Knows nothing of how a program is confined."""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import sys
import unicodedata
from collections.abc import Sequence
from typing import Annotated, TypeVar

from msgspec import Meta

from odysseus.config import ShellConfig
from odysseus.tools.base import (
    OUTPUT_LIMIT,
    Arguments,
    Preview,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    make_tool,
)
from odysseus.tools.environment import is_secret
from odysseus.tools.output import Capture
from odysseus.tools.process import OFFERED, SETTLE_SECONDS, Ended, Limits, Program, run_program
from odysseus.tools.terminal import Terminal

log = logging.getLogger(__name__)

TAIL = 1_500
TIMED_OUT = 124
FLOODED = 128 + 25
"""As by SIGXFSZ, the signal for files that grow too long."""

_REMARKS = 600
"""Characters of an output's limit that are left for the lines that are added to it."""

_Timeout = Annotated[int, Meta(description="Most seconds it may take; 0, or more than the limit, is the limit.")]


class BashArguments(Arguments, frozen=True):
    """What `bash` takes."""

    command: Annotated[str, Meta(description="The command, as bash reads it. Several lines are fine.")]
    timeout: _Timeout = 0


class PythonArguments(Arguments, frozen=True):
    """What `python` takes."""

    code: Annotated[str, Meta(description="A whole Python program. Print what you want to see.")]
    timeout: _Timeout = 0


G = TypeVar("G", BashArguments, PythonArguments)


def shell_tools(config: ShellConfig) -> Sequence[Tool]:
    """The tools that run programs; none where the system cannot confine them (Windows)."""
    if not OFFERED:
        log.info("bash and python are not offered: this system has no process groups and limits to confine them")
        return ()
    for name in filter(is_secret, config.keep_env):
        log.warning("shell.keep_env: %s looks like a secret and is not passed on", name)
    runner = _Runner(config)
    about = f"in the workspace, for at most {config.seconds:g} s: no input, no terminal; what it starts ends with it"
    return (
        _tool("bash", f"Run a shell command {about}.", BashArguments, runner),
        _tool("python", f"Run a Python {_version()} program {about}.", PythonArguments, runner),
    )


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _tool(name: str, description: str, arguments: type[G], runner: _Runner) -> Tool:
    return make_tool(
        name,
        description,
        arguments,
        runner.run,
        ("execute", "write", "network"),
        command=_text,
        preview=runner.preview,
        policy="ask",
        seconds=runner.config.seconds + SETTLE_SECONDS,
        outside=True,
    )


def _text(given: BashArguments | PythonArguments) -> str:
    return given.command if isinstance(given, BashArguments) else given.code


class _Runner:
    """Runs calls within the limits of the settings."""

    def __init__(self, config: ShellConfig) -> None:
        self.config = config

    async def preview(self, given: BashArguments | PythonArguments, context: ToolContext) -> Preview:
        """Where, how long, what. The text comes last, so that it cannot pass for the lines above it."""
        about = f"Working folder: {context.workspace.root}\nTime limit: {self._seconds(given):g} s\n"
        if _has_unseen(_text(given)):
            about += "Careful: it holds characters that do not show.\n"
        return Preview(f"{about}\n{_text(given)}", str(context.workspace.root))

    async def run(self, given: BashArguments | PythonArguments, context: ToolContext) -> ToolResult:
        """Run it to its end. Raises ToolError when it cannot be started."""
        if not _text(given).strip():
            raise ToolError("There is nothing to run. Say what to run.")
        limits = Limits(self._seconds(given), self.config.cpu_seconds, self.config.memory_mb)
        view = _View(context)
        try:
            ended = await run_program(self._program(given, context, limits), view.take)
        except BaseException:
            await asyncio.to_thread(view.capture.discard)
            raise
        return await view.result(ended, limits)

    def _seconds(self, given: BashArguments | PythonArguments) -> float:
        return min(self.config.seconds, given.timeout) if given.timeout > 0 else self.config.seconds

    def _program(self, given: BashArguments | PythonArguments, context: ToolContext, limits: Limits) -> Program:
        root, keep = context.workspace.root, self.config.keep_env
        if isinstance(given, PythonArguments):
            return Program((sys.executable, "-I", "-u"), root, limits, keep, given.code)
        return Program((shutil.which("bash") or "sh", "-c", given.command), root, limits, keep)


class _View:
    """What a call has written so far, for the model, and its newest lines for people."""

    def __init__(self, context: ToolContext) -> None:
        outputs = None if context.incognito else context.workspace.outputs
        self.capture = Capture(OUTPUT_LIMIT - _REMARKS, outputs, context.call_id)
        self._terminal = Terminal()
        self._progress = context.progress
        self._progress("running", "")

    async def take(self, data: bytes) -> None:
        """Add what the program has written."""
        self._progress("running", await asyncio.to_thread(self._add, data))

    async def result(self, ended: Ended, limits: Limits) -> ToolResult:
        """What the call comes to."""
        await asyncio.to_thread(self._finish)
        output = self.capture.text().rstrip("\n")
        code = {"time": TIMED_OUT, "output": FLOODED}.get(ended.why, ended.code)
        if code:
            output += f"\n[exit code {code}{_reason(ended, limits)}]"
        return ToolResult(output.lstrip("\n") or "[no output]", code)

    def _add(self, data: bytes) -> str:
        self.capture.add(self._terminal.feed(data))
        return (self.capture.tail(TAIL) + self._terminal.line())[-TAIL:]

    def _finish(self) -> None:
        self.capture.add(self._terminal.finish())
        self.capture.close()


def _reason(ended: Ended, limits: Limits) -> str:
    """What is behind an exit code, as the end of a line."""
    if ended.why == "time":
        return f": it was ended at its time limit of {limits.seconds:g} s"
    if ended.why == "output":
        return f": it was ended since it wrote more than {limits.output_bytes:,} bytes; send them to a file"
    number = ended.code - 128
    if number == signal.SIGXCPU:
        return f": it used up its {limits.cpu_seconds:g} s of processor time"
    if number == signal.SIGXFSZ:
        return f": a file would have grown over {limits.file_bytes:,} bytes"
    if number in set(signal.Signals):
        return f": ended by {signal.Signals(number).name}"
    return ""


def _has_unseen(text: str) -> bool:
    return any(unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} and char not in "\n\t" for char in text)
