"""Which files and folders of this machine may be added to the library. Reads none of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from odysseus.errors import BadRequest

PATH_LIMIT = 4096


def choose_place(text: str, forbidden: Sequence[Path] = ()) -> Path:
    """The real path of a file or folder that a user wishes to add. Raises BadRequest with the reason against it.

    Refused are the whole disk, the home folder and what holds it, and `forbidden` folders with all that they hold or
    that holds them.
    """
    real = _existing(text.strip())
    if real.parent == real:
        raise BadRequest("The library cannot hold the whole disk. Choose a folder or a file.")
    if _is_or_holds(real, Path(os.path.realpath(Path.home()))):
        raise BadRequest("The library cannot hold your home folder or one that holds it. Choose a folder inside it.")
    for place in forbidden:
        own = Path(os.path.realpath(place))
        if _is_or_holds(real, own) or _is_or_holds(own, real):
            raise BadRequest("The library cannot hold the folder where this server keeps its data.")
    if not os.access(real, os.R_OK | (os.X_OK if real.is_dir() else 0)):
        raise BadRequest("This cannot be opened: permission denied. Choose another file or folder.")
    return real


def _existing(text: str) -> Path:
    if not text or "\x00" in text or len(text) > PATH_LIMIT or not os.path.isabs(text):
        raise BadRequest("Give the whole path of a file or a folder, from the root of the disk.")
    try:
        real = Path(os.path.realpath(text, strict=True))
        if not (real.is_dir() or real.is_file()):
            raise BadRequest("The library takes files and folders, and this is neither.")
    except FileNotFoundError as error:
        raise BadRequest("There is no such file or folder. Check the path.") from error
    except (OSError, UnicodeError) as error:
        raise BadRequest("This cannot be opened. Check its path and its permissions.") from error
    return real


def _is_or_holds(folder: Path, other: Path) -> bool:
    return folder == other or folder in other.parents
