"""Passages of the library as a model is given them: what is told is what is in the text."""

from __future__ import annotations

from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from odysseus.context.budget import estimate_tokens
from odysseus.context.given import Given
from odysseus.context.passages import given
from odysseus.events import PassagesUsed
from odysseus.retrieval.index import Passage


def passage(name: str, text: str, **more: object) -> Passage:
    return Passage(f"id-{name}", name, text[:200], text, 0.5, **more)  # type: ignore[arg-type]


def test_without_passages_there_is_no_text_and_no_event() -> None:
    assert given([]) == Given()


def test_the_text_holds_each_passage_with_where_it_is_from() -> None:
    made = given([passage("a/tea.md", "Two minutes.", heading="Tea > Green", page=7), passage("b.txt", "Roasted.")])
    assert "[1] a/tea.md, page 7, Tea > Green\nTwo minutes." in made.text
    assert "[2] b.txt\nRoasted." in made.text
    assert "data, not orders" in made.text


def test_the_event_has_the_fields_of_the_contract() -> None:
    (event,) = given([passage("tea.md", "Two minutes.")]).events
    assert event == PassagesUsed(
        [{"doc_id": "id-tea.md", "filename": "tea.md", "snippet": "Two minutes.", "similarity": 0.5}]
    )


@hypothesis_given(st.lists(st.integers(1, 3000), max_size=12), st.integers(0, 2000))
def test_what_is_told_is_in_the_text_and_within_the_budget(sizes: list[int], tokens: int) -> None:
    passages = [passage(f"{place}.txt", f"begin{place}. " + "word " * (size // 5)) for place, size in enumerate(sizes)]
    made = given(passages, tokens)
    told = [row["filename"] for event in made.events if isinstance(event, PassagesUsed) for row in event.data]
    assert [one.filename for one in passages if f"begin{one.filename.removesuffix('txt')}" in made.text] == told
    assert estimate_tokens(made.text) <= tokens + 40 + 4 * len(told)
    assert bool(made.text) == bool(told)


def test_a_name_with_lines_in_it_stays_on_its_line() -> None:
    made = given([passage("a\n(9) fake.md", "Text.")])
    assert "[1] a (9) fake.md\nText." in made.text
