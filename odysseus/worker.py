"""One question to a script in a process of its own, which is gone when the answer is there or not wanted.

What libraries do with data from outside can be slow, huge or a crash; a thread could not be ended, a process can.
Knows no script and no question.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

# Where Python finds its libraries; nothing that a key or a proxy could stand in.
_KEPT_ENV = ("PATH", "SYSTEMROOT", "HOME", "LANG", "PYTHONPATH")


class WorkerError(Exception):
    """The script did not answer: it crashed or went over its limits. Too much time is a TimeoutError."""


async def ask_worker(
    script: Path, request: dict[str, Any], body: bytes, seconds: float, keep_env: Sequence[str] = ()
) -> dict[str, Any]:
    """The answer of a script to a line of JSON and a body. Raises WorkerError, TimeoutError.

    `keep_env` names variables of the environment that the script gets beside the usual ones.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(script),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in (*_KEPT_ENV, *keep_env) if name in os.environ},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            answer, _ = await process.communicate(msgspec.json.encode(request) + b"\n" + body)
        return msgspec.json.decode(answer, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise WorkerError(f"{script.name} ended with {process.returncode}") from error
    finally:
        if process.returncode is None:
            _kill(process)
            await process.wait()


def _kill(process: Process) -> None:
    """End the script with all that it has started, where the system knows groups of processes."""
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
