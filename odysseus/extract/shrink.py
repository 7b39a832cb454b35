"""Pictures made small enough for models that see, in a process that can be killed. Knows no model."""

from __future__ import annotations

import base64
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from odysseus.worker import WorkerError, ask_worker

LONGEST_SIDE = 2048
"""Pixels; models see no more of a larger picture."""
MOST_BYTES = 5_000_000
"""What every provider takes."""

_SECONDS = 30.0
_SCRIPT = Path(__file__).with_name("shrink_worker.py")


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A small picture, PNG or JPEG."""

    mime: str
    data: bytes


def can_shrink() -> bool:
    """Whether pictures can be made smaller here."""
    return importlib.util.find_spec("PIL") is not None


async def shrink(path: Path, longest: int = LONGEST_SIDE, most_bytes: int = MOST_BYTES) -> Shrunk | None:
    """The picture at `path` within these limits, upright; None when it cannot be done."""
    request = {"path": str(path), "longest": longest, "bytes": most_bytes}
    try:
        answer = await ask_worker(_SCRIPT, request, b"", _SECONDS)
    except (WorkerError, TimeoutError):
        return None
    return Shrunk(answer["mime"], base64.b64decode(answer["data"])) if answer.get("data") else None
