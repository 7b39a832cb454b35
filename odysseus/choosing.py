"""Files and folders of this machine that a user names for the server to work with. Opens none of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from odysseus.errors import BadRequest

PATH_LIMIT = 4096
SYSTEM_FOLDERS = frozenset({"proc", "sys", "dev"})
"""Folders at the root of the disk that hold the system's own state."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """What a user reads, by what is wrong with the place."""

    not_whole: str
    not_there: str
    unreadable: str
    wrong_kind: str
    whole_disk: str
    home: str
    forbidden: str
    denied: str


def choose_place(text: str, forbidden: Sequence[Path], words: Refusals, *, files: bool) -> Path:
    """The real path of a folder, or with `files` of a file too. Raises BadRequest with the reason against it.

    Refused are the whole disk, the system's own state, the home folder and what holds it, and `forbidden` folders with
    all that they hold or that holds them.
    """
    real = _existing(text.strip(), words, files=files)
    if real.parent == real or (real.parts[1:2] and real.parts[1] in SYSTEM_FOLDERS):
        raise BadRequest(words.whole_disk)
    if _is_or_holds(real, Path(os.path.realpath(os.path.expanduser("~")))):
        raise BadRequest(words.home)
    for place in forbidden:
        own = Path(os.path.realpath(place))
        if _is_or_holds(real, own) or _is_or_holds(own, real):
            raise BadRequest(words.forbidden)
    if not os.access(real, os.R_OK | (os.X_OK if real.is_dir() else 0)):
        raise BadRequest(words.denied)
    return real


def _existing(text: str, words: Refusals, *, files: bool) -> Path:
    if not text or "\x00" in text or len(text) > PATH_LIMIT or not os.path.isabs(text):
        raise BadRequest(words.not_whole)
    try:
        real = Path(os.path.realpath(text, strict=True))
        if not (real.is_dir() or (files and real.is_file())):
            raise BadRequest(words.wrong_kind)
    except FileNotFoundError as error:
        raise BadRequest(words.not_there) from error
    except (OSError, UnicodeError) as error:
        raise BadRequest(words.unreadable) from error
    return real


def _is_or_holds(outer: Path, inner: Path) -> bool:
    """Whether `inner` is `outer` or in it, also where two spellings name one folder."""
    return any(place == outer or _same(place, outer) for place in (inner, *inner.parents))


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # what is not there is no one's folder
        return False
