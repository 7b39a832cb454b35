"""PowerPoint presentations to Markdown: slide by slide, with tables and notes. Knows python-pptx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from odysseus.extract.archive import DAMAGED
from odysseus.extract.result import Extracted, ExtractLimits, Missing, Unreadable, join_notes
from odysseus.extract.source import Source
from odysseus.extract.tables import whole_table


def read_pptx(source: Source) -> Extracted:
    """The text of a presentation. Raises Unreadable."""
    try:
        from pptx import Presentation
    except ImportError as error:
        raise Missing("Reading PowerPoint presentations", "files") from error
    source.file.seek(0)
    try:
        slides: Any = Presentation(source.file).slides
        count, most = len(slides), source.limits.pages
        texts = [_slide(slide, number, source.limits) for number, slide in enumerate(slides, 1) if number <= most]
    except (KeyError, ValueError, TypeError, AttributeError, SyntaxError) as error:
        raise Unreadable(DAMAGED) from error
    said = any("\n" in text for text in texts)
    note = join_notes(
        "" if said else "The presentation has no text.",
        f"Only the first {most} of {count} slides were read." if count > most else "",
    )
    return Extracted("text" if said else "none", "\n\n".join(texts) if said else "", note, source.mime, pages=count)


def _slide(slide: Any, number: int, limits: ExtractLimits) -> str:
    title = slide.shapes.title
    name = " ".join(title.text_frame.text.split()) if title is not None else ""
    hidden = " (hidden)" if slide._element.get("show") == "0" else ""
    shapes = (shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id)
    blocks = [f"## Slide {number}{': ' if name else ''}{name}{hidden}", *_texts(shapes, limits)]
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        blocks.append(f"Notes: {_tidy(notes.text)}")
    return "\n\n".join(blocks)


def _texts(shapes: Iterable[Any], limits: ExtractLimits) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes, limits)
        elif getattr(shape, "has_table", False):
            yield whole_table([[cell.text for cell in row.cells] for row in shape.table.rows], limits)
        elif shape.has_text_frame and shape.text_frame.text.strip():
            yield _tidy(shape.text_frame.text)


def _tidy(text: str) -> str:
    """Paragraphs as lines; the sign for a line within one is a line too."""
    return "\n".join(line.strip() for line in text.replace("\v", "\n").splitlines() if line.strip())
