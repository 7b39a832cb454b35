"""A document as safe HTML to look at, by its language: prose, a table, a page that does nothing, or coloured code.

Knows no document and no version. Slow for long texts: call it in a thread.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING, Literal

from odysseus.render.blocks import render_markdown
from odysseus.render.highlight import code_html
from odysseus.render.markdown import sanitise

if TYPE_CHECKING:
    import nh3

Kind = Literal["markdown", "table", "html", "code"]

ROWS = 500
COLUMNS = 50
CELL = 500
"""The most characters of a cell."""

_PROSE = frozenset({"markdown", "md"})
_TABLES = {"csv": ",", "tsv": "\t"}
_PAGES = frozenset({"html", "htm", "xhtml"})
_INERT = "This page is shown inert: without scripts, styles, forms, and anything from elsewhere."


@dataclass(frozen=True, slots=True)
class Preview:
    """`note` says what is left out; empty when nothing is."""

    kind: Kind
    html: str
    note: str = ""


def preview(content: str, language: str) -> Preview:
    """The text to look at. A language that is not known is shown as plain code."""
    name = language.lower()
    if name in _PROSE:
        return Preview("markdown", render_markdown(content))
    if name in _TABLES:
        return _table(content, _TABLES[name])
    if name in _PAGES:
        return Preview("html", _page_cleaner().clean(content), _INERT)
    return Preview("code", sanitise(code_html(content, name)))


def _table(content: str, delimiter: str) -> Preview:
    reader = csv.reader(StringIO(content, newline=""), delimiter=delimiter)
    try:
        rows = list(islice(reader, ROWS + 1))
        more = sum(1 for _ in reader) + max(0, len(rows) - ROWS)
    except csv.Error:
        return Preview("code", sanitise(code_html(content, "")), "This is no table that can be read.")
    rows = [row for row in rows[:ROWS] if row]
    wide = max(map(len, rows), default=0)
    head, *body = rows or [[]]
    lines = "".join(_row(row, "td", wide) for row in body)
    html = f"<table><thead>{_row(head, 'th', wide)}</thead><tbody>{lines}</tbody></table>" if rows else ""
    notes = [f"{more:,} more rows are not shown." if more else "", _narrowed(wide)]
    return Preview("table", sanitise(html), " ".join(note for note in notes if note))


def _narrowed(wide: int) -> str:
    return f"{wide - COLUMNS:,} more columns are not shown." if wide > COLUMNS else ""


def _row(cells: list[str], tag: str, wide: int) -> str:
    padded = [*cells[:COLUMNS], *[""] * (min(wide, COLUMNS) - len(cells))]
    return f"<tr>{''.join(f'<{tag}>{escape(_short(cell))}</{tag}>' for cell in padded)}</tr>"


def _short(cell: str) -> str:
    return cell if len(cell) <= CELL else f"{cell[:CELL]}…"


@lru_cache(maxsize=1)
def _page_cleaner() -> nh3.Cleaner:
    """Text and its structure only. Links lose their targets: a page that is looked at leads nowhere."""
    import nh3

    tags = (
        "p br hr h1 h2 h3 h4 h5 h6 ul ol li dl dt dd blockquote pre code em strong b i u s sub sup small mark abbr "
        "table caption thead tbody tfoot tr th td figure figcaption section article header footer main nav aside div "
        "span a details summary"
    )
    cells = {"colspan", "rowspan"}
    return nh3.Cleaner(
        tags=set(tags.split()),
        clean_content_tags={"script", "style", "title", "template", "noscript"},
        attributes={"*": {"dir", "lang"}, "td": cells, "th": cells, "ol": {"start"}},
        url_schemes=set(),
        link_rel=None,
    )
