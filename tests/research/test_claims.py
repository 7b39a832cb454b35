"""Claims held to findings: citations are checked, sentences without one are marked, other Markdown stays as it is."""

from __future__ import annotations

import pytest

from odysseus.research.claims import MARK, checked, cited, sentences
from odysseus.research.values import Finding

FINDINGS = [
    Finding(1, "The bridge is 1,214 metres long.", "It is 1,214 metres long.", 1, 1),
    Finding(2, "It was opened in 1931.", "Opened 1931", 2, 1),
]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It is long [1].", "It is long [1]."),
        ("It is long. [1]", "It is long. [1]"),
        ("It is very long [1, 2].", "It is very long [1][2]."),
        ("It is very long【2】.", "It is very long[2]."),
        ("It is very long [7].", f"It is very long. {MARK}"),
        ("It is very long [1][7].", "It is very long [1]."),
        ("It is 1214 metres long [1].", "It is 1214 metres long [1]."),
        ("It is 1300 metres long [1].", f"It is 1300 metres long [1]. {MARK}"),
        ("It is long and old [1]. It is also green.", f"It is long and old [1]. It is also green. {MARK}"),
        ("- It was opened in 1931 [2]", "- It was opened in 1931 [2]"),
        ("2. It was opened in 1931 [2]", "2. It was opened in 1931 [2]"),
        ("> So they say of it", f"> So they say of it {MARK}"),
        ("Two things are known:", "Two things are known:"),
        ("**Two things are known:**", "**Two things are known:**"),
        ("## The bridge of 1999", "## The bridge of 1999"),
        ("Dr. Lind built the bridge, e.g. its piers [1].", "Dr. Lind built the bridge, e.g. its piers [1]."),
        ("橋は長い[1]。橋は古い。", f"橋は長い[1]。 橋は古い。 {MARK}"),
        ("See [1](http://a.example) for more of it.", f"See [1](http://a.example) for more of it. {MARK}"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("```\nx = [7]. And more words.\n```", "```\nx = [7]. And more words.\n```"),
        ("The bridge is 1,214 metres long.", "The bridge is 1,214 metres long. [1]"),
        ("The bridge is 1,215 metres long.", f"The bridge is 1,215 metres long. {MARK}"),
        ("", ""),
    ],
)
def test_a_text_is_told_with_its_sources_only(text: str, told: str) -> None:
    assert checked(text, FINDINGS).text == told


def test_sentences_are_counted() -> None:
    found = checked("# Head\n\nIt is long [1]. It is also green. It is old [2].\n\n- It is not known.", FINDINGS)
    assert (found.claims, found.unsourced) == (4, 2)


def test_citations_behind_a_sentence_belong_to_it() -> None:
    assert sentences("The one is long. [1][2] The other is short! [2]") == [
        "The one is long. [1][2]",
        "The other is short! [2]",
    ]
    assert list(cited("a [1], [2, 3] and [4](x)")) == [1, 2, 3]
