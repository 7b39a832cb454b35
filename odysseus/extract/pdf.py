"""PDF to text, page by page; pages that are only pictures by OCR. Knows pypdfium2."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from odysseus.extract import ocr
from odysseus.extract.archive import DAMAGED
from odysseus.extract.result import Extracted, Missing, Unreadable, join_notes
from odysseus.extract.source import Source

# Fewer letters than these beside a picture are a page number or a stamp on a scanned page.
_LEAST_LETTERS = 20
_OCR_DPI = 200
_OCR_PIXELS = 8_000_000
_PASSWORD_ERROR = 4
_BREAK = re.compile(r"(?<=\S)\r?\n(?=\S)")
_HYPHENS = re.compile("[\x02\ufffe]\r?\n?")

How = Literal["text", "ocr", "blank", "none"]


@dataclass(slots=True)
class _Pages:
    """What has been read so far. The keys are the numbers of pages, from 1."""

    texts: dict[int, str] = field(default_factory=dict)
    how: dict[int, How] = field(default_factory=dict)
    broken: list[int] = field(default_factory=list)
    late: bool = False
    characters: int = 0

    def numbers(self, how: How) -> list[int]:
        return [number for number, one in sorted(self.how.items()) if one == how]


def read_pdf(source: Source) -> Extracted:
    """The text of a PDF. Raises Unreadable."""
    try:
        import pypdfium2
    except ImportError as error:
        raise Missing("Reading PDF files", "files") from error
    source.file.seek(0)
    try:
        document = pypdfium2.PdfDocument(source.file.read())
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR or "password" in str(error).lower():
            raise Unreadable("The PDF is password-protected. Remove the password and send it again.") from error
        raise Unreadable(f"The PDF cannot be opened. {DAMAGED}") from error
    count = len(document)
    if document.get_formtype() != 0:
        document.init_forms()
    pages = _Pages()
    _read_texts(source, document, min(count, source.limits.pages), pages)
    _read_pictures(source, document, pages)
    return _result(source, pages, count)


def _read_texts(source: Source, document: Any, count: int, pages: _Pages) -> None:
    from pypdfium2 import PdfiumError

    for number in range(1, count + 1):
        if not source.in_time() or pages.characters > source.limits.characters:
            pages.late = not source.in_time()
            return
        try:
            _read_page(document, number, pages)
        except PdfiumError:
            pages.broken.append(number)


def _read_page(document: Any, number: int, pages: _Pages) -> None:
    page = document[number - 1]
    if document.formenv:
        page.flatten()  # what was filled into a form becomes text of the page
        page = document[number - 1]
    text = _tidy(_lines(page.get_textpage()))
    letters = sum(map(str.isalnum, text))
    pages.texts[number] = text
    pages.characters += len(text)
    if letters >= _LEAST_LETTERS or (letters and not _has_picture(page)):
        pages.how[number] = "text"
    else:
        pages.how[number] = "none" if next(iter(page.get_objects()), None) else "blank"


def _lines(textpage: Any) -> str:
    """The text of a page, where cells that stand side by side stand on one line."""
    text: str = textpage.get_text_range()
    if len(text) != textpage.count_chars():  # places in the text are not those on the page
        return text
    parts, begun = [], 0
    for found in _BREAK.finditer(text):
        if _side_by_side(textpage, found.start() - 1, found.end()):
            parts.append(text[begun : found.start()] + "  ")
            begun = found.end()
    return "".join(parts) + text[begun:]


def _side_by_side(textpage: Any, before: int, after: int) -> bool:
    """Whether the second letter stands right of the first, on the same line."""
    _, low, end, high = textpage.get_charbox(before, loose=True)
    start, next_low, _, next_high = textpage.get_charbox(after, loose=True)
    shared = min(high, next_high) - max(low, next_low)
    return bool(start >= end and shared > 0.5 * min(high - low, next_high - next_low))


def _tidy(text: str) -> str:
    """Lines as they stand on the page; words parted at the end of a line are whole again."""
    lines = (line.rstrip() for line in _HYPHENS.sub("", text).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _has_picture(page: Any) -> bool:
    from pypdfium2 import raw

    return next(iter(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE])), None) is not None


def _read_pictures(source: Source, document: Any, pages: _Pages) -> None:
    """Read the pages without text by OCR, as long as there is time for one more."""
    reader = ocr.find_reader() if pages.numbers("none") else None
    longest = 0.0
    for number in pages.numbers("none") if reader else ():
        if time.monotonic() + longest > source.until:
            pages.late = True
            return
        begun = time.monotonic()
        text = reader(_render(document[number - 1])) if reader else ""
        longest = max(longest, time.monotonic() - begun)
        if text.strip():
            pages.texts[number], pages.how[number] = text, "ocr"


def _render(page: Any) -> Any:
    """A page as a Pillow picture."""
    width, height = page.get_size()
    wanted = _OCR_DPI / 72
    most = (_OCR_PIXELS / max(width * height, 1.0)) ** 0.5
    return page.render(scale=min(wanted, most)).to_pil()


def _result(source: Source, pages: _Pages, count: int) -> Extracted:
    read, recognised = pages.numbers("text"), pages.numbers("ocr")
    blocks = [f"[Page {number}{_mark(pages.how[number])}]\n{pages.texts[number]}".strip() for number in pages.how]
    text = "\n\n".join(blocks) if read or recognised or pages.characters else ""
    return Extracted(
        "text" if read else "ocr" if recognised else "text" if pages.characters else "none",
        text,
        _note(source, pages, count),
        source.mime,
        pages=count,
    )


def _mark(how: How) -> str:
    return {"text": "", "ocr": ", read by OCR", "blank": ", blank", "none": ", a picture without readable text"}[how]


def _note(source: Source, pages: _Pages, count: int) -> str:
    silent, recognised = pages.numbers("none"), pages.numbers("ocr")
    seen = len(pages.how) + len(pages.broken)
    return join_notes(
        f"{_named(silent)} no text." if silent else "",
        "" if not silent or ocr.is_offered() else ocr.MISSING,
        "There was no time to read all pages by OCR; send them as a file of their own."
        if pages.late and silent
        else "",
        f"{_pages(recognised)} read by OCR." if recognised else "",
        f"{_pages(pages.broken)} damaged and could not be read." if pages.broken else "",
        f"Only the first {seen} of {count} pages were read; send the rest as a file of its own."
        if seen < count
        else "",
        "The PDF has no text." if not pages.characters and not silent and not recognised else "",
    )


def _named(numbers: Sequence[int]) -> str:
    return f"{'Page' if len(numbers) == 1 else 'Pages'} {ranges(numbers)} contain{'s' if len(numbers) == 1 else ''}"


def _pages(numbers: Sequence[int]) -> str:
    return f"{'Page' if len(numbers) == 1 else 'Pages'} {ranges(numbers)} {'was' if len(numbers) == 1 else 'were'}"


def ranges(numbers: Sequence[int]) -> str:
    """`1, 3-5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
