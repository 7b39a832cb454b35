"""Word documents to Markdown: headings, lists, tables, notes. Knows python-docx, for the package and its styles.

The text is walked here and not asked of paragraphs, which leave out what was inserted under review or into fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from odysseus.extract.archive import DAMAGED
from odysseus.extract.result import Extracted, ExtractLimits, Missing, Unreadable
from odysseus.extract.source import Source
from odysseus.extract.tables import whole_table

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_VARIANTS = (
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
)
# Struck out, moved away, or the same once more for old programs.
_SKIPPED = {
    *(f"{_W}{name}" for name in ("del", "moveFrom", "rPr", "pPr")),
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
}
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-", f"{_W}p": "\n"}
_NOTES = (("footnotes", "Footnotes"), ("endnotes", "Endnotes"), ("comments", "Comments"))


def read_docx(source: Source) -> Extracted:
    """The text of a Word document. Raises Unreadable."""
    try:
        from docx.opc.part import PartFactory
        from docx.package import Package
        from docx.parts.document import DocumentPart
    except ImportError as error:
        raise Missing("Reading Word documents", "files") from error
    for variant in _VARIANTS:
        PartFactory.part_type_for[variant] = DocumentPart
    source.file.seek(0)
    try:
        part: Any = Package.open(source.file).main_document_part
        body, styles = part.element.body, _style_names(part)
    except (KeyError, ValueError, AttributeError, SyntaxError) as error:
        raise Unreadable(DAMAGED) from error
    blocks = [*_blocks(body, styles, source.limits), *_notes(part)] if body is not None else []
    text = "\n\n".join(blocks)
    note = "" if text else "The document has no text."
    return Extracted("text" if text else "none", text, note, source.mime)


def _style_names(part: Any) -> dict[str, str]:
    """The ids of paragraph styles to their names, which are English in every language of Word."""
    return {style.style_id: style.name.lower() for style in part.styles if style.name}


def _blocks(parent: Any, styles: dict[str, str], limits: ExtractLimits) -> Iterator[str]:
    """Paragraphs and tables in their order, also those within content controls and the like."""
    for child in parent:
        if child.tag == f"{_W}p":
            if text := _text(child).strip():
                yield _prefix(child, styles) + text
        elif child.tag == f"{_W}tbl":
            if table := whole_table(list(_rows(child)), limits):
                yield table
        elif isinstance(child.tag, str) and child.tag not in _SKIPPED:
            yield from _blocks(child, styles, limits)


def _prefix(paragraph: Any, styles: dict[str, str]) -> str:
    """The Markdown before a heading or an item of a list."""
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    name = styles.get(style.get(f"{_W}val"), "") if style is not None else ""
    if name == "title":
        return "# "
    if name.startswith("heading ") and name[8:].isdecimal():
        return "#" * min(int(name[8:]), 6) + " "
    listed = paragraph.find(f"{_W}pPr/{_W}numPr") is not None or name.startswith("list ")
    return "- " if listed else ""


def _text(element: Any) -> str:
    return "".join(_pieces(element))


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag in _SKIPPED:
            continue
        if child.tag == f"{_W}t":
            yield child.text or ""
            continue
        yield from _pieces(child)
        yield _SIGNS.get(child.tag, "")


def _rows(table: Any) -> Iterator[list[str]]:
    """Rows of a table; a cell over several columns is followed by empty ones, and one over rows is said once."""
    for row in table.iter(f"{_W}tr"):
        if next(row.iterancestors(f"{_W}tbl")) is not table:
            continue
        cells: list[str] = []
        for cell in row.iter(f"{_W}tc"):
            if next(cell.iterancestors(f"{_W}tr")) is not row:
                continue
            merged = cell.find(f"{_W}tcPr/{_W}vMerge")
            goes_on = merged is not None and merged.get(f"{_W}val", "continue") == "continue"
            cells.append("" if goes_on else _text(cell).strip())
            cells += [""] * (_span(cell) - 1)
        yield cells


def _span(cell: Any) -> int:
    found = cell.find(f"{_W}tcPr/{_W}gridSpan")
    value = found.get(f"{_W}val", "1") if found is not None else "1"
    return min(int(value), 64) if value.isdecimal() else 1


def _notes(part: Any) -> Iterator[str]:
    """Footnotes, endnotes and comments, each under its heading."""
    from docx.oxml.parser import parse_xml

    related = {relation.reltype.rpartition("/")[2]: relation for relation in part.rels.values()}
    for kind, title in _NOTES:
        relation = related.get(kind)
        if relation is None or relation.is_external:
            continue
        texts = [text for note in parse_xml(relation.target_part.blob) if (text := _text(note).strip())]
        if texts:
            yield f"## {title}\n\n" + "\n".join(f"- {text}" for text in texts)
