"""Text files: plain text, code and Markdown as they are, CSV and TSV as tables. Knows bytes, not files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from odysseus.extract.encodings import Encoding, decode_pieces, find_encoding
from odysseus.extract.kinds import CSV, TSV, has_few_controls
from odysseus.extract.result import Extracted, ExtractLimits, Unreadable, join_notes
from odysseus.extract.tables import TableWriter, counted

REPLACED = (
    "Some characters could not be read in any known encoding and were replaced. Save the file as UTF-8 to have them."
)
_DELIMITERS = ",;\t|"
_PROBED_ROWS = 20
_TYPED_ROWS = 1000
_WHOLE = re.compile(r"[-+]?\d{1,18}")
_NUMBER = re.compile(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?%?")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d.*)?|\d\d?[./]\d\d?[./]\d{2,4}")


def read_text(data: bytes, mime: str, limits: ExtractLimits, *, whole: bool) -> Extracted:
    """The text of a file. `whole` is false when `data` is only its beginning. Raises Unreadable."""
    encoding = find_encoding(data, whole=whole)
    if not encoding.name.startswith(("utf-16", "utf-32")) and not has_few_controls(data):
        raise Unreadable("The file is no text, though it begins like one. Send it in a format that holds text.")
    notes = ["" if encoding.exact else REPLACED, "" if whole else f"Only the first {limits.bytes:,} bytes were read."]
    if mime in {CSV, TSV} and data.strip():
        with suppress(csv.Error):  # what is no table is still a text
            return Extracted("text", _table(data, mime, encoding, limits), join_notes(*notes), mime)
    text = _take(decode_pieces(data, encoding), limits.characters + 1)
    if not text.strip():
        return Extracted("none", note="The file holds nothing but white space.", mime=mime)
    return Extracted("text", text.replace("\r\n", "\n"), join_notes(*notes), mime)


def _take(pieces: Iterable[str], most: int) -> str:
    """At most so many characters, without decoding what comes after them."""
    taken: list[str] = []
    for piece in pieces:
        taken.append(piece[:most])
        most -= len(taken[-1])
        if most <= 0:
            break
    return "".join(taken)


def _table(data: bytes, mime: str, encoding: Encoding, limits: ExtractLimits) -> str:
    csv.field_size_limit(max(len(data), 1))
    delimiter = "\t" if mime == TSV else _delimiter(_take(decode_pieces(data, encoding), 65_536))
    writer = TableWriter(limits)
    typed: list[list[str]] = []
    for row in _rows(data, encoding, delimiter):
        if len(typed) <= _TYPED_ROWS:
            typed.append([cell[:50] for cell in row[: limits.columns]])
        writer.add(row)
    shown = writer.shown()
    columns = f"{counted(shown.rows, 'row')}, {counted(writer.width, 'column')}"
    more = "" if writer.width <= limits.columns else f" (the first {limits.columns} are shown)"
    return f"{columns}{more}: {_schema(shown.head, typed[1:])}\n\n{shown.text}"


def _rows(data: bytes, encoding: Encoding, delimiter: str) -> Iterator[list[str]]:
    """Rows with something in them."""
    with io.TextIOWrapper(io.BytesIO(data), encoding.name, encoding.errors, newline="") as text:
        yield from (row for row in csv.reader(text, delimiter=delimiter) if any(row))


def _delimiter(sample: str) -> str:
    """What stands between cells: that which gives the most columns in rows that agree."""
    lines = sample.splitlines(keepends=True)
    lines = lines[:-1] if len(lines) > 1 and len(sample) >= 65_536 else lines
    if lines and (said := re.fullmatch(r"sep=(.)\s*", lines[0])):
        return said[1]

    def columns(delimiter: str) -> int:
        rows = [row for row in islice(csv.reader(lines, delimiter=delimiter), _PROBED_ROWS) if any(row)]
        return min(map(len, rows), default=0)

    return max(_DELIMITERS, key=columns)


def _schema(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The columns with what they seem to hold, by the first rows."""
    named = []
    for place, name in enumerate(head):
        cells = [row[place].strip() for row in rows if place < len(row) and row[place].strip()]
        named.append(f"{name or '(no name)'} ({_type_of(cells)})")
    return ", ".join(named)


def _type_of(cells: Sequence[str]) -> str:
    for pattern, name in ((_WHOLE, "whole number"), (_NUMBER, "number"), (_DATE, "date")):
        if cells and all(map(pattern.fullmatch, cells)):
            return name
    return "text" if cells else "empty"
