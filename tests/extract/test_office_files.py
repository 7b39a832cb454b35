"""Office files: all their text in its order, and nothing of what archives and XML can do to a reader."""

from __future__ import annotations

import io
import sys
from datetime import date, datetime, time

import docx
import pptx
import pytest
from pptx.util import Inches
from sample_files import Read, ReadHere, make_docx, make_xlsx, make_zip, with_parts

from odysseus.extract.kinds import DOCX, PPTX, XLSX, ZIP

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]>"
)
OUTSIDE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
SHEET = "xl/worksheets/sheet1.xml"
SHEET_HEAD = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
SHEET_END = b"</sheetData></worksheet>"
NAMED = b'<row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c></row>'


def saved(document: object) -> bytes:
    out = io.BytesIO()
    document.save(out)  # type: ignore[attr-defined]
    return out.getvalue()


def word_body(xml: str) -> bytes:
    """A document of that XML."""
    return with_parts(
        make_docx(), {"word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{xml}</w:body></w:document>'.encode()}
    )


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


# Word


async def test_a_document_is_read_with_headings_lists_and_tables(read: Read) -> None:
    document = docx.Document()
    document.add_heading("Report", 0)
    document.add_heading("First part", 2)
    document.add_paragraph("Hello ").add_run("bold").bold = True
    document.add_paragraph("one", style="List Bullet")
    table = document.add_table(3, 2)
    for row, cells in zip(table.rows, [("Name", "Size|cm"), ("Anna", "170"), ("Ben", "")], strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    table.cell(2, 0).merge(table.cell(2, 1)).text = "both"
    document.add_paragraph("The end.")
    found = await read(saved(document), "a.docx")
    assert (found.kind, found.mime, found.note) == ("text", DOCX, "")
    assert found.text == (
        "# Report\n\n## First part\n\nHello bold\n\n- one\n\n"
        "| Name | Size\\|cm |\n| --- | --- |\n| Anna | 170 |\n| both |  |\n\nThe end."
    )


def test_inserted_text_is_read_and_struck_text_is_not(read_here: ReadHere) -> None:
    struck = f"<w:del>{paragraph('GONE')}</w:del><w:p><w:del><w:r><w:delText>GONE</w:delText></w:r></w:del></w:p>"
    inserted = (
        "<w:p><w:ins><w:r><w:t>new </w:t></w:r></w:ins><w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink></w:p>"
    )
    control = f"<w:sdt><w:sdtContent>{paragraph('in a control')}</w:sdtContent></w:sdt>"
    found = read_here(word_body(struck + inserted + control), "a.docx")
    assert found.text == "new link\n\nin a control"


def test_a_table_of_one_column_is_only_its_text(read_here: ReadHere) -> None:
    cell = f"<w:tbl><w:tr><w:tc>{paragraph('framed')}</w:tc></w:tr></w:tbl>"
    assert (read_here(word_body(cell), "a.docx")).text == "framed"


def test_comments_are_read(read_here: ReadHere) -> None:
    document = docx.Document()
    run = document.add_paragraph("Some text").runs[0]
    document.add_comment(run, text="Please check this")
    assert (read_here(saved(document), "a.docx")).text == "Some text\n\n## Comments\n\n- Please check this"


async def test_a_document_with_macros_is_read_without_them(read: Read) -> None:
    types = make_docx("visible")
    plain = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    data = with_parts(
        types,
        {
            "[Content_Types].xml": part(types, "[Content_Types].xml").replace(
                plain, b"application/vnd.ms-word.document.macroEnabled.main+xml"
            ),
            "word/vbaProject.bin": b"Sub AutoOpen() MACRO",
        },
    )
    found = await read(data, "a.docm")
    assert (found.kind, found.text, found.mismatch) == ("text", "visible", False)


def part(archive: bytes, name: str) -> bytes:
    import zipfile

    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.read(name)


def test_a_document_without_text_says_so(read_here: ReadHere) -> None:
    found = read_here(make_docx(), "a.docx")
    assert (found.kind, found.note) == ("none", "The document has no text.")


# Excel


async def test_a_workbook_is_read_sheet_by_sheet(read: Read) -> None:
    head: list[object] = ["id", "when", "share", "ok", "at", "what"]
    first: list[object] = [1, datetime(2024, 1, 2), 0.1 + 0.2, True, time(9, 30), "a|b\nc"]
    second: list[object] = [2, datetime(2024, 1, 2, 3, 4), 1e20, False, None, date(2024, 5, 6)]
    sheets: dict[str, list[list[object]]] = {"People": [head, first, second], "Empty": [], "Last": [["x"]]}
    found = await read(make_xlsx(sheets), "a.xlsx")
    assert (found.kind, found.mime, found.note) == ("text", XLSX, "")
    assert found.text == (
        "## People (2 rows, 6 columns)\n\n"
        "| id | when | share | ok | at | what |\n| --- | --- | --- | --- | --- | --- |\n"
        "| 1 | 2024-01-02 | 0.3 | TRUE | 09:30:00 | a\\|b c |\n"
        "| 2 | 2024-01-02 03:04:00 | 1e+20 | FALSE |  | 2024-05-06 |\n\n"
        "## Last (0 rows, 1 column)\n\n| x |\n| --- |"
    )


def test_formulas_without_results_are_told(read_here: ReadHere) -> None:
    found = read_here(make_xlsx({"a": [[1, "=A1+1"]]}), "a.xlsx")
    assert "| 1 |" in found.text
    assert "formulas have no stored result" in found.note


def test_a_stored_result_of_a_formula_is_read(read_here: ReadHere) -> None:
    cells = b'<row r="1"><c r="A1"><f>6*7</f><v>42</v></c></row>'
    found = read_here(with_parts(make_xlsx({"a": [[1]]}), {SHEET: SHEET_HEAD + cells + SHEET_END}), "a.xlsx")
    assert ("| 42 |" in found.text, found.note) == (True, "")


async def test_a_million_formatted_empty_rows_are_no_rows(read: Read) -> None:
    empty = b"".join(
        b'<row r="%d" s="1" customFormat="1"><c r="B%d" s="1"/></row>' % (row, row) for row in range(2, 1_048_577)
    )
    last = b'<row r="1048576"><c r="B1048576"><v>7</v></c></row>'
    data = with_parts(make_xlsx({"a": [[1]]}), {SHEET: SHEET_HEAD + NAMED + empty + last + SHEET_END})
    found = await read(data, "a.xlsx")
    assert (found.text.splitlines()[0], found.note) == ("## a (1 row, 2 columns)", "")
    assert found.text.endswith("|  | 7 |")


def test_of_a_large_sheet_head_and_tail_are_shown(read_here: ReadHere) -> None:
    rows: list[list[object]] = [["id", "name"], *([row, f"Name {row}"] for row in range(3000))]
    found = read_here(make_xlsx({"a": rows}), "a.xlsx", table_characters=2000)
    assert found.text.startswith("## a (3,000 rows, 2 columns)\n\n| id | name |\n| --- | --- |\n| 0 | Name 0 |")
    assert "rows left out here]" in found.text
    assert found.text.endswith("| 2999 | Name 2999 |")
    assert len(found.text) < 3000


def test_what_a_sheet_says_of_its_own_size_is_not_believed(read_here: ReadHere) -> None:
    size = b'<dimension ref="A1:XFD1048576"/>'
    data = SHEET_HEAD.replace(b"<sheetData>", size + b"<sheetData>") + NAMED + SHEET_END
    found = read_here(with_parts(make_xlsx({"a": [[1]]}), {SHEET: data}), "a.xlsx")
    assert found.text.startswith("## a (0 rows, 1 column)")


# PowerPoint


async def test_a_presentation_is_read_slide_by_slide(read: Read) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Plan"
    slide.placeholders[1].text = "one\ntwo"
    slide.notes_slide.notes_text_frame.text = "say this"
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(2), Inches(1)).table
    table.cell(0, 0).text, table.cell(1, 1).text = "k", "v"
    inner = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_group_shape().shapes
    inner.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "grouped"
    found = await read(saved(deck), "a.pptx")
    assert (found.kind, found.mime, found.pages, found.note) == ("text", PPTX, 2, "")
    assert found.text == (
        "## Slide 1: Plan\n\none\ntwo\n\n| k |  |\n| --- | --- |\n|  | v |\n\nNotes: say this\n\n## Slide 2\n\ngrouped"
    )


# What is not what it seems


@pytest.mark.parametrize("name", ["c.pdf", "c", "c.xlsx"])
async def test_a_document_called_something_else_is_read(read: Read, name: str) -> None:
    found = await read(make_docx("inside"), name)
    assert (found.kind, found.text, found.mime, found.mismatch) == ("text", "inside", DOCX, name != "c")
    assert ("but it is a Word document, and was read as that" in found.note) is (name != "c")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (make_zip({"a.txt": b"a"}), "A ZIP archive is not read"),
        (make_zip({"mimetype": b"application/vnd.oasis.opendocument.text"}), "OpenDocument"),
        (make_zip({"[Content_Types].xml": b"", "xl/workbook.bin": b""}), "Binary Excel"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(900), "Older Office files"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(900) + "EncryptedPackage".encode("utf-16-le"),
            "password-protected",
        ),
        (make_docx("a")[:2000], "damaged"),
        (b"PK\x03\x04" + bytes(200), "damaged"),
        (b"{\\rtf1 text}", "Rich text"),
    ],
)
def test_other_archives_and_old_files_say_what_to_do(read_here: ReadHere, data: bytes, words: str) -> None:
    found = read_here(data, "b.docx")
    assert (found.kind, found.text) == ("failed", "")
    assert words in found.note


