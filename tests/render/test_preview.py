"""Previews: prose is rendered, tables are bounded, pages do nothing, code is coloured, and all of it is safe."""

from __future__ import annotations

import pytest

from odysseus.render.preview import COLUMNS, ROWS, preview


def test_markdown_is_rendered() -> None:
    made = preview("# Tea\n\n*Green*", "Markdown")
    assert made.kind == "markdown"
    assert "<h1>Tea</h1>" in made.html
    assert "<em>Green</em>" in made.html


def test_a_table_has_a_head_and_rows_of_one_width() -> None:
    made = preview('name,note\n"Ann, B.","<b>x</b>"\nBo\n\n', "csv")
    assert (made.kind, made.note) == ("table", "")
    assert made.html == (
        "<table><thead><tr><th>name</th><th>note</th></tr></thead><tbody>"
        "<tr><td>Ann, B.</td><td>&lt;b&gt;x&lt;/b&gt;</td></tr><tr><td>Bo</td><td></td></tr></tbody></table>"
    )
    assert "<td>2</td>" in preview("a\tb\n1\t2\n", "tsv").html
    assert preview("", "csv").html == ""


def test_a_long_and_wide_table_is_cut_and_says_so() -> None:
    made = preview("\n".join(",".join("x" * (COLUMNS + 2)) for _ in range(ROWS + 7)), "csv")
    assert made.html.count("<tr>") == ROWS
    assert made.html.count("<th>") == COLUMNS
    assert made.note == "7 more rows are not shown. 2 more columns are not shown."


def test_what_is_no_table_is_shown_as_text() -> None:
    made = preview("a,b\n" + "x" * 200_000, "csv")
    assert (made.kind, made.note) == ("code", "This is no table that can be read.")


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<style>body{display:none}</style>",
        '<img src="https://x.test/a.png" onerror="alert(1)">',
        '<a href="javascript:alert(1)" onclick="alert(1)">go</a>',
        '<iframe src="https://x.test"></iframe><object data="x"></object>',
        '<form action="https://x.test"><input name="a"></form>',
        '<p style="background:url(https://x.test)">p</p>',
        '<svg><a xlink:href="https://x.test"><text>t</text></a></svg>',
        '<link rel="stylesheet" href="https://x.test"><meta http-equiv="refresh" content="0;url=https://x.test">',
    ],
)
def test_a_page_is_inert(attack: str) -> None:
    made = preview(f"<h1>Title</h1>{attack}<p>end</p>", "html")
    assert made.kind == "html"
    assert "inert" in made.note
    assert "<h1>Title</h1>" in made.html
    assert not any(bad in made.html for bad in ("x.test", "alert", "style", "<img", "<form", "href", "<svg"))


def test_code_is_coloured_and_an_unknown_language_is_plain() -> None:
    assert 'class="k' in preview("def f(): pass", "python").html
    assert preview("<b>", "no-such").html.strip() == '<pre class="hl" data-lang="no-such"><code>&lt;b&gt;</code></pre>'
