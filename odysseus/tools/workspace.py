"""The folder that confines a run's file and shell tools, and which folders may be one. It opens no file itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from odysseus.errors import BadRequest

PATH_LIMIT = 4096
SYSTEM_FOLDERS = frozenset({"proc", "sys", "dev"})


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root` is a real, absolute folder without links in it.

    `outputs` is where long outputs of this session's calls are kept whole, None when nothing may be kept.
    """

    root: Path
    outputs: Path | None = None


def choose_workspace(text: str, forbidden: Sequence[Path] = ()) -> Path:
    """The real path of a folder that a user wishes to work in. Raises BadRequest with the reason against it.

    Refused are the whole disk, the home folder and what holds it, and `forbidden` folders with all that they hold or
    that holds them.
    """
    real = _existing(text.strip())
    if real.parent == real or (real.parts[1:2] and real.parts[1] in SYSTEM_FOLDERS):
        raise BadRequest(
            "The workspace cannot be the whole disk or the system's own state. Choose a folder for this work."
        )
    if _is_or_holds(real, _home()):
        raise BadRequest("The workspace cannot be your home folder or one that holds it. Choose a folder inside it.")
    for place in forbidden:
        own = Path(os.path.realpath(place))
        if _is_or_holds(real, own) or _is_or_holds(own, real):
            raise BadRequest("The workspace cannot be a folder where this server keeps its data. Choose another one.")
    if not os.access(real, os.R_OK | os.X_OK):
        raise BadRequest("The workspace cannot be opened: permission denied. Choose another folder.")
    return real


def _existing(text: str) -> Path:
    if not text or "\x00" in text or len(text) > PATH_LIMIT or not os.path.isabs(text):
        raise BadRequest("The workspace must be the whole path of a folder, from the root of the disk.")
    try:
        real = Path(os.path.realpath(text, strict=True))
        if not real.is_dir():
            raise BadRequest("The workspace must be a folder, and this is a file.")
    except FileNotFoundError as error:
        raise BadRequest("The workspace does not exist. Make the folder first, or choose another one.") from error
    except (OSError, UnicodeError) as error:
        raise BadRequest("The workspace cannot be opened. Check its path and its permissions.") from error
    return real


def _home() -> Path:
    return Path(os.path.realpath(os.path.expanduser("~")))


def _is_or_holds(outer: Path, inner: Path) -> bool:
    """Whether `inner` is `outer` or in it, also where two spellings name one folder."""
    return any(place == outer or _same(place, outer) for place in (inner, *inner.parents))


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # what is not there is no one's folder
        return False
