"""The numbers that sources have: one row of them over the web and the library, the same as the frames tell."""

from __future__ import annotations

import re

from odysseus.context.citing import RULE, given, rows_of
from odysseus.context.given import joined
from odysseus.context.web import Found, Source
from odysseus.events import PassagesUsed, WebSourcesUsed
from odysseus.retrieval.index import Passage

FOUND = Found(hits=[Source(f"https://example.com/{name}", name, f"About {name}.") for name in ("one", "two")])
READ = [Passage("id", "notes/tea.pdf", "Two minutes.", "Two minutes.", 0.5, page=7)]


def test_the_web_has_the_first_numbers_and_the_library_the_next() -> None:
    made = joined(given(FOUND, READ, 2000))
    assert re.findall(r"\[Web source (\d)|\[(\d)\] notes/tea.pdf, page 7", made.text) == [
        ("", "3"),
        ("1", ""),
        ("2", ""),
    ]
    assert [type(event) for event in made.events] == [PassagesUsed, WebSourcesUsed]


def test_the_rows_are_in_the_order_of_the_numbers() -> None:
    rows = rows_of(joined(given(FOUND, READ, 2000)).events)
    assert [row["title"] for row in rows] == ["one", "two", "notes/tea.pdf"]
    assert rows[0] == {"url": "https://example.com/one", "title": "one", "snippet": "About one."}
    assert rows[2] == {"title": "notes/tea.pdf", "snippet": "Two minutes.", "page": 7}


def test_the_model_is_asked_to_cite_once_and_only_what_there_is() -> None:
    assert joined(given(FOUND, READ, 2000)).text.count(RULE) == 1
    assert joined(given(Found(), READ, 2000)).text.endswith(RULE)
    assert (
        joined(given(Found(notes=["The web search found nothing."]), [], 2000)).text
        == "[The web search found nothing.]"
    )
    assert joined(given(Found(), [], 2000)).text == ""
