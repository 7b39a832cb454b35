"""The process that reads one file, so that a file made to be slow, huge or harmful can be killed with it.

Stdin: a line of JSON with `path`, `name`, `declared` and `limits`. Stdout: one JSON object, the fields of `Extracted`.
Runs as a script; is never imported.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

# Over the time limit of the server, which is the one to end this process; this is for when the server is gone.
_GRACE_SECONDS = 5
# Libraries and stacks of threads take addresses, but no memory.
_ADDRESSES = 2_000_000_000
_TOO_LARGE = "Reading the file needs more memory than it may take. Send a smaller file, or a part of it."


def main() -> None:
    """Read, answer."""
    sys.path.append(str(Path(__file__).parents[2]))
    from dataclasses import asdict

    from odysseus.extract.reading import read_file
    from odysseus.extract.result import Extracted, ExtractLimits

    request = json.loads(sys.stdin.buffer.readline())
    limits = ExtractLimits(**request["limits"])
    answer = _own_stdout()
    _limit(limits.seconds, limits.memory)
    try:
        found = read_file(Path(request["path"]), request["name"], limits, request["declared"])
    except MemoryError:
        found = Extracted("failed", note=_TOO_LARGE)
    with os.fdopen(answer, "wb") as stream:
        stream.write(json.dumps(asdict(found)).encode())


def _own_stdout() -> int:
    """A handle to stdout that libraries which print do not have."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


def _limit(seconds: float, memory: int) -> None:
    """Hold the process to its time and memory, where the system can."""
    if hasattr(signal, "alarm"):
        signal.alarm(int(seconds) + _GRACE_SECONDS)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_AS, (memory + _ADDRESSES, memory + _ADDRESSES))


if __name__ == "__main__":
    main()
