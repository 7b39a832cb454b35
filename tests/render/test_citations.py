"""Citations in a text: what is one, what only looks so, and that none flickers while it is typed."""

from __future__ import annotations

import re

import pytest

from odysseus.render.blocks import BlockRenderer, render_markdown

CITE = re.compile(r'<span class="cite">([^<]*)</span>')

CITED = {
    "behind a sentence": ("It is so. [1]", ["[1]"]),
    "before the full stop": ("It is so [12].", ["[12]"]),
    "several": ("So [2][3], and so [1] [4].", ["[2]", "[3]", "[1]", "[4]"]),
    "a list": ("So [1, 2] and [3,4].", ["[1, 2]", "[3,4]"]),
    "full-width brackets": ("So【1】 and 【2, 3】.", ["【1】", "【2, 3】"]),
    "behind punctuation": ("“So”[1] (so)[2] so,[3] so![4]", ["[1]", "[2]", "[3]", "[4]"]),
    "behind emphasis": ("**So**[1] and *so* [2]", ["[1]", "[2]"]),
    "within emphasis": ("**So [1]** and ~~so [2]~~", ["[1]", "[2]"]),
    "behind a script without spaces": ("天空是蓝色的[1]。สวัสดี[2]", ["[1]", "[2]"]),
    "in every kind of block": (
        "# So [1]\n\n> so [2]\n\n- so [3]\n\n| so [4] |\n|---|\n| so [5] |",
        ["[1]", "[2]", "[3]", "[4]", "[5]"],
    ),
    "at the beginning": ("[1] So.", ["[1]"]),
    "before a link": ("So [1][this](http://example.com/)", ["[1]"]),
    "before a colon": ("So say [1]: it is.", ["[1]"]),
    "beside code": ("`so` [1]", ["[1]"]),
}
NOT_CITED = {
    "inline code": "`a [1]` and ``[2]``",
    "fenced code": "```\n[1]\n```",
    "indented code": "    [1]",
    "a formula": "$x [1] y$ and $$[2]$$",
    "a link": "[1](http://example.com/)",
    "a citation that links": "[[1]](http://example.com/)",
    "a link with text": "[so [1] is](http://example.com/)",
    "half a link": "[1](http://example.com",
    "a picture": "![1](http://example.com/a.png)",
    "a bare address": "http://example.com/a?b=[1]&c",
    "a reference": "[1]: http://example.com/\n\nSo [1] and [so][1].",
    "a reference without a definition": "[so][1] and [1][so]",
    "what could not be a definition": "So:\n[1]: a book, a page",
    "a footnote": "So[^1] and [^2].",
    "an index": "a[1], b_[2], items[3][4], Δ[5]",
    "escaped": r"\[1\] and \[2] and [3\]",
    "no number": "[a] [ ] [x] [1a] [ 1 ] [-1] [1.5]",
    "no number of a source": "[0] [01] [1000] [1,] [,1] [1-3]",
    "a task": "- [ ] so\n- [x] so",
}


def uncited(text: str) -> str:
    """The same with letters in place of the numbers."""
    return re.sub(r"(?<=[\[【, ])[0-9]", "x", text)


@pytest.mark.parametrize(("text", "cited"), CITED.values(), ids=CITED.keys())
def test_a_number_in_brackets_cites(text: str, cited: list[str]) -> None:
    assert CITE.findall(render_markdown(text)) == cited


@pytest.mark.parametrize("text", NOT_CITED.values(), ids=NOT_CITED.keys())
def test_what_only_looks_like_a_citation_stays(text: str) -> None:
    assert CITE.findall(render_markdown(text)) == []


@pytest.mark.parametrize("text", [text for text, _ in CITED.values()], ids=CITED.keys())
def test_a_citation_changes_nothing_around_it(text: str) -> None:
    assert uncited(CITE.sub(r"\1", render_markdown(text))) == render_markdown(uncited(text))


@pytest.mark.parametrize("piece", [1, 2, 3])
@pytest.mark.parametrize(
    "text", ["So [1] and [2, 3].", "So 【1】 so.", "So [1][2](http://example.com/) so.", "[so][1] so"]
)
def test_a_citation_is_shown_whole_and_stays_one(text: str, piece: int) -> None:
    renderer = BlockRenderer()
    whole = CITE.findall(render_markdown(text))
    for at in range(0, len(text), piece):
        for block in renderer.feed(text[at : at + piece]):
            shown = CITE.findall(block.html)
            assert shown == whole[: len(shown)]
            assert not re.search(r"[\[【][0-9, ]*</p>", block.html), "half of one is not shown"


def test_one_that_ends_the_text_is_there_at_the_end() -> None:
    renderer = BlockRenderer()
    renderer.feed("So [1")
    (last,) = renderer.finish("]")
    assert CITE.findall(last.html) == ["[1]"]


def test_half_a_citation_at_the_end_is_text() -> None:
    renderer = BlockRenderer()
    renderer.feed("So [1")
    assert [block.html for block in renderer.finish()] == ["<p>So [1</p>"]


@pytest.mark.parametrize("text", ["【1】" * 20_000 + "(", "[1]" * 20_000, "[1, " * 20_000, "【1," * 20_000])
def test_many_brackets_take_no_time(text: str) -> None:
    assert render_markdown(text).count("1") == 20_000
