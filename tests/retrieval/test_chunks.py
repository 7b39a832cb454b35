"""Texts to chunks: nothing is lost, no chunk is too long, and what belongs together stays together."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.retrieval.chunks import LEAST, MOST, OVERLAP, chunks, split_text, windows

words = st.text(alphabet="abcdefg äéß", min_size=1, max_size=60).map(str.strip).filter(bool)
paragraphs = st.lists(words, min_size=1, max_size=60).map(". ".join)
headings = st.tuples(st.integers(1, 6), words).map(lambda pair: f"{'#' * pair[0]} {pair[1]}")
rows = st.lists(
    st.lists(words, min_size=2, max_size=4).map(lambda cells: f"| {' | '.join(cells)} |"), min_size=3, max_size=40
)
tables = rows.map(lambda lines: "\n".join([lines[0], "| --- | --- |", *lines[1:]]))
fences = st.lists(words, min_size=1, max_size=80).map(lambda lines: "```py\n" + "\n".join(lines) + "\n```")
pages = st.integers(1, 999).map(lambda number: f"[Page {number}]")
documents = st.lists(st.one_of(paragraphs, headings, tables, fences, pages), min_size=1, max_size=12).map("\n\n".join)


def letters(text: str) -> str:
    return "".join(text.split())


@given(documents, st.booleans())
def test_no_chunk_is_too_long_or_empty(text: str, code: bool) -> None:
    for chunk in chunks(text, code=code):
        assert 0 < len(chunk.text) <= MOST
        assert chunk.text.strip()


@given(documents, st.booleans())
def test_every_word_is_in_a_chunk(text: str, code: bool) -> None:
    body = re.sub(r"^\[Page \d+\]$", "", text, flags=re.MULTILINE) if not code else text
    held = " ".join(chunk.text for chunk in chunks(text, code=code)).split()
    assert set(body.split()) <= set(held)


@given(st.lists(st.one_of(paragraphs, headings), min_size=1, max_size=15).map("\n\n".join))
def test_a_chunk_is_short_only_where_the_next_block_does_not_fit(text: str) -> None:
    found = chunks(text)
    for chunk, after in pairwise(found):
        begin = re.split(r"\n\n(?!#)", after.text, maxsplit=1)[0]
        assert (
            len(chunk.text) >= LEAST or len(chunk.text) + 2 + len(begin) > MOST or len(after.text) > MOST - OVERLAP * 5
        )


@given(tables)
def test_a_row_of_a_table_is_whole(table: str) -> None:
    lines = [line for chunk in chunks(table) for line in chunk.text.split("\n")]
    assert set(table.split("\n")) == set(lines)


@given(tables)
def test_every_piece_of_a_table_has_its_head(table: str) -> None:
    head = table.split("\n", maxsplit=1)[0]
    if len(head) < 300:
        assert all(chunk.text.startswith(head) for chunk in chunks(table))


@given(st.lists(words, min_size=1, max_size=20).map(lambda lines: "```\n" + "\n\n".join(lines) + "\n```"))
def test_a_fence_that_fits_is_whole(fence: str) -> None:
    text = f"{'Before. ' * 100}\n\n{fence}\n\nAfter."
    if len(fence) <= MOST:
        assert sum(fence in chunk.text for chunk in chunks(text)) == 1


@given(st.integers(300, 2000), st.integers(1, 40), st.integers(1, 9))
def test_a_long_paragraph_is_split_with_an_overlap_and_in_order(count: int, sentence: int, length: int) -> None:
    numbered = [f"{'x' * length}{number}{'.' if number % sentence == 0 else ''}" for number in range(count)]
    pieces = [piece.split() for piece in split_text(" ".join(numbered))]
    place = 0
    for before, piece in pairwise([numbered[:0], *pieces]):
        first = numbered.index(piece[0])
        assert numbered[first : first + len(piece)] == piece
        shared = numbered[first:place]
        assert first <= place
        assert len(" ".join(shared)) <= OVERLAP
        assert before[len(before) - len(shared) :] == shared
        place = first + len(piece)
    assert place == len(numbered)


def test_the_heading_is_the_path_at_the_beginning() -> None:
    text = "# Guide\n\n" + "Word. " * 200 + "\n\n## Setup\n\n" + "Word. " * 200 + "\n\n# Other\n\nEnd."
    assert [chunk.heading for chunk in chunks(text)] == ["Guide", "Guide > Setup", "Other"]


def test_a_heading_goes_with_what_stands_below_it() -> None:
    text = "Word. " * 130 + "\n\n## Setup\n\n" + "More. " * 200
    first, second = chunks(text)
    assert "Setup" not in first.text
    assert second.text.startswith("## Setup")


def test_a_page_is_known_and_its_mark_is_no_text() -> None:
    text = "[Page 1]\n" + "One. " * 200 + "\n\n[Page 2, by OCR]\n" + "Two. " * 200
    found = chunks(text)
    assert [(chunk.page, chunk.text[:3]) for chunk in found] == [(1, "One"), (2, "Two")]
    assert not any("[Page" in chunk.text for chunk in found)


def test_a_comment_in_a_program_is_no_heading() -> None:
    program = "# a comment\nimport os\n\n\ndef one():\n    # inside\n\n    return 1\n"
    (chunk,) = chunks(program, code=True)
    assert (chunk.heading, chunk.text) == ("", program.replace("\n\n\n", "\n\n").strip())


@pytest.mark.parametrize("text", ["", " \n\n ", "[Page 3]"])
def test_a_text_without_words_has_no_chunks(text: str) -> None:
    assert chunks(text) == []


def test_a_text_without_spaces_is_split_all_the_same() -> None:
    found = chunks("漢" * 5000)
    assert all(len(chunk.text) <= MOST for chunk in found)
    assert sum(len(chunk.text) for chunk in found) >= 5000


def test_many_headings_in_a_row_are_kept() -> None:
    text = "\n\n".join(f"# Heading number {number} of a very long table of contents" for number in range(100))
    assert letters(text) == letters("".join(chunk.text for chunk in chunks(text)))


@given(documents, st.integers(20, 400))
def test_windows_hold_all_words_and_are_short(text: str, most: int) -> None:
    found = windows(text, most)
    assert all(0 < len(one) <= 2 * most for one in found)
    assert letters("".join(found)) == letters(text)
