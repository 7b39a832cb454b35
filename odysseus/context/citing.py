"""The numbers by which an answer cites its sources, and the sentence that asks for it.

One numbering for each answer: what the web gave before it, then passages of the library, then what its tools find, in
the order they find it. The page and the exports count in the same way. Knows no tool and no run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from odysseus.context import passages, web
from odysseus.context.given import Given
from odysseus.events import Event, PassagesUsed, WebSourcesUsed
from odysseus.retrieval.index import Passage

RULE = "[Put [n] behind what source n of this message says.]"


def given(found: web.Found, read: Sequence[Passage], tokens: int) -> list[Given]:
    """The library and the web, in the contract's order. `tokens` are the library's. Slow: call it in a thread."""
    pages = web.given(found)
    library = passages.given(read, tokens, first=1 + len(rows_of(pages.events)))
    return [library, pages, Given(RULE if library.events or pages.events else "")]


def rows_of(events: Iterable[Event]) -> list[Mapping[str, Any]]:
    """The sources that these events tell of, in the order of their numbers, which begin with 1."""
    told = list(events)
    pages = [row for event in told if isinstance(event, WebSourcesUsed) for row in event.data]
    read = [row for event in told if isinstance(event, PassagesUsed) for row in event.data]
    return [
        *({name: row[name] for name in ("url", "title", "snippet")} for row in pages),
        *(
            {"title": row["filename"], **{name: row[name] for name in ("snippet", "page") if name in row}}
            for row in read
        ),
    ]
