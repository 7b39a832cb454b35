"""Removing folders that programs have filled, however deep they are. Knows nothing of whose they were."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, if it is there. What the system does not let go stays."""
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
        return
    with suppress(OSError):
        _flatten(folder)
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)


def _flatten(top: Path) -> None:
    """Move every folder below up into the top one, since shutil goes down only as far as Python's stack."""
    waiting = _folders(top)
    while waiting:
        for inner in _folders(waiting.pop()):
            lifted = top / secrets.token_hex(8)
            os.rename(inner, lifted)
            waiting.append(lifted)


def _folders(folder: Path) -> list[Path]:
    with os.scandir(folder) as found:
        return [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]
