"""The file that is being read, and how long there still is. Knows nothing of what is in it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from odysseus.extract.result import ExtractLimits, Unreadable

T = TypeVar("T")

_NO_FILE = "This is no ordinary file. Send the file itself."


@dataclass(frozen=True, slots=True)
class Source:
    """An open file with its type. `until` is the monotonic time at which reading should come to its end."""

    file: BinaryIO
    size: int
    mime: str
    limits: ExtractLimits
    until: float

    def in_time(self) -> bool:
        """Whether there is time for more."""
        return time.monotonic() < self.until

    def while_in_time(self, items: Iterable[T], late: Callable[[], None]) -> Iterator[T]:
        """The items, as long as there is time; then `late` is called, once."""
        for item in items:
            if not self.in_time():
                late()
                return
            yield item


def open_plain(path: Path) -> BinaryIO:
    """A file for reading, if it is one: no link, pipe, device or folder. Raises Unreadable."""
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    try:
        handle = os.open(path, flags)
    except FileNotFoundError as error:
        raise Unreadable("The file is not there any more. Send it again.") from error
    except OSError as error:
        raise Unreadable(_NO_FILE) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Unreadable(_NO_FILE)
    return os.fdopen(handle, "rb")
