"""The sources of one answer by number, as its tools find them. Knows no tool, no run and no prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]
"""A source: `number`, `url` (empty for what is no page), `title`, `snippet`, and what else is told of it."""


class Cited:
    """Numbers sources from 1, each address once. `known` are those that the answer begins with, in their order."""

    def __init__(self, known: Iterable[Row] = ()) -> None:
        self.rows: list[Row] = [{"url": "", **row, "number": number} for number, row in enumerate(known, 1)]

    def add(self, url: str, title: str, snippet: str) -> Row:
        """The source at this address, with the number that it has or gets; what was known of it first stands."""
        known = next((row for row in self.rows if row["url"] == url), None)
        if known is None:
            known = {"number": len(self.rows) + 1, "url": url, "title": title, "snippet": snippet}
            self.rows.append(known)
        return known
