"""The bytes of a program as the text that a terminal would leave standing. Knows no process and no file."""

from __future__ import annotations

import codecs
import re

LINE_LIMIT = 8_192
"""Characters of one line that can still be overwritten; the line's start is let go beyond that."""

_SAMPLE = 2_048
_BINARY_SHARE = 0.3
_BINARY_LEAST = 32
_SEQUENCE = 64
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # operating system command: titles, links
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # device control and other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor, erase
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)
_BACKSPACED = re.compile(r"([^\n\x08]*)(\x08+)")
_CONTROL = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")
_BAD = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f�]")


class Terminal:
    """Takes bytes in any pieces. Colours go, a progress bar is its last state, binary data becomes a remark."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._binary = 0
        self._begun = False

    def feed(self, data: bytes) -> str:
        """The text that has become final with these bytes."""
        if _is_binary(data):
            before = self._take_line()
            self._decoder.reset()
            self._binary += len(data)
            return self._said(before)
        return self._said(self._remark() + self._take(self._decoder.decode(data)))

    def line(self) -> str:
        """What stands on the last line, which is not final yet."""
        return tidy(self._line)

    def finish(self) -> str:
        """The rest. To be called once."""
        return self._said(self._remark() + self._take(self._decoder.decode(b"", True)) + self._take_line())

    def _take(self, text: str) -> str:
        head, newline, self._line = (self._line + text).rpartition("\n")
        final = tidy(head + newline)
        if len(self._line) > LINE_LIMIT:
            self._line = _fold(self._line)
        if len(self._line) > LINE_LIMIT:
            final += self._take_line(keep=_open_sequence(self._line))
        return final

    def _take_line(self, keep: int = 0) -> str:
        """Let go of the last line, all but `keep` characters of it."""
        cut = len(self._line) - keep
        taken, self._line = self._line[:cut], self._line[cut:]
        return tidy(taken)

    def _remark(self) -> str:
        if not self._binary:
            return ""
        told, self._binary = f"[{self._binary:,} bytes of binary data, not shown]\n", 0
        return f"\n{told}" if self._begun else told

    def _said(self, text: str) -> str:
        self._begun = self._begun or bool(text)
        return text


def tidy(text: str) -> str:
    """Text without escape sequences and control characters; what was overwritten on a line is gone."""
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    if "\x08" in text:
        text = _BACKSPACED.sub(lambda found: found[1][: max(0, len(found[1]) - len(found[2]))], text)
    if "\r" in text:
        text = "\n".join(_fold(line) if "\r" in line else line for line in text.split("\n"))
    return _CONTROL.sub("", text).replace("\x00", "␀")


def _fold(line: str) -> str:
    """The last thing that was written over the line; a return at its end stays, for what may follow."""
    parts = [part for part in line.split("\r") if part]
    return (parts[-1] if parts else "") + ("\r" if line.endswith("\r") else "")


def _open_sequence(line: str) -> int:
    """How many characters at the end of `line` may be the start of an escape sequence."""
    start = line.rfind("\x1b", max(0, len(line) - _SEQUENCE))
    return 0 if start < 0 or _ESCAPES.match(line, start) else len(line) - start


def _is_binary(data: bytes) -> bool:
    """Whether a good part of the bytes, judged by the first ones, is no text."""
    sample = data[:_SAMPLE]
    if sample.isascii() and b"\x00" not in sample:
        return False
    text = sample.decode("utf-8", "replace")
    bad = len(_BAD.findall(text))
    return bad >= _BINARY_LEAST and bad > _BINARY_SHARE * len(text)
