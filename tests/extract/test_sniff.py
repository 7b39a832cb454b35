"""What a file is: by its content, and never by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from sample_files import lines, make_docx, make_pdf, make_xlsx, make_zip, picture

from odysseus.extract.kinds import BINARY, DOCX, EMPTY, OLE, PDF, XLSX, ZIP, is_mismatch, sniff

PAGE = make_pdf([lines("some text")])
SMALL = Image.new("RGB", (4, 3))
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        (PAGE, PDF),
        (b"HTTP/1.1 200 OK\r\n\r\n" * 20 + PAGE, PDF),
        (b"\n\xef\xbb\xbf" + PAGE, PDF),
        (b"x" * 1100 + PAGE, "text/plain"),
        (b"# How to read PDF\nif head == b'%PDF-1.4':\n    ...\n", "text/plain"),
        (make_docx("a"), DOCX),
        (make_xlsx({"a": [[1]]}), XLSX),
        (make_zip({"a.txt": b"a"}), ZIP),
        (make_zip({"word/document.xml": b"<a/>"}), ZIP),
        (make_docx("a")[:900], ZIP),
        (make_zip({}), ZIP),
        (OLD_OFFICE, OLE),
        (b"", EMPTY),
        (bytes(range(256)) * 40, BINARY),
        (b"\x7fELF\x02\x01\x01" + bytes(100), BINARY),
        ("plain, then 東京".encode("utf-16"), "text/plain"),
        ("plain, then 東京".encode("utf-16-be"), "text/plain"),
        (b"fn main() {}\n", "text/plain"),
        (b"\x1b[31mred\x1b[0m\r\n", "text/plain"),
        (b"<!DOCTYPE html><p>a", "text/html"),
        *(
            (picture(SMALL, kind), f"image/{kind.lower()}")
            for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")
        ),
    ],
)
def test_the_content_tells_what_a_file_is(content: bytes, mime: str, tmp_path: Path) -> None:
    path = tmp_path / "file.pdf"
    path.write_bytes(content)
    assert sniff(path, "file.pdf") == mime


@pytest.mark.parametrize(
    "name", ["main.rs", "notes.toml", "Dockerfile", "a.ts", "data", "übung.ÄÖ", ".env", "x.pdf", ""]
)
def test_text_is_text_under_every_name(name: str) -> None:
    assert sniff("FROM scratch # für alle\n".encode(), name) == "text/plain"


@pytest.mark.parametrize(
    ("name", "mime"), [("a.CSV", "text/csv"), ("a.md", "text/markdown"), ("a.json", "application/json")]
)
def test_a_name_tells_texts_apart(name: str, mime: str) -> None:
    assert sniff(b"a,b\n1,2\n", name) == mime
    assert sniff(PAGE, name) == PDF


@pytest.mark.parametrize(
    ("mime", "declared", "name", "expected"),
    [
        (PDF, DOCX, "a.pdf", True),
        (PDF, "application/pdf; charset=binary", "a.docx", False),
        (PDF, "", "a.docx", True),
        (PDF, "application/octet-stream", "a.docx", True),
        ("text/plain", PDF, "", True),
        (PDF, "text/plain", "", True),
        (BINARY, "text/csv", "", True),
        ("text/plain", "text/csv", "", False),
        ("text/csv", "application/vnd.ms-excel", "a.csv", False),
        ("text/plain", "video/mp2t", "main.ts", False),
        ("image/jpeg", "image/png", "", True),
        ("image/jpeg", "image/jpg", "", False),
        (ZIP, DOCX, "", True),
        (DOCX, "application/zip", "a.docx", False),
        (EMPTY, PDF, "a.pdf", False),
        (PDF, "", "", False),
    ],
)
def test_what_is_said_of_a_file_is_held_against_its_content(
    mime: str, declared: str, name: str, expected: bool
) -> None:
    assert is_mismatch(mime, declared, name) is expected


@pytest.mark.parametrize("data", [b"\x00\x01\x02\xff" * 100, b"\x00\x03\x00\x07" * 50, bytes(range(256)) * 4])
def test_numbers_with_zeros_between_them_are_no_text(data: bytes) -> None:
    assert sniff(data) == BINARY
