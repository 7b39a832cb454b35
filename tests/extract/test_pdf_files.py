"""PDFs: text page by page, what has none, what is locked, broken or called something else."""

from __future__ import annotations

import importlib.util
import io
import sys

import pypdf
import pytest
from PIL import Image
from sample_files import Read, ReadHere, grid, lines, make_pdf, scan

from odysseus.extract.kinds import DOCX, PDF
from odysseus.extract.pdf import ranges

LONG = "The first page has text that is long enough"
HAS_OCR = importlib.util.find_spec("rapidocr") is not None
needs_ocr = pytest.mark.skipif(not HAS_OCR, reason="the extra `ocr` is not installed")


def locked(data: bytes, user: str, owner: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(user, owner, algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


async def test_text_comes_page_by_page(read: Read) -> None:
    found = await read(make_pdf([lines("Grüße from page one", "and its second line"), lines("Page two.")]), "a.pdf")
    assert found.text == "[Page 1]\nGrüße from page one\nand its second line\n\n[Page 2]\nPage two."
    assert (found.kind, found.mime, found.pages, found.note, found.mismatch) == ("text", PDF, 2, "", False)


def test_a_word_parted_at_the_end_of_a_line_is_whole(read_here: ReadHere) -> None:
    assert "example of it" in (read_here(make_pdf([lines("This is an exam-", "ple of it")]), "a.pdf")).text


def test_the_cells_of_a_row_stand_on_one_line(read_here: ReadHere) -> None:
    found = read_here(make_pdf([grid([["Name", "Count", "Price"], ["Apples", "3", "1.20"], ["Pears", "4", "2"]])]), "a")
    assert [line.split() for line in found.text.splitlines()[1:]] == [
        ["Name", "Count", "Price"],
        ["Apples", "3", "1.20"],
        ["Pears", "4", "2"],
    ]


def test_pages_without_text_are_named(read_here: ReadHere, no_ocr: None) -> None:
    found = read_here(make_pdf([lines(LONG), scan("one"), scan("two"), b""]), "a.pdf")
    assert (found.kind, found.pages) == ("text", 4)
    assert found.note.startswith("Pages 2-3 contain no text.")
    assert "odysseus[ocr]" in found.note
    assert "[Page 3, a picture without readable text]" in found.text


def test_a_scan_alone_has_no_text(read_here: ReadHere, no_ocr: None) -> None:
    found = read_here(make_pdf([scan("one")]), "a.pdf")
    assert (found.kind, found.text) == ("none", "")
    assert found.note.startswith("Page 1 contains no text.")


def test_without_the_extra_its_name_is_told(read_here: ReadHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    found = read_here(make_pdf([lines(LONG)]), "a.pdf")
    assert (found.kind, found.mime) == ("failed", PDF)
    assert "pip install 'odysseus[files]'" in found.note


@needs_ocr
async def test_a_scanned_page_is_read_by_ocr(read: Read) -> None:
    pages: list[bytes | Image.Image] = [lines(LONG).replace(b"72 720", b"9 99"), scan("Invoice 48213", (850, 400)), b""]
    found = await read(make_pdf(pages, size=(306, 144)), "a.pdf")
    assert (found.kind, found.note) == ("text", "Page 2 was read by OCR.")
    assert "[Page 2, read by OCR]\nInvoice 48213" in found.text
    assert "[Page 3, blank]" in found.text


async def test_a_locked_pdf_is_called_password_protected(read: Read) -> None:
    found = await read(locked(make_pdf([lines(LONG)]), "secret", "owner"), "a.pdf")
    assert (found.kind, found.text, found.mime) == ("failed", "", PDF)
    assert "password-protected" in found.note


def test_a_pdf_that_only_its_owner_may_change_is_read(read_here: ReadHere) -> None:
    assert LONG in (read_here(locked(make_pdf([lines(LONG)]), "", "owner"), "a.pdf")).text


@pytest.mark.parametrize("data", [b"%PDF-1.7\n" + b"nothing" * 50, make_pdf([lines(LONG)])[:100], b"%PDF-1.4"])
def test_a_broken_pdf_says_what_to_do(read_here: ReadHere, data: bytes) -> None:
    found = read_here(data, "a.pdf")
    assert (found.kind, found.mime) == ("failed", PDF)
    assert "damaged" in found.note


def test_junk_before_a_pdf_is_no_harm(read_here: ReadHere) -> None:
    assert LONG in (read_here(make_pdf([lines(LONG)], b"HTTP/1.1 200 OK\r\n\r\n" * 20), "a.pdf")).text


@pytest.mark.parametrize(
    ("name", "declared", "mismatch"), [("a.docx", "", True), ("a", DOCX, True), ("a.docx", PDF, False)]
)
async def test_a_pdf_called_something_else_is_read_and_told(
    read: Read, name: str, declared: str, mismatch: bool
) -> None:
    found = await read(make_pdf([lines(LONG)]), name, declared)
    assert (found.kind, found.mime, found.mismatch) == ("text", PDF, mismatch)
    assert "but it is a PDF, and was read as that." in found.note


async def test_a_text_called_pdf_is_read_and_told(read: Read) -> None:
    found = await read(b"only words\n", "d.pdf")
    assert (found.kind, found.text, found.mismatch) == ("text", "only words\n", True)
    assert found.note == "It is called a PDF, but it is text, and was read as that."


def test_pages_over_the_limit_are_told(read_here: ReadHere) -> None:
    found = read_here(
        make_pdf([lines(f"This is the page with number {page}") for page in range(1, 6)]), "a.pdf", pages=2
    )
    assert (found.pages, "number 2" in found.text, "number 3" in found.text) == (5, True, False)
    assert "Only the first 2 of 5 pages" in found.note


def test_pages_are_named_in_runs() -> None:
    assert ranges([1, 3, 4, 5, 7, 8]) == "1, 3-5, 7-8"
