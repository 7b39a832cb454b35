"""The XML of a sheet without its empty cells, which a sheet formatted to its last row has by the million.

Knows the XML as bytes; the parser that reads it takes a minute for what is left out here in a second.
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import BinaryIO

_EMPTY_CELL = re.compile(rb"<(?:\w+:)?c(?:\s[^<>]*)?/>")
_EMPTY_ROW = re.compile(rb"<(?:\w+:)?row(?:\s[^<>]*)?(?:/>|>\s*</(?:\w+:)?row>)")
_PIECE = 1 << 20


class FilledCells:
    """A stream to be read from once, over another one."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._held = b""

    def __enter__(self) -> FilledCells:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._source.close()

    def read(self, _size: int = -1) -> bytes:
        """The next piece, of any size; empty only at the end."""
        while piece := self._source.read(_PIECE):
            data = self._held + piece
            cut = data.rfind(b"<")  # what begins here may not be whole
            cut = len(data) if cut < 0 else cut
            self._held = data[cut:]
            if kept := _EMPTY_ROW.sub(b"", _EMPTY_CELL.sub(b"", data[:cut])):
                return kept
        kept, self._held = self._held, b""
        return kept