@pytest.mark.parametrize(
    ("data", "spoilt"),
    [
        (make_docx("a"), {"word/document.xml": b"<w:document"}),
        (make_docx("a"), {"word/document.xml": b"no xml"}),
        (make_docx("a"), {"word/document.xml": b"<a/>"}),
        (make_docx("a"), {"word/styles.xml": b"<a/>"}),
        (make_docx("a"), {"_rels/.rels": b"<a/>"}),
        (make_xlsx({"a": [[1]]}), {SHEET: b"<worksheet"}),
        (make_xlsx({"a": [[1]]}), {"xl/workbook.xml": b"<a/>"}),
        (make_xlsx({"a": [[1]]}), {SHEET: SHEET_HEAD + b'<row r="x"><c r="?"><v>z</v></c></row>' + SHEET_END}),
        (make_xlsx({"a": [[1]]}), {"xl/styles.xml": b"<styleSheet/>"}),
    ],
)
async def test_a_damaged_part_is_told_and_never_raised(read: Read, data: bytes, spoilt: dict[str, bytes]) -> None:
    found = await read(with_parts(data, spoilt), "a")
    assert found.kind in {"failed", "none", "text"}
    assert found.kind != "failed" or "damaged" in found.note


@pytest.mark.parametrize("laugh", [LAUGHS, OUTSIDE, OUTSIDE.decode().encode("utf-16")])
@pytest.mark.parametrize(
    ("data", "name", "content"),
    [
        (
            make_docx("a"),
            "word/document.xml",
            f'<w:document xmlns:w="{W}"><w:body>{paragraph("&a;")}</w:body></w:document>',
        ),
        (make_xlsx({"a": [[1]]}), SHEET, (SHEET_HEAD + SHEET_END).decode()),
        (make_xlsx({"a": [["x"]]}), "xl/sharedStrings.xml", "<sst><si><t>&a;</t></si></sst>"),
        (make_docx("a"), "docProps/core.xml", "<a>&a;</a>"),
    ],
)
def test_entities_are_never_resolved(read_here: ReadHere, laugh: bytes, data: bytes, name: str, content: str) -> None:
    encoding = "utf-16-le" if laugh.startswith(b"\xff\xfe") else "utf-8"
    found = read_here(with_parts(data, {name: laugh + content.encode(encoding)}), "a")
    assert (found.kind, found.text) == ("failed", "")
    assert "DOCTYPE" in found.note


@pytest.mark.parametrize("library", ["docx", "openpyxl", "pptx"])
def test_without_the_extra_its_name_is_told(read_here: ReadHere, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    data = {"docx": make_docx("a"), "openpyxl": make_xlsx({"a": [[1]]}), "pptx": saved(pptx.Presentation())}[library]
    for module in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.setitem(sys.modules, module, None)
    found = read_here(data, "a")
    assert (found.kind, found.mime == ZIP) == ("failed", False)
    assert "pip install 'odysseus[files]'" in found.note
