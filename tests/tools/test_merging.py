"""Merging: changes that do not touch are both kept, those that do are told, and nothing that was written is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odysseus.tools.merging import Merge, merge

BASE = "one two three\nfour five six\nseven eight nine\n"


@pytest.mark.parametrize(
    ("mine", "theirs", "merged"),
    [
        (BASE, BASE, BASE),
        (BASE + "ten\n", BASE, BASE + "ten\n"),
        (BASE, "zero\n" + BASE, "zero\n" + BASE),
        (BASE + "ten\n", "zero\n" + BASE, "zero\n" + BASE + "ten\n"),
        (BASE.replace("one", "1"), BASE.replace("three", "3"), "1 two 3\nfour five six\nseven eight nine\n"),
        (BASE.replace("six", "6"), BASE.replace("seven", "7"), "one two three\nfour five 6\n7 eight nine\n"),
        (BASE.replace("five", "5"), BASE.replace("five", "5"), BASE.replace("five", "5")),
        (BASE.replace("four five six\n", ""), BASE + "ten\n", "one two three\nseven eight nine\nten\n"),
        ("", "", ""),
    ],
)
def test_changes_that_do_not_touch_are_both_kept(mine: str, theirs: str, merged: str) -> None:
    assert merge(BASE, mine, theirs) == Merge(merged, clean=True)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (BASE + "mine\n", BASE + "theirs\n"),
        (BASE.replace("five", "mine"), BASE.replace("five", "theirs")),
        ("", BASE.replace("five", "theirs")),
        (BASE.replace("four five six\n", ""), BASE.replace("five", "theirs")),
    ],
)
def test_changes_that_touch_are_told_with_a_text_that_holds_both(mine: str, theirs: str) -> None:
    made = merge(BASE, mine, theirs)
    assert not made.clean
    assert all(word in made.text for word in (*mine.split(), *theirs.split()))


def test_an_empty_text_that_both_fill_is_told() -> None:
    assert merge("", "mine", "theirs") == Merge("theirs\nmine", clean=False)


PIECES = st.lists(st.sampled_from(["a", "b", " ", "\n", "word ", "line\n", ".", "é", "字"]), max_size=25)
EDITS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4), st.integers(0, 2)), max_size=5)


def _edited(pieces: list[str], edits: list[tuple[int, int, int]], writer: str) -> tuple[str, list[str]]:
    """The text after these edits, and the words that are new in it, which nothing else has."""
    text, new = list(pieces), []
    for number, (at, dropped, added) in enumerate(edits):
        words = [f"{writer}{number}x{count}" for count in range(added)]
        text[at : at + dropped] = [f" {word}\n" for word in words]
        new += words
    whole = "".join(text)
    return whole, [word for word in new if word in whole]


@settings(max_examples=300, deadline=None)
@given(PIECES, EDITS, EDITS)
def test_what_two_writers_put_in_is_never_lost(
    pieces: list[str], mine: list[tuple[int, int, int]], theirs: list[tuple[int, int, int]]
) -> None:
    my_text, my_words = _edited(pieces, mine, "M")
    their_text, their_words = _edited(pieces, theirs, "T")
    made = merge("".join(pieces), my_text, their_text)
    assert [word for word in (*my_words, *their_words) if word not in made.text] == []
    if not theirs:
        assert made == Merge(my_text, clean=True)


@settings(max_examples=100, deadline=None)
@given(PIECES, EDITS, EDITS)
def test_whose_change_comes_first_makes_no_difference(
    pieces: list[str], mine: list[tuple[int, int, int]], theirs: list[tuple[int, int, int]]
) -> None:
    base = "".join(pieces)
    one, other = _edited(pieces, mine, "M")[0], _edited(pieces, theirs, "T")[0]
    first, second = merge(base, one, other), merge(base, other, one)
    assert first.clean == second.clean
    assert not first.clean or first.text == second.text
