"""Excel workbooks to Markdown: each sheet as a table. Knows openpyxl, which reads row by row."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from datetime import datetime, time
from typing import Any

from odysseus.extract.archive import DAMAGED
from odysseus.extract.filled import FilledCells
from odysseus.extract.result import Extracted, Missing, Unreadable, join_notes
from odysseus.extract.source import Source
from odysseus.extract.tables import TableWriter, counted

# A formula whose result was not stored, as programs leave it that write workbooks and calculate nothing.
_NO_RESULT = re.compile(rb"</f>(<v\s*/>|<v></v>)?</c>")
_PIECE = 1 << 20
_OVERLAP = 64


def read_xlsx(source: Source) -> Extracted:
    """The sheets of a workbook. Raises Unreadable."""
    try:
        from openpyxl.reader import excel
    except ImportError as error:
        raise Missing("Reading Excel workbooks", "files") from error
    source.file.seek(0)
    excel.ReadOnlyWorksheet = _sheet_class()
    try:
        workbook = excel.load_workbook(source.file, read_only=True, data_only=True, keep_links=False)
        late: list[str] = []
        texts = [_sheet(source, sheet, late) for sheet in workbook.worksheets]
        uncounted = source.in_time() and _lacks_results(source)
    except (KeyError, ValueError, TypeError, AttributeError, SyntaxError, zipfile.BadZipFile, zlib.error) as error:
        raise Unreadable(DAMAGED) from error
    note = join_notes(
        "" if any(texts) or late else "The workbook is empty.",
        f"There was no time to read all of: {', '.join(late)}. Send these sheets as files of their own."
        if late
        else "",
        "Some formulas have no stored result and look empty here. Open the workbook in a spreadsheet program, save it, "
        "and send it again."
        if uncounted
        else "",
    )
    text = "\n\n".join(filter(None, texts))
    return Extracted("text" if text else "none", text, note, source.mime)


def _sheet_class() -> type:
    """The library's sheet, but for what takes it too long: its size, often told wrong, and cells without a value."""
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

    class Sheet(ReadOnlyWorksheet):  # type: ignore[misc]
        def _get_size(self) -> None:
            self.reset_dimensions()

        def _get_source(self) -> FilledCells:
            return FilledCells(super()._get_source())

    return Sheet


def _sheet(source: Source, sheet: Any, late: list[str]) -> str:
    writer = TableWriter(source.limits)
    for row in _rows(source.while_in_time(sheet.iter_rows(values_only=True), lambda: late.append(sheet.title))):
        writer.add(row)
    shown = writer.shown()
    if writer.rows < 0:
        return ""
    hidden = "" if sheet.sheet_state == "visible" else ", hidden"
    size = f"{counted(shown.rows, 'row')}, {counted(writer.width, 'column')}"
    more = "" if writer.width <= source.limits.columns else f", the first {source.limits.columns} shown"
    return f"## {sheet.title} ({size}{more}{hidden})\n\n{shown.text}"


def _rows(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[str]]:
    """Rows with something in them, without empty cells at their ends."""
    for row in rows:
        if not any(value is not None for value in row):
            continue
        cells = [as_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def as_text(value: Any) -> str:
    """A cell's value as a reader would see it: dates in ISO 8601, numbers to the fifteen digits that Excel keeps."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return format(value, ".15g")
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    return str(value)


def _lacks_results(source: Source) -> bool:
    with zipfile.ZipFile(source.file) as archive:
        names = [name for name in archive.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        return any(_found(archive, name) for name in names)


def _found(archive: zipfile.ZipFile, name: str) -> bool:
    before = b""
    with archive.open(name) as file:
        while piece := file.read(_PIECE):
            if _NO_RESULT.search(before + piece):
                return True
            before = piece[-_OVERLAP:]
    return False
