"""The folder that confines a run's file and shell tools, and which folders may be one. It opens no file itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from odysseus.choosing import Refusals, choose_place


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root` is a real, absolute folder without links in it.

    `outputs` is where long outputs of this session's calls are kept whole, None when nothing may be kept.
    """

    root: Path
    outputs: Path | None = None


WORDS = Refusals(
    not_whole="The workspace must be the whole path of a folder, from the root of the disk.",
    not_there="The workspace does not exist. Make the folder first, or choose another one.",
    unreadable="The workspace cannot be opened. Check its path and its permissions.",
    wrong_kind="The workspace must be a folder, and this is a file.",
    whole_disk="The workspace cannot be the whole disk or the system's own state. Choose a folder for this work.",
    home="The workspace cannot be your home folder or one that holds it. Choose a folder inside it.",
    forbidden="The workspace cannot be a folder where this server keeps its data. Choose another one.",
    denied="The workspace cannot be opened: permission denied. Choose another folder.",
)


def choose_workspace(text: str, forbidden: Sequence[Path] = ()) -> Path:
    """The real path of a folder that a user wishes to work in. Raises BadRequest with the reason against it."""
    return choose_place(text, forbidden, WORDS, files=False)
