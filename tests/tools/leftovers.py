"""Which processes of a test still run."""

from __future__ import annotations

from pathlib import Path

import psutil  # type: ignore[import-untyped]


def leftovers(folder: Path) -> list[str]:
    """The command lines of the processes that work inside `folder`."""
    found = []
    for process in psutil.process_iter():
        try:
            inside = Path(process.cwd()).is_relative_to(folder)
            if inside and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found
