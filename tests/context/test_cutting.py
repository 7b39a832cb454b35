"""Cutting texts to a budget, and sharing a budget among several."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.context.budget import estimate_tokens
from odysseus.context.cutting import beginning, head_and_tail, shares

TEXTS = ["word " * 5000, "ab" * 5000, "漢字" * 4000, "x" * 8000 + "漢字" * 2000, "🚲" * 3000 + "word " * 4000]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tokens", [60, 500, 1000])
def test_a_long_text_fits_and_keeps_both_ends(text: str, tokens: int) -> None:
    cut = head_and_tail(text, tokens)
    assert estimate_tokens(cut) <= tokens
    assert cut[:10] == text[:10]
    assert cut.rstrip()[-2:] == text.rstrip()[-2:]
    kept = len(cut) - len("[… 12,345 characters are left out here …]\n\n")
    assert kept > 0
    assert "characters are left out here" in cut


@pytest.mark.parametrize("text", TEXTS)
def test_a_beginning_fits_and_says_that_there_is_more(text: str) -> None:
    cut = beginning(text, 200)
    assert estimate_tokens(cut) <= 200
    assert cut.startswith(text[:20])
    assert "more characters are left out" in cut


@pytest.mark.parametrize("text", ["", "short", "漢字"])
def test_a_text_that_fits_stays_as_it_is(text: str) -> None:
    assert head_and_tail(text, 10) == beginning(text, 10) == text


def test_the_count_of_what_is_left_out_is_true() -> None:
    text = "0123456789" * 2000
    head, line, tail = head_and_tail(text, 300).split("\n")
    left_out = int(line.split()[1].replace(",", ""))
    assert len(head) + left_out + len(tail) == len(text)


@given(st.lists(st.integers(0, 10_000), max_size=12), st.integers(-5, 20_000))
def test_a_budget_is_shared_fairly(wanted: list[int], tokens: int) -> None:
    given_ = shares(wanted, tokens)
    assert all(0 <= got <= want for got, want in zip(given_, wanted, strict=True))
    assert sum(given_) <= max(0, tokens)
    short = [got for got, want in zip(given_, wanted, strict=True) if got < want]
    if short:
        assert max(short) - min(short) <= len(wanted)
        assert all(got <= max(short) + len(wanted) for got in given_)
        assert tokens - sum(given_) <= len(wanted)
