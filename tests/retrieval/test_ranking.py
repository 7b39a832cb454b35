"""How near a text is: figures that can be explained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.retrieval.ranking import LARGE, SNIPPET, make_question, overlaps, similarity, snippet

shares = st.floats(0, 1)


@given(st.floats(-1, 1), shares, shares)
def test_the_figure_is_a_share_and_grows_with_both(cosine: float, coverage: float, more: float) -> None:
    near = similarity(cosine, coverage)
    assert 0 <= near <= 1
    assert similarity(cosine, max(coverage, more)) >= near - 1e-9
    assert similarity(max(cosine, more), coverage) >= near - 1e-9


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    question = make_question("the seal", {"the": 90, "seal": 1}, 100)
    assert question.coverage({"seal"}) > 0.9
    assert question.coverage({"the"}) < 0.1


def test_a_word_that_stands_nowhere_counts_against_a_text() -> None:
    question = make_question("seal fins", {"seal": 1}, 100)
    assert question.coverage({"seal"}) < 0.7


def test_words_that_stand_everywhere_are_not_looked_for_in_a_large_library() -> None:
    frequencies = {"the": LARGE, "seal": 3}
    assert make_question("the seal", frequencies, LARGE).wanted == [["seal"]]
    assert make_question("the", frequencies, LARGE).wanted == [["the"]]
    assert ["the"] in make_question("the seal", {"the": 9, "seal": 3}, 10).wanted


def test_a_question_of_any_length_looks_for_a_bounded_number_of_terms() -> None:
    assert len(make_question(" ".join(f"word{number}" for number in range(5000)), {}, 10).wanted) <= 80


def test_overlaps_are_by_words_that_are_rare_among_the_texts() -> None:
    near, far, none = overlaps("green tea", ["She likes green tea.", "We have tea.", "42"])
    assert near > far > none == 0


@pytest.mark.parametrize("text", ["", "short", "word " * 200, "漢" * 900, "a" * 5000, "line\n\n  line\t" * 50])
@pytest.mark.parametrize("wanted", [[], ["word"], ["line"], ["nowhere"]])
def test_a_snippet_is_one_short_line(text: str, wanted: list[str]) -> None:
    found = snippet(text, wanted)
    assert len(found) <= SNIPPET
    assert "\n" not in found


def test_a_snippet_shows_what_was_looked_for() -> None:
    assert "seal" in snippet("word " * 300 + "the seal sleeps " + "word " * 300, ["seal", "word"])
