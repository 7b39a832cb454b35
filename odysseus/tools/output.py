"""Long outputs cut to what a model can take: the head and the tail stay, the whole is kept in a file to read on."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

HEAD_SHARE = 0.6
KEPT_LIMIT = 8_000_000
PREFIX = "output:"


def output_name(call_id: str) -> str:
    """What the file tools call the whole output of a call, like `output:1f0c…`."""
    return PREFIX + hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:16]


def output_path(outputs: Path, name: str) -> Path:
    """Where it is kept. `name` must be one that `output_name` made."""
    return outputs / f"{name.removeprefix(PREFIX)}.txt"


def cut(text: str, limit: int, note: str = "") -> str:
    """The head and the tail of `text` within `limit` characters, with a line between that says what is missing."""
    if len(text) <= limit:
        return text
    head = int(limit * HEAD_SHARE)
    tail = limit - head
    missing = len(text) - limit
    return f"{text[:head]}\n[… {missing:,} characters left out here{note} …]\n{text[-tail:]}"


async def fit(text: str, limit: int, outputs: Path | None, call_id: str) -> str:
    """`text` cut to `limit`; the whole, up to 8 million characters, goes to a file in `outputs` when there is one."""
    if len(text) <= limit:
        return text
    if outputs is None:
        return cut(text, limit)
    name = output_name(call_id)
    await asyncio.to_thread(_keep, outputs, name, text[:KEPT_LIMIT])
    return cut(text, limit, f"; read_file with the path {name} has all of it")


def _keep(outputs: Path, name: str, text: str) -> None:
    outputs.mkdir(parents=True, exist_ok=True)
    output_path(outputs, name).write_text(text, "utf-8", errors="replace")
