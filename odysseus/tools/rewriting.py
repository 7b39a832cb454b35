"""Several files changed as one step: all of them or none, each whole or not at all, none through a link.

Knows bytes and places; what the bytes mean, and who asked, is the callers'.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from odysseus.store.changes import SIZE_LIMIT
from odysseus.tools.base import ToolError
from odysseus.tools.confine import Place, file_at, parent_of, sentences


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file's step from `before` to `after`; None is no file. `mode` is the permission bits, None for a new file's."""

    place: Place
    before: bytes | None
    after: bytes | None
    mode: int | None = None


def read_whole(place: Place) -> tuple[bytes | None, int | None]:
    """A file's bytes and permission bits, None for no file. Raises ToolError, also when it is over the size limit."""
    try:
        with sentences(place.shown), file_at(place) as file:
            state = os.fstat(file.fileno())
            content = file.read(SIZE_LIMIT + 1)
    except ToolError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None, None
        raise
    if len(content) > SIZE_LIMIT:
        raise ToolError(
            f"{place.shown} is larger than {SIZE_LIMIT // 1_000_000} MB; such a file is changed by a command."
        )
    return content, stat.S_IMODE(state.st_mode)


def rewrite_all(steps: Sequence[Rewrite]) -> None:
    """Take all steps. Raises ToolError; then every file holds what it held before."""
    for step in steps:
        _check(step)
    done: list[Rewrite] = []
    try:
        for step in steps:
            with sentences(step.place.shown):
                _write(step.place, step.after, step.mode)
            done.append(step)
    except BaseException:
        for step in reversed(done):
            with suppress(OSError):
                _write(step.place, step.before, step.mode)
        raise


def _check(step: Rewrite) -> None:
    now, _ = read_whole(step.place)
    if now != step.before:
        raise ToolError(f"{step.place.shown} has changed in the meantime. Read it again, then repeat the change.")


def _write(place: Place, content: bytes | None, mode: int | None) -> None:
    name = place.parts[-1]
    with parent_of(place, make=content is not None) as folder:
        if content is None:
            folder.remove(name)
            return
        temporary = f".{secrets.token_hex(8)}.tmp"
        try:
            with folder.new_file(temporary, private=mode is not None) as file:
                file.write(content)
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), mode)
            folder.rename(temporary, name)
        except BaseException:
            with suppress(FileNotFoundError):
                folder.remove(temporary)
            raise
