"""The head of a GGUF file: is it one, and how long is its window. Knows nothing of where files come from or go."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

MAGIC = b"GGUF"

_MOST_KEYS = 10_000
_LONGEST_TEXT = 64 * 1024 * 1024
_STRING, _ARRAY = 8, 9
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


def is_gguf(path: Path) -> bool:
    """Whether the file begins like a GGUF. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_context_length(path: Path) -> int | None:
    """The window the model was trained for, in tokens; None when the head does not say or cannot be read."""
    try:
        with path.open("rb") as file:
            return _search(file)
    except (OSError, EOFError, ValueError):
        return None


def _search(file: BinaryIO) -> int | None:
    if file.read(len(MAGIC)) != MAGIC:
        return None
    _unpack(file, "<I")
    _unpack(file, "<Q")
    for _ in range(min(_unpack(file, "<Q"), _MOST_KEYS)):
        key = _text(file)
        kind = _unpack(file, "<I")
        if key.endswith(b".context_length") and kind in _FORMATS:
            return int(_unpack(file, _FORMATS[kind]))
        _skip(file, kind)
    return None


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _text(file)
    elif kind == _ARRAY:
        item, count = _unpack(file, "<I"), _unpack(file, "<Q")
        if item in _FORMATS:
            file.seek(count * struct.calcsize(_FORMATS[item]), 1)
        else:
            for _ in range(count):
                _skip(file, item)
    else:
        _unpack(file, _format(kind))


def _format(kind: int) -> str:
    if kind not in _FORMATS:
        raise ValueError(f"unknown GGUF value type {kind}")
    return _FORMATS[kind]


def _unpack(file: BinaryIO, form: str) -> int:
    data = file.read(struct.calcsize(form))
    if len(data) < struct.calcsize(form):
        raise EOFError
    return struct.unpack(form, data)[0]  # type: ignore[no-any-return]


def _text(file: BinaryIO) -> bytes:
    length = _unpack(file, "<Q")
    if length > _LONGEST_TEXT:
        raise ValueError("a GGUF text is too long")
    data = file.read(length)
    if len(data) < length:
        raise EOFError
    return data
