"""Which files and folders of this machine may be added to the library. Reads none of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from odysseus import choosing

WORDS = choosing.Refusals(
    not_whole="Give the whole path of a file or a folder, from the root of the disk.",
    not_there="There is no such file or folder. Check the path.",
    unreadable="This cannot be opened. Check its path and its permissions.",
    wrong_kind="The library takes files and folders, and this is neither.",
    whole_disk="The library cannot hold the whole disk. Choose a folder or a file.",
    home="The library cannot hold your home folder or one that holds it. Choose a folder inside it.",
    forbidden="The library cannot hold the folder where this server keeps its data.",
    denied="This cannot be opened: permission denied. Choose another file or folder.",
)


def choose_place(text: str, forbidden: Sequence[Path] = ()) -> Path:
    """The real path of a file or folder that a user wishes to add. Raises BadRequest with the reason against it."""
    return choosing.choose_place(text, forbidden, WORDS, files=True)
