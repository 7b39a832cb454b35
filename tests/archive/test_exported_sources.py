"""What readable exports say of an answer's sources: in the order of the numbers that its text cites."""

from __future__ import annotations

from typing import Any

from odysseus.archive.words import are_cited, sources

WEB = {"url": "https://example.com/a", "title": "A", "snippet": "s", "domain": "example.com"}
PASSAGE = {"doc_id": "d", "filename": "tea.md", "snippet": "Two minutes.", "similarity": 0.5}


def found(number: int, name: str) -> dict[str, Any]:
    return {"number": number, "url": f"https://example.com/{name}", "title": name, "snippet": "s"}


def test_sources_stand_in_the_order_of_their_numbers_and_memories_last() -> None:
    metadata = {
        "memories_used": [{"text": "Tea at four."}],
        "rag_sources": [PASSAGE],
        "web_sources": [WEB],
        "tool_events": [{"sources": [found(4, "D"), found(1, "A")]}, {"tool": "ls"}, {"sources": [found(3, "C")]}],
    }
    assert sources(metadata) == [
        ("A", "https://example.com/a"),
        ("tea.md: Two minutes.", ""),
        ("C", "https://example.com/C"),
        ("D", "https://example.com/D"),
        ("Memory: Tea at four.", ""),
    ]
    assert are_cited(metadata)


def test_an_address_that_is_not_of_the_web_leads_nowhere() -> None:
    assert sources({"web_sources": [{"url": "javascript:alert(1)", "title": "x"}]}) == [("x", "")]


def test_the_numbers_in_a_report_are_not_those_of_its_pages() -> None:
    metadata = {"research": {"sources": [WEB], "findings": []}}
    assert sources(metadata) == [("A", "https://example.com/a")]
    assert not are_cited(metadata)
