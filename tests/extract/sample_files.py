"""Files for the tests, made as small as they can be: PDFs by hand, Office files with parts put in their place."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Awaitable, Callable, Mapping, Sequence

from PIL import Image, ImageDraw, ImageFont

from odysseus.extract.result import Extracted

Objects = list[bytes]
Read = Callable[..., Awaitable[Extracted]]
ReadHere = Callable[..., Extracted]
"""The fixture `read`: bytes, a name, maybe a declared type, and limits by name."""


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """An object of a PDF with a stream."""
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(content), content)


def make_pdf(pages: Sequence[bytes | Image.Image], junk: bytes = b"", size: tuple[int, int] = (612, 792)) -> bytes:
    """A PDF of pages of `size` points, each of commands or one picture over all of it, with `junk` before its head."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", font]
    kids = [_add_page(objects, page, size) for page in pages]
    listed = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), listed)
    return junk + _packed(objects)


def _add_page(objects: Objects, page: bytes | Image.Image, points: tuple[int, int]) -> int:
    commands, resources = page, b"/Font << /F1 3 0 R >>"
    if isinstance(page, Image.Image):
        size = b"/Width %d /Height %d" % page.size
        colours = b"/ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode"
        objects.append(stream(picture(page, "JPEG"), b"/Type /XObject /Subtype /Image %s %s" % (size, colours)))
        commands, resources = b"q %d 0 0 %d 0 0 cm /I Do Q" % points, b"/XObject << /I %d 0 R >>" % len(objects)
    assert isinstance(commands, bytes)
    objects.append(stream(commands))
    box = b"/MediaBox [0 0 %d %d]" % points
    objects.append(
        b"<< /Type /Page /Parent 2 0 R %s /Contents %d 0 R /Resources << %s >> >>" % (box, len(objects), resources)
    )
    return len(objects)


def _packed(objects: Objects) -> bytes:
    out, places = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end


def lines(*texts: str) -> bytes:
    """Drawing commands for lines of text."""
    shown = b" ".join(b"(%s) Tj T*" % text.encode("cp1252") for text in texts)
    return b"BT /F1 12 Tf 14 TL 72 720 Td %s ET" % shown


def grid(rows: Sequence[Sequence[str]]) -> bytes:
    """Drawing commands for a table, cell by cell."""
    return b"".join(
        b"BT /F1 12 Tf %d %d Td (%s) Tj ET " % (72 + 150 * column, 700 - 20 * row, cell.encode("cp1252"))
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    )


def scan(text: str, size: tuple[int, int] = (850, 1100)) -> Image.Image:
    """A picture of a line of text."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((60, 60), text, fill="black", font=ImageFont.load_default(40))
    return image


def picture(image: Image.Image, kind: str, **options: object) -> bytes:
    """A picture as a file."""
    packed = io.BytesIO()
    image.save(packed, kind, **options)
    return packed.getvalue()


def with_parts(archive: bytes, parts: Mapping[str, bytes]) -> bytes:
    """An archive with some of its parts put in, or in place of its own."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, content in parts.items():
            new.writestr(name, content)
    return packed.getvalue()


def make_zip(parts: Mapping[str, bytes]) -> bytes:
    """An archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


def make_docx(*paragraphs: str) -> bytes:
    """A Word document of paragraphs."""
    import docx

    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    packed = io.BytesIO()
    document.save(packed)
    return packed.getvalue()


def make_xlsx(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """A workbook of sheets of rows."""
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.remove(workbook.worksheets[0])
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    packed = io.BytesIO()
    workbook.save(packed)
    return packed.getvalue()
