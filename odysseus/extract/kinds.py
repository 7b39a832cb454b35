"""What a file is, by its content, and whether that is what it was called. Reads no text and no picture."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path, PurePath
from typing import BinaryIO

HEAD_BYTES = 8192
"""How much of a file's beginning `sniff` looks at."""

PDF = "application/pdf"
ZIP = "application/zip"
BINARY = "application/octet-stream"
EMPTY = "application/x-empty"
OLE = "application/x-ole-storage"
_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX = f"{_OFFICE}wordprocessingml.document"
XLSX = f"{_OFFICE}spreadsheetml.sheet"
PPTX = f"{_OFFICE}presentationml.presentation"
CSV = "text/csv"
TSV = "text/tab-separated-values"

LABELS = {
    PDF: "a PDF",
    DOCX: "a Word document",
    XLSX: "an Excel workbook",
    PPTX: "a PowerPoint presentation",
    "image/png": "a PNG picture",
    "image/jpeg": "a JPEG picture",
    "image/gif": "a GIF picture",
    "image/webp": "a WebP picture",
    "image/bmp": "a BMP picture",
    "image/tiff": "a TIFF picture",
    "image/avif": "an AVIF picture",
    "image/heic": "a HEIC picture",
    ZIP: "a ZIP archive",
    OLE: "an older Office file",
    BINARY: "binary data",
    EMPTY: "an empty file",
}
"""Types in words. What is not here is text, or of no matter."""

_CALLED = {
    **dict.fromkeys((".pdf",), PDF),
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), DOCX),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm"), XLSX),
    **dict.fromkeys((".pptx", ".pptm", ".potx", ".ppsx"), PPTX),
    **dict.fromkeys((".jpg", ".jpeg", ".jpe", ".jfif"), "image/jpeg"),
    **{f".{name}": f"image/{name}" for name in ("png", "gif", "webp", "bmp", "tiff", "avif", "heic")},
    ".tif": "image/tiff",
    ".csv": CSV,
    ".tsv": TSV,
    ".tab": TSV,
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".json": "application/json",
}
_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "application/x-pdf": PDF,
    "image/x-ms-bmp": "image/bmp",
}
_TEXTUAL = frozenset({"application/json", "application/xml", "image/svg+xml"})
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE),
    (b"{\\rtf", "application/rtf"),
)
_PDF_HEAD = re.compile(rb"%PDF-\d")
_PDF_WITHIN = 1024
_MAIN_PART = b".main+xml"
_BY_FOLDER = (("word/", DOCX), ("xl/", XLSX), ("ppt/", PPTX))
_TYPES_LIMIT = 1_000_000
_CONTROLS = bytes(sorted(set(range(32)) - set(b"\t\n\v\f\r\b\x1b") | {127}))
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def sniff(source: bytes | Path, name: str = "") -> str:
    """The type of a file by its path, or by its beginning alone, where an archive stays an archive.

    `name` only tells kinds of text apart. Raises OSError.
    """
    if isinstance(source, bytes):
        return _by_head(source[:HEAD_BYTES], b"", name)
    with source.open("rb") as file:
        return sniff_file(file, name)


def sniff_file(file: BinaryIO, name: str = "") -> str:
    """The type of an open file; where it then stands is of no matter. Raises OSError."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    file.seek(max(0, file.seek(0, 2) - _PDF_WITHIN))
    mime = _by_head(head, file.read(), name)
    return _in_archive(file) if mime == ZIP else mime


def _by_head(head: bytes, tail: bytes, name: str) -> str:
    if not head:
        return EMPTY
    for begin, mime in _MAGIC:
        if head.startswith(begin):
            return mime
    if _is_pdf(head, tail):
        return PDF
    return _by_box(head) or (_kind_of_text(head, name) if is_text(head) else BINARY)


def _is_pdf(head: bytes, tail: bytes) -> bool:
    """A text may speak of PDF; a PDF with junk before it is binary, or ends like one."""
    found = _PDF_HEAD.search(head[:_PDF_WITHIN])
    if not found:
        return False
    return not head[: found.start()].strip(b"\xef\xbb\xbf \r\n\t") or b"%%EOF" in tail or not is_text(head)


def _by_box(head: bytes) -> str:
    """Pictures whose type stands behind a length."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[:2] == b"BM" and head[6:10] == b"\x00\x00\x00\x00" and len(head) > 26:
        return "image/bmp"
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        return "image/avif" if brand in {b"avif", b"avis"} else "image/heic" if brand[:3] in {b"hei", b"hev"} else ""
    return ""


def _in_archive(file: BinaryIO) -> str:
    """Which Office format a ZIP archive holds, if any."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if "[Content_Types].xml" not in names:
                return ZIP
            with archive.open("[Content_Types].xml") as part:
                types = part.read(_TYPES_LIMIT)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error):
        return ZIP
    if _MAIN_PART not in types:
        return ZIP
    return next((mime for folder, mime in _BY_FOLDER if any(part.startswith(folder) for part in names)), ZIP)


def is_text(head: bytes) -> bool:
    """Whether bytes are those of a text, in whatever encoding: hardly any controls, or two bytes for each letter."""
    return head.startswith(_BOMS) or bool(wide_order(head)) or has_few_controls(head)


def has_few_controls(data: bytes) -> bool:
    """Whether bytes could be those of a text in one of the encodings that build on ASCII."""
    return len(data) - len(data.translate(None, _CONTROLS)) <= len(data) // 50


def wide_order(head: bytes) -> str:
    """The encoding of UTF-16 without a mark, told by where its NULs are; empty for everything else."""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if half < 2 or (len(head) % 2 and len(head) < HEAD_BYTES):
        return ""
    if odd >= half * 0.3 and even <= half * 0.02:
        return "utf-16-le" if _are_letters(head[0::2], head[1::2]) else ""
    spelt = even >= half * 0.3 and odd <= half * 0.02 and _are_letters(head[1::2], head[0::2])
    return "utf-16-be" if spelt else ""


def _are_letters(low: bytes, high: bytes) -> bool:
    """Whether the letters of Latin among them are letters and no controls."""
    return has_few_controls(bytes(letter for letter, page in zip(low, high, strict=False) if page == 0))


def _kind_of_text(head: bytes, name: str) -> str:
    begin = head.lstrip(b"\xef\xbb\xbf \r\n\t")[:200].lower()
    if begin.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    called = called_by(name)
    return called if called.startswith("text/") or called in _TEXTUAL else "text/plain"


def called_by(name: str) -> str:
    """The type that a name's ending stands for, or nothing."""
    return _CALLED.get(PurePath(name.replace("\\", "/")).suffix.lower(), "")


def is_mismatch(mime: str, declared: str, name: str = "") -> bool:
    """Whether the content is not of the declared type, or, where none is declared, not of the name's."""
    said = declared.partition(";")[0].strip().lower()
    said = _ALIASES.get(said, said)
    if said in {"", BINARY}:
        said = called_by(name)
    if not said or mime in {"", EMPTY}:
        return False
    if is_textual(said):
        return not is_textual(mime)
    return said in LABELS and said != mime and said not in {ZIP, OLE}


def is_textual(mime: str) -> bool:
    """Whether a type is one of text."""
    return mime.startswith("text/") or mime in _TEXTUAL
