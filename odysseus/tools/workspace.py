"""The folder that confines a run's file and shell tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root` is a real, absolute folder without links in it.

    `outputs` is where long outputs of this session's calls are kept whole, None when nothing may be kept.
    """

    root: Path
    outputs: Path | None = None
