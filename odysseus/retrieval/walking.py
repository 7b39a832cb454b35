"""The files of a source as they are on the disk now: names, sizes and times. Opens none of them but to hash it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_FILES = 20_000
"""How many files of one folder are indexed."""

_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "bower_components"})
_NO_TEXT = (
    "7z a aac avi bin bz2 class db dll dmg exe flac gguf gz img iso jar lock lz4 m4a m4v mkv mov mp3 mp4 mpeg mpg npy "
    "npz o obj ogg onnx opus otf parquet pkl pt pyc rar safetensors so sqlite sqlite3 tar tgz ttf wasm wav webm whl "
    "wma wmv woff woff2 xz zip zst"
)
_SKIPPED_ENDINGS = frozenset(f".{ending}" for ending in _NO_TEXT.split(" "))
_PIECE = 1 << 20


class Gone(Exception):
    """The source is not there any more, or cannot be opened; the words are for the user."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file. `path` is below the source with `/`, empty for a source that is the file. `mtime` in nanoseconds."""

    path: str
    full: Path
    name: str
    size: int
    mtime: int


@dataclass(slots=True)
class Walk:
    """What is in a source. `skipped` counts files that hold no text by their names, `closed` folders without access."""

    files: list[Found] = field(default_factory=list)
    skipped: int = 0
    closed: int = 0
    more: bool = False

    @property
    def note(self) -> str:
        """What was left out, for the user."""
        notes = []
        if self.more:
            notes.append(f"Only the first {MOST_FILES:,} files are indexed. Add folders inside it for the others.")
        if self.closed:
            notes.append(f"{self.closed:,} of its folders could not be opened.")
        return " ".join(notes)


def look(place: Path, *, folder: bool, name: str = "") -> Walk:
    """The files of a source. Hidden ones, links, and what holds no text by its name are left out. Raises Gone."""
    try:
        if not folder:
            return Walk([_found(place, "", name or place.name)])
        if not place.is_dir() or place.is_symlink():
            raise Gone("The folder is not there any more.")
        walk = Walk()
        with os.scandir(place):
            pass  # one that cannot be opened is told, and not taken for empty
        for path in _files(str(place), walk):
            if len(walk.files) == MOST_FILES:
                walk.more = True
                break
            _take(walk, place, path)
    except OSError as error:
        raise Gone(f"The {'folder' if folder else 'file'} is not there any more, or cannot be opened.") from error
    return walk


def _take(walk: Walk, place: Path, path: str) -> None:
    try:
        walk.files.append(_found(Path(path), Path(path).relative_to(place).as_posix(), os.path.basename(path)))
    except (OSError, UnicodeError):
        walk.skipped += 1  # it went while we looked, or its name is no text


def _found(full: Path, path: str, name: str) -> Found:
    path.encode()
    told = full.lstat()
    if not os.path.isfile(full) or full.is_symlink():
        raise FileNotFoundError(name)
    return Found(path, full, name, told.st_size, told.st_mtime_ns)


def _files(root: str, walk: Walk) -> Iterator[str]:
    """Paths in a steady order, folder by folder."""

    def closed(_error: OSError) -> None:
        walk.closed += 1

    for folder, folders, names in os.walk(root, onerror=closed):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            full = os.path.join(folder, name)
            if name.startswith(".") or os.path.islink(full):
                continue
            if os.path.splitext(name)[1].lower() in _SKIPPED_ENDINGS:
                walk.skipped += 1
            else:
                yield full


def file_hash(path: Path, most: int) -> str:
    """SHA-256 of the first `most` bytes of a file and of its size. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while most > 0 and (piece := file.read(min(_PIECE, most))):
            digest.update(piece)
            most -= len(piece)
        digest.update(str(os.fstat(file.fileno()).st_size).encode())
    return digest.hexdigest()
