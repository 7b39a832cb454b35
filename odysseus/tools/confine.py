"""Paths that a model gives, opened so that no link, `..` or race leads out of the workspace.

A path is first made free of links; then each name on the way is opened in the folder before it, without following
links. Where the system has no such calls (Windows), the real path is checked before and after. Knows no tool.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from odysseus.tools.base import ToolError
from odysseus.tools.output import PREFIX, output_path
from odysseus.tools.workspace import Workspace

BY_HANDLE = {os.open, os.stat, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd and os.scandir in os.supports_fd
PATH_LIMIT = 4096

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
# Opening a pipe or a terminal must neither wait nor take it over.
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_OUTPUT = re.compile(re.escape(PREFIX) + "[0-9a-f]{16}")
_UNSAFE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist: a name on its way is not a folder",
    errno.EISDIR: "is a folder, not a file",
    errno.EACCES: "may not be opened: permission denied",
    errno.EPERM: "may not be opened: not permitted",
    errno.ENAMETOOLONG: "has a name that is too long",
    errno.ELOOP: "leads through a link that goes in a circle or has just changed",
    errno.ENOSPC: "cannot be written: the disk is full",
    errno.EDQUOT: "cannot be written: the disk quota is used up",
    errno.EROFS: "cannot be written: the disk is read-only",
    errno.ENOTEMPTY: "is a folder that is not empty",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: names below `root`, none of them a link when it was looked up. None is the root itself."""

    root: Path
    parts: Sequence[str]
    label: str = ""

    @property
    def shown(self) -> str:
        """The path as the model and the user read it."""
        return self.label or printable("/".join(self.parts)) or "."


def locate(workspace: Workspace, path: str) -> Place:
    """Where `path` (relative to the root, absolute inside it, or an `output:` name) leads. Raises ToolError."""
    if path.startswith(PREFIX):
        return _output(workspace, path)
    _check_text(path)
    with sentences(path):
        real = Path(os.path.realpath(workspace.root / path))
    try:
        parts = real.relative_to(workspace.root).parts
    except ValueError:
        raise ToolError(
            f"{printable(path)} is outside of the workspace. Use a path inside it, like src/a.txt."
        ) from None
    if _UNSAFE.search("".join(parts)):
        raise ToolError(f"{printable(path)} leads to a name that is not valid UTF-8. Rename it with a command.")
    return Place(workspace.root, parts)


def _output(workspace: Workspace, name: str) -> Place:
    if not _OUTPUT.fullmatch(name):
        raise ToolError("An output's name is output: and 16 hex digits, as the cut output told it.")
    if workspace.outputs is None:
        raise ToolError("No whole outputs are kept in this session. Run the call again with less output.")
    kept = output_path(Path(os.path.realpath(workspace.outputs)), name)
    return Place(kept.parent, (kept.name,), name)


def _check_text(path: str) -> None:
    if "\x00" in path:
        raise ToolError("The path holds a NUL character. Give a plain path.")
    if _UNSAFE.search(path):
        raise ToolError("The path is not valid Unicode. Give a plain path.")
    if len(path) > PATH_LIMIT:
        raise ToolError(f"The path has {len(path):,} characters; {PATH_LIMIT:,} is the most.")


