"""Passages are looked up on the page, however they were copied; what is not there is dropped."""

from __future__ import annotations

import pytest

from odysseus.context.budget import estimate_tokens
from odysseus.research.asking import objects_in
from odysseus.research.gathering import normal
from odysseus.research.reading import found_in, numbers, relevant

PAGE = (
    "The “Halden”  bridge\nis 214 metres long. It was opened\u00a0in 1931 – or so they say. "
    "Ｗｉｄｅ letters stand here."
)


@pytest.mark.parametrize(
    ("passage", "real"),
    [
        ('the "halden" bridge is 214 metres long', "The “Halden” bridge is 214 metres long."),
        ("It was opened in 1931 - or so they say", "It was opened in 1931 – or so they say."),
        ("...opened in 1931", "opened in 1931"),
        ("wide letters stand here.", "Ｗｉｄｅ letters stand here."),
    ],
)
def test_a_passage_is_found_as_the_page_has_it(passage: str, real: str) -> None:
    assert found_in(PAGE, [("A claim.", passage)]) == [("A claim.", real)]


@pytest.mark.parametrize("passage", ["", "...", "is", "It was closed in 1931", "metres long. It was opened 1931"])
def test_a_passage_that_is_not_there_is_dropped_with_its_claim(passage: str) -> None:
    assert found_in(PAGE, [("A claim.", passage)]) == []


def test_a_claim_that_is_the_page_s_own_words_is_its_passage() -> None:
    assert found_in(PAGE, [("It was opened in 1931", "nonsense that is not there")]) == [
        ("It was opened in 1931", "It was opened in 1931")
    ]


def test_a_figure_that_the_passage_does_not_have_makes_the_passage_the_claim() -> None:
    said = [("It opened in 1934.", "It was opened in 1931"), ("It opened in 1931.", "It was opened in 1931")]
    assert [claim for claim, _ in found_in(PAGE, said)] == ["It was opened in 1931", "It opened in 1931."]


def test_a_long_page_is_shown_by_its_paragraphs_on_the_question() -> None:
    parts = [f"Paragraph {number} on the weather of the day and of other days." for number in range(200)]
    parts[150] = "The Halden bridge is 214 metres long."
    shown = relevant("\n\n".join(parts), "How long is the Halden bridge?", 200)
    assert "214 metres" in shown
    assert estimate_tokens(shown) <= 220
    assert relevant("x" * 100_000, "q", 100)


def test_figures_are_told_apart_from_their_marks() -> None:
    assert numbers("1,214 or 12.5 and 7") == {"1214", "125", "7"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('Sure:\n```json\n{"a": {"b": 2}}\n``` and {"c": 3}', [{"a": {"b": 2}}, {"c": 3}]),
        ('{"findings": [{"claim": "x"}, {"claim": "y"}, {"cl', [{"claim": "x"}, {"claim": "y"}]),
        ("no { json } here", []),
        ("{" * 5000, []),
    ],
)
def test_objects_are_found_in_any_words(text: str, found: list[object]) -> None:
    assert list(objects_in(text)) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP://Example.org:80/a/", "http://example.org/a"),
        ("https://a.example/x?utm_source=s&b=1#top", "https://a.example/x?b=1"),
    ],
)
def test_addresses_that_lead_to_the_same_are_one(one: str, other: str) -> None:
    assert normal(one) == normal(other)
    assert normal(f"{other}2") != normal(one)
