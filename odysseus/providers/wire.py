"""Bytes of a streamed answer to records: server-sent events, and JSON by lines. Any split at any byte gives the same.

Pure: must not know sockets, nor what a record means. Lines are split as bytes, so no character is ever cut.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from odysseus.errors import ProviderError

MAX_RECORD_BYTES = 16 * 2**20
_BOM = b"\xef\xbb\xbf"
_ENDING = 2  # bytes of line end that may follow a record


class Record(Struct, frozen=True, gc=False):
    """One unit of a stream. `event` is the event's name, empty when it has none."""

    data: bytes
    event: str = ""


class Decoder(Protocol):
    """What both framings offer. `feed` and `end` raise ProviderError once a record is over the limit."""

    def feed(self, chunk: bytes) -> list[Record]:
        """The records that this chunk completes."""
        ...

    def end(self) -> list[Record]:
        """The record left open when the body ended, if any."""
        ...


class _Buffer:
    """What is left of the bytes after the last whole record, and the limit on it. Each byte is copied only once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._head: bytes | None = b""
        self._too_large = False

    def _past_bom(self, chunk: bytes) -> bytes:
        """The chunk without the byte order mark that may open the body, even one byte at a time."""
        chunk = (self._head or b"") + chunk
        if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
            self._head = chunk
            return b""
        self._head = None
        return chunk.removeprefix(_BOM)

    def _take_rest(self, chunk: bytes) -> bytes:
        self._rest += chunk
        joined = bytes(self._rest)
        self._rest.clear()
        return joined

    def _within_limit(self, parts: list[bytes]) -> list[bytes]:
        """The parts before the first that is too large; the records among them are still given out."""
        for index, part in enumerate(parts):
            if len(part) > self._limit:
                self._too_large = True
                return parts[:index]
        return parts

    def _check(self) -> None:
        if self._too_large or len(self._rest) > self._limit + _ENDING:
            raise ProviderError(f"The endpoint sent one piece of more than {self._limit:,} bytes.")


class SseDecoder(_Buffer):
    """Server-sent events with LF, CRLF or CR. Comments, unknown fields and events without data bring no record."""

    def __init__(self, limit: int = MAX_RECORD_BYTES) -> None:
        super().__init__(limit)
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[Record]:
        self._check()
        if self._head is not None:
            chunk = self._past_bom(chunk)
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_lf(chunk)
        if self._rest:
            if not self._closes(chunk):
                self._rest += chunk
                return []
            chunk = self._take_rest(chunk)
        end = chunk.rfind(b"\n\n")
        self._rest += chunk[end + 2 :] if end >= 0 else chunk
        return self._records(chunk[:end]) if end > 0 else []

    def end(self) -> list[Record]:
        self._check()
        last = bytes(self._rest)
        self._rest.clear()
        return self._records(last)

    def _with_lf(self, chunk: bytes) -> bytes:
        """A CR ends its line at once; the LF that may follow it, perhaps in the next chunk, is dropped."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _closes(self, chunk: bytes) -> bool:
        return b"\n\n" in chunk or (chunk.startswith(b"\n") and self._rest.endswith(b"\n"))

    def _records(self, events: bytes) -> list[Record]:
        """Whole events, blank lines between them. Bare one-line `data: ` events are taken apart in one cut."""
        if events.startswith(b"data: ") and len(events) <= self._limit:
            parts = events[6:].split(b"\n\ndata: ")
            if events.count(b"\n") == 2 * len(parts) - 2:
                return [Record(part) for part in parts if part]
        records = map(_parse_block, self._within_limit(events.split(b"\n\n")))
        return [record for record in records if record]


class NdjsonDecoder(_Buffer):
    """One JSON value a line, LF or CRLF; blank lines bring no record."""

    def __init__(self, limit: int = MAX_RECORD_BYTES) -> None:
        super().__init__(limit)

    def feed(self, chunk: bytes) -> list[Record]:
        self._check()
        if self._head is not None:
            chunk = self._past_bom(chunk)
        if b"\n" not in chunk:
            self._rest += chunk
            return []
        lines = (self._take_rest(chunk) if self._rest else chunk).split(b"\n")
        self._rest += lines.pop()
        return self._records(lines)

    def end(self) -> list[Record]:
        self._check()
        last = bytes(self._rest)
        self._rest.clear()
        return self._records([last])

    def _records(self, lines: list[bytes]) -> list[Record]:
        lines = [line.strip() for line in lines]
        return [Record(line) for line in self._within_limit(lines) if line]


def _parse_block(block: bytes) -> Record | None:
    """The lines between two blank lines as one record."""
    data: list[bytes] = []
    event = b""
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif name == b"event":
            event = value.removeprefix(b" ")
    joined = b"\n".join(data)
    return Record(joined, event.decode("utf-8", "replace")) if joined else None