class Folder:
    """An open folder. What is done in it happens in this very folder, whatever its path leads to meanwhile."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self._path = path
        self._handle = handle

    @classmethod
    def open_root(cls, path: Path) -> Folder:
        """The folder at a real path. Raises OSError."""
        if BY_HANDLE:
            return cls(path, os.open(path, _FOLDER))
        return cls._checked(path)

    @classmethod
    def _checked(cls, path: Path) -> Folder:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
        _check_real(path)  # Windows has folders that lead elsewhere and do not look like links
        return cls(path, None)

    def close(self) -> None:
        """Let go of it."""
        if self._handle is not None:
            os.close(self._handle)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def folder(self, name: str, *, make: bool = False) -> Folder:
        """A folder in it, made when asked for and missing. Raises OSError, also for a link."""
        if make:
            with suppress(FileExistsError):
                os.mkdir(self._at(name), dir_fd=self._handle)
        if self._handle is None:
            return self._checked(self._path / name)
        return Folder(self._path / name, os.open(name, _FOLDER, dir_fd=self._handle))

    def state(self, name: str) -> os.stat_result:
        """What a name stands for, links not followed. Raises OSError."""
        return os.stat(self._at(name), dir_fd=self._handle, follow_symlinks=False)

    def file(self, name: str) -> BinaryIO:
        """A plain file in it, to read. Raises OSError, and ToolError for what is no plain file; never waits."""
        _check_plain(self.state(name), name)
        handle = os.open(self._at(name), _FILE | _NO_FOLLOW, dir_fd=self._handle)
        try:
            _check_plain(os.fstat(handle), name)
            if self._handle is None:
                _check_real(self._path / name)
        except BaseException:
            os.close(handle)
            raise
        return os.fdopen(handle, "rb")

    def new_file(self, name: str, *, private: bool = False) -> BinaryIO:
        """A file that was not there before, to write; `private` lets nobody else open it. Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | _NO_FOLLOW
        return os.fdopen(os.open(self._at(name), flags, 0o600 if private else 0o666, dir_fd=self._handle), "wb")

    def rename(self, old: str, new: str) -> None:
        """Put `old` in the place of `new`. Raises OSError."""
        os.replace(self._at(old), self._at(new), src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def remove(self, name: str) -> None:
        """Remove a file or a link. Raises OSError."""
        os.unlink(self._at(name), dir_fd=self._handle)

    @contextmanager
    def entries(self) -> Iterator[Iterator[os.DirEntry[str]]]:
        """What is in it, in no order."""
        with os.scandir(self._path if self._handle is None else self._handle) as found:
            yield found

    def _at(self, name: str) -> str:
        if self._handle is not None:
            return name
        _check_real(self._path)
        return str(self._path / name)


@contextmanager
def parent_of(place: Place, *, make: bool = False) -> Iterator[Folder]:
    """The folder that holds the place, opened name by name from the root; `make` makes missing ones. Raises OSError."""
    folder = Folder.open_root(place.root)
    try:
        for name in place.parts[:-1]:
            inner = folder.folder(name, make=make)
            folder.close()
            folder = inner
        yield folder
    finally:
        folder.close()


@contextmanager
def folder_at(place: Place) -> Iterator[Folder]:
    """The folder at the place. Raises OSError."""
    with parent_of(place) as parent:
        if not place.parts:
            yield parent
            return
        with parent.folder(place.parts[-1]) as folder:
            yield folder


@contextmanager
def file_at(place: Place) -> Iterator[BinaryIO]:
    """The plain file at the place, to read. Raises OSError, and ToolError for what is no plain file."""
    if not place.parts:
        raise IsADirectoryError(errno.EISDIR, "a folder")
    with parent_of(place) as parent:
        file = parent.file(place.parts[-1])
    with file:
        yield file


@contextmanager
def sentences(shown: str) -> Iterator[None]:
    """An error of the system becomes a ToolError that names the path as it was given."""
    try:
        yield
    except OSError as error:
        raise ToolError(f"{printable(shown)[:200]} {reason(error)}.") from error


def reason(error: OSError) -> str:
    """Why the system refused, to follow the path's name in a sentence."""
    code = error.errno or 0
    return _REASONS.get(code, f"cannot be used: {os.strerror(code).lower() if code else 'the system refused it'}")


def printable(name: str) -> str:
    """A name on one line, without what could pass for other text; bytes that are no UTF-8 are shown as U+FFFD."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", _UNSAFE.sub("\ufffd", name))


def _check_plain(state: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder")
    if stat.S_ISLNK(state.st_mode):
        raise OSError(errno.ELOOP, "a link")
    if not stat.S_ISREG(state.st_mode):
        raise ToolError(f"{printable(name)} is a pipe, socket or device, not a plain file. It cannot be opened.")


def _check_real(path: Path) -> None:
    if os.path.realpath(path) != str(path):
        raise OSError(errno.ELOOP, "a link")
