"""One question to a small script in a process of its own, which is gone when the answer is there or not wanted.

What libraries do with the web's data can be slow, huge or a crash; a thread could not be ended, a process can.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Any

import msgspec

# Where Python finds its libraries; nothing that a key or a proxy could stand in.
_KEPT_ENV = ("PATH", "SYSTEMROOT", "HOME", "LANG", "PYTHONPATH", "DDGS_PROXY")


class WorkerError(Exception):
    """The script did not answer: it crashed or went over its limits. Too much time is a TimeoutError."""


async def ask_worker(script: str, request: dict[str, Any], body: bytes, seconds: float) -> dict[str, Any]:
    """The answer of a script beside this file to a line of JSON and a body. Raises WorkerError, TimeoutError."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(Path(__file__).with_name(script)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in _KEPT_ENV if name in os.environ},
    )
    try:
        async with asyncio.timeout(seconds):
            answer, _ = await process.communicate(msgspec.json.encode(request) + b"\n" + body)
        return msgspec.json.decode(answer, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise WorkerError(f"{script} ended with {process.returncode}") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
