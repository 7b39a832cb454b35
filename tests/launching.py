"""`python server.py` as a process of its own, for the tests that need one to signal, to kill, or to start again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parent.parent / "server.py"
READY = "ODYSSEUS_READY "
START_SECONDS = 30.0
END_SECONDS = 10.0


@dataclass(frozen=True)
class Ended:
    """How a process ended, and all it wrote after its ready line."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Launched:
    """A server that has said it is ready, and what it said."""

    process: asyncio.subprocess.Process
    told: Mapping[str, Any]

    @property
    def url(self) -> str:
        """Its address without the last slash."""
        return str(self.told["url"]).rstrip("/")

    async def ended(self) -> Ended:
        """Wait for its end."""
        async with asyncio.timeout(END_SECONDS):
            out, err = await self.process.communicate()
        return Ended(self.process.returncode or 0, out.decode(), err.decode())

    async def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        await self.ended()


def environment(**more: str) -> dict[str, str]:
    """This process's environment without the settings that it may hold."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("ODYSSEUS_")}
    return {**plain, "PYTHONUNBUFFERED": "", **more}


@asynccontextmanager
async def launched(*args: str | Path, env: Mapping[str, str] | None = None) -> AsyncIterator[Launched]:
    """A running server; whatever is left of it at the end is killed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SERVER),
        *map(str, args),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(env or environment()),
    )
    assert process.stdout
    try:
        async with asyncio.timeout(START_SECONDS):
            line = (await process.stdout.readline()).decode()
        assert line.startswith(READY), f"no ready line: {line!r} {await process.communicate()}"
        yield Launched(process, json.loads(line.removeprefix(READY)))
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
