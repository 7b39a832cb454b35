"""A context to call tools in, as the loop makes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from odysseus.tools.base import ToolContext
from odysseus.tools.workspace import Workspace


def context(
    folder: Path, *, progress: Callable[[str, str], None] = lambda _message, _tail: None, **over: Any
) -> ToolContext:
    """A context whose workspace is `folder`/work, with `folder`/outputs for long outputs."""
    root = folder / "work"
    root.mkdir(exist_ok=True)
    fields: dict[str, Any] = {
        "session_id": "s" * 32,
        "run_id": "r" * 32,
        "call_id": "call_1",
        "workspace": Workspace(root.resolve(), folder / "outputs"),
        "progress": progress,
        **over,
    }
    return ToolContext(**fields)
