"""Office files as archives: whether they can be opened without harm. Knows nothing of what stands in them."""

from __future__ import annotations

import zipfile
import zlib
from xml.parsers import expat

from odysseus.extract.result import Unreadable
from odysseus.extract.source import Source

DAMAGED = (
    "The file is damaged or was not sent whole. Open it in the program it was made with, save it again, and send that."
)
_MOST_PARTS = 20_000
# Below this much, no ratio is a danger: short XML of many like rows packs very well.
_HARMLESS = 100_000_000
_PIECE = 65_536
_LOCKED = "EncryptedPackage".encode("utf-16-le")


def check_archive(source: Source) -> None:
    """See that an Office file is whole, not too large, and declares nothing of its own. Raises Unreadable."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            parts = archive.infolist()
            _check_size(source, parts)
            for part in parts:
                if part.filename.lower().endswith((".xml", ".rels", ".vml")):
                    _check_part(archive, part)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise Unreadable(DAMAGED) from error


def _check_size(source: Source, parts: list[zipfile.ZipInfo]) -> None:
    unpacked = sum(part.file_size for part in parts)
    too_dense = unpacked > _HARMLESS and unpacked > source.limits.ratio * source.size
    if unpacked > source.limits.unpacked or too_dense or len(parts) > _MOST_PARTS:
        raise Unreadable(f"Unpacked, the file is {unpacked:,} bytes, more than is read. Send a part of it.")
    if any(part.flag_bits & 1 for part in parts):
        raise Unreadable("The file is password-protected. Remove the password and send it again.")


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    """Refuse a document type, the way to entities that swell or reach outside. It can only stand before the root."""
    parser = expat.ParserCreate()
    begun: list[str] = []

    def refuse(*_: object) -> None:
        raise Unreadable(
            "The file holds definitions that Office files must not have (DOCTYPE), so it was not read. "
            "Save it again with an Office program."
        )

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda name, _: begun.append(name)
    with archive.open(part) as file:
        while not begun and (piece := file.read(_PIECE)):
            try:
                parser.Parse(piece)
            except expat.ExpatError as error:
                raise Unreadable(DAMAGED) from error


def refuse_archive(source: Source) -> Unreadable:
    """What to say of an archive that is no Office file."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            names = archive.namelist()[:_MOST_PARTS]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError):
        return Unreadable(DAMAGED)
    if "xl/workbook.bin" in names:
        return Unreadable("Binary Excel workbooks are not read. Save it as .xlsx and send that.")
    if names[:1] == ["mimetype"]:
        return Unreadable("OpenDocument files and e-books are not read. Save it as .docx, .xlsx, .pptx or PDF.")
    return Unreadable("A ZIP archive is not read. Unpack it and send the files in it.")


def refuse_old_office(source: Source) -> Unreadable:
    """What to say of a file in the container that Office used before 2007, and uses for files with a password."""
    source.file.seek(0)
    data = source.file.read(min(source.size, source.limits.bytes))
    if _LOCKED in data:
        return Unreadable("The file is password-protected. Remove the password and send it again.")
    return Unreadable("Older Office files (.doc, .xls, .ppt) are not read. Save it as .docx, .xlsx or .pptx.")
