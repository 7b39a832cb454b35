"""One file to text, in the process that may be killed for it: by what the file is, whatever it is called."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from odysseus.extract.archive import check_archive, refuse_archive, refuse_old_office
from odysseus.extract.kinds import BINARY, CSV, DOCX, EMPTY, OLE, PDF, PPTX, TSV, XLSX, ZIP, is_textual, sniff_file
from odysseus.extract.pdf import read_pdf
from odysseus.extract.pictures import read_picture
from odysseus.extract.plain import read_text
from odysseus.extract.result import Extracted, ExtractLimits, Unreadable, join_notes
from odysseus.extract.slides import read_pptx
from odysseus.extract.source import Source, open_plain
from odysseus.extract.word import read_docx
from odysseus.extract.workbook import read_xlsx
from odysseus.text import clean_text

# Reading by pages and rows ends by itself this early, so that what was read by then is kept.
_OWN_SHARE = 0.75
_EMPTY = "The file is empty: it has 0 bytes. See that it was saved, and send it again."
_RTF = "Rich text files (.rtf) are not read. Save it as .docx or PDF."
_UNKNOWN = "The file is of no kind that can be read: no text, PDF, Office file or picture. Convert it to one of these."

_OFFICE: Mapping[str, Callable[[Source], Extracted]] = {DOCX: read_docx, XLSX: read_xlsx, PPTX: read_pptx}


def read_file(path: Path, name: str, limits: ExtractLimits, declared: str) -> Extracted:
    """The text of a file; one that cannot be read is an answer too. Raises MemoryError."""
    until = time.monotonic() + limits.seconds * _OWN_SHARE
    mime = ""
    try:
        with open_plain(path) as file:
            mime = _table_kind(sniff_file(file, name), declared)
            size = os.fstat(file.fileno()).st_size
            found = _read(Source(file, size, mime, limits, until))
    except Unreadable as error:
        return Extracted("failed", note=str(error), mime=mime)
    return _within(found, limits)


def _table_kind(mime: str, declared: str) -> str:
    """A text without a telling name is a table when its sender says so."""
    said = declared.partition(";")[0].strip().lower()
    return said if mime == "text/plain" and said in {CSV, TSV} else mime


def _read(source: Source) -> Extracted:
    if source.mime == EMPTY:
        return Extracted("none", note=_EMPTY, mime=source.mime)
    if is_textual(source.mime):
        source.file.seek(0)
        data = source.file.read(source.limits.bytes)
        return read_text(data, source.mime, source.limits, whole=len(data) == source.size)
    if source.size > source.limits.bytes:
        raise Unreadable(
            f"The file has {source.size:,} bytes, more than the {source.limits.bytes:,} that are read. Send a part."
        )
    if source.mime.startswith("image/"):
        return read_picture(source)
    if source.mime == PDF:
        return read_pdf(source)
    if source.mime in _OFFICE:
        check_archive(source)
        return _OFFICE[source.mime](source)
    raise _refusal(source)


def _refusal(source: Source) -> Unreadable:
    if source.mime == ZIP:
        return refuse_archive(source)
    if source.mime == OLE:
        return refuse_old_office(source)
    return Unreadable(_UNKNOWN if source.mime == BINARY else _RTF)


def _within(found: Extracted, limits: ExtractLimits) -> Extracted:
    """Text that can be stored, and no more of it than asked for."""
    text = clean_text(found.text)
    if len(text) <= limits.characters:
        return replace(found, text=text)
    cut = f"Only the first {limits.characters:,} characters were read; send the rest as a file of its own."
    return replace(found, text=text[: limits.characters], note=join_notes(found.note, cut))
