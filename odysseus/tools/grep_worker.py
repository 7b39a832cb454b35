"""The process that searches for grep: a request as JSON on its input, the findings as text on its output.

A pattern can take for ever, and `re` holds the interpreter while it does, so it runs where it can be killed.
"""

from __future__ import annotations

import io
import re
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TextIO

if __name__ == "__main__":  # run as a file, it has to find the package itself
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import msgspec

from odysseus.tools.base import ToolError
from odysseus.tools.confine import Place, file_at, folder_at, parent_of, printable, sentences
from odysseus.tools.content import HEAD, encoding_of
from odysseus.tools.globs import parse_glob
from odysseus.tools.walking import SKIPPED, Patience, Walk

MATCHES = 200
CHARACTERS = 14_000
LINE_CHARACTERS = 300
LONGEST_LINE = 1_000_000
MEMORY = 1 << 30
REFUSED = 3


class Request(msgspec.Struct, frozen=True):
    """What to look for, and where: a place below `root`."""

    root: str
    parts: tuple[str, ...]
    label: str
    pattern: str
    glob: str
    ignore_case: bool
    context: int
    seconds: float


class Full(Exception):
    """No more findings are wanted."""


@dataclass(slots=True)
class Findings:
    """Writes what is found, file by file."""

    out: TextIO
    context: int
    matches: int = 0
    room: int = CHARACTERS
    shown: str = ""
    last: int = 0
    before: deque[tuple[int, str]] = field(default_factory=deque)
    after: int = 0

    def begin(self, shown: str) -> None:
        """Another file."""
        self.shown, self.last, self.after = shown, 0, 0
        self.before.clear()

    def line(self, number: int, line: str, at: int | None) -> None:
        """The next line of the file; `at` is where the pattern was found in it."""
        if at is not None:
            if not self.last:
                self._write(("\n" if self.matches else "") + self.shown + "\n")
            elif self.last < (self.before[0][0] if self.before else number) - 1 and self.context:
                self._write("--\n")
            for earlier, text in self.before:
                self._write(f"{earlier}-{clipped(text, 0)}\n")
            self._write(f"{number}:{clipped(line, at)}\n")
            self.before.clear()
            self.last, self.after = number, self.context
            self.matches += 1
            self.out.flush()  # so that it is not lost when time is up
            if self.matches >= MATCHES:
                raise Full
        elif self.after:
            self._write(f"{number}-{clipped(line, 0)}\n")
            self.last, self.after = number, self.after - 1
        elif self.context:
            self.before.append((number, line))
            if len(self.before) > self.context:
                self.before.popleft()

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.room -= len(text)
        if self.room <= 0:
            raise Full


def clipped(line: str, at: int) -> str:
    """A line, or the part of a long one around the place."""
    line = line.rstrip("\r\n").replace("\x00", "\ufffd")
    if len(line) <= LINE_CHARACTERS:
        return line
    start = max(0, min(at - LINE_CHARACTERS // 3, len(line) - LINE_CHARACTERS))
    end = start + LINE_CHARACTERS
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def search(file: BinaryIO, shown: str, pattern: re.Pattern[str], findings: Findings) -> None:
    """Look through one file; what is no text is passed over."""
    encoding = encoding_of(file.read(HEAD))
    if encoding is None:
        return
    file.seek(len(encoding.mark))
    findings.begin(shown)
    with io.TextIOWrapper(file, encoding.codec, "replace", newline="\n") as text:
        for number, line in _lines(text):
            found = pattern.search(line.rstrip("\r\n"))
            findings.line(number, line, found.start() if found else None)


def _lines(text: TextIO) -> Iterator[tuple[int, str]]:
    """Numbered lines; one of more than a million characters comes in pieces of the same number."""
    number = 1
    while line := text.readline(LONGEST_LINE):
        yield number, line
        number += line.endswith("\n")


def run(request: Request, out: TextIO) -> None:
    """Do the whole search. Raises ToolError."""
    pattern = compiled(request.pattern, ignore_case=request.ignore_case)
    findings = Findings(out, request.context)
    walk = Walk(Patience(request.seconds), SKIPPED - set(request.parts))
    try:
        _look(request, lambda file, shown: search(file, shown, pattern, findings), walk)
    except Full:
        out.write(f"[Stopped after {findings.matches} matches. Narrow the pattern, path or glob to see others.]\n")
    if not findings.matches:
        out.write("No matches.\n")
    if note := walk.note():
        out.write(note + "\n")
    out.flush()


def _look(request: Request, look: Callable[[BinaryIO, str], None], walk: Walk) -> None:
    place = Place(Path(request.root), request.parts, request.label)
    if place.parts and _is_file(place):
        with sentences(place.shown), file_at(place) as file:
            look(file, place.shown)
        return
    wanted = parse_glob(request.glob) if request.glob else None
    if wanted:
        walk.skip -= wanted.names
    base = "/".join(place.parts)
    prefix = f"{base}/" if base else ""
    with sentences(place.shown), folder_at(place) as folder:
        for entry in walk.files(folder, prefix):
            if entry.is_link or (wanted and not wanted.matches(entry.path[len(prefix) :])):
                continue
            try:
                file = entry.folder.file(entry.name)
            except (OSError, ToolError):  # a pipe, a file that may not be read, or one that has just gone
                walk.closed += 1
                continue
            with file:
                look(file, printable(entry.path))


def _is_file(place: Place) -> bool:
    with sentences(place.shown), parent_of(place) as parent:
        return not stat.S_ISDIR(parent.state(place.parts[-1]).st_mode)


def compiled(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    """The pattern. Raises ToolError."""
    try:
        return re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        raise ToolError(f"The pattern is not a regular expression that can be used: {error}.") from error


def _limit(seconds: float) -> None:
    """Whatever happens to the server, this process ends by itself and stays small."""
    if sys.platform == "win32":
        return
    import resource
    import signal

    signal.alarm(int(seconds) + 2)
    with suppress(ValueError, OSError):  # not every system knows this limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> int:
    """Answer the request on the input."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    _limit(request.seconds)
    out = io.TextIOWrapper(sys.stdout.buffer, "utf-8", "replace", newline="\n")
    try:
        run(request, out)
    except ToolError as error:
        out.write(error.message)
        out.flush()
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
