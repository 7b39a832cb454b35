"""What each construct of Markdown becomes."""

import threading

import pytest

from odysseus.render.blocks import render_markdown
from odysseus.render.markdown import to_html

LINK = 'target="_blank" rel="noopener noreferrer nofollow"'

CASES = {
    "emphasis": ("*a* __b__ ***c***", "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em></p>"),
    "strikethrough": ("~~a~~", "<p><s>a</s></p>"),
    "code span": ("`` a`b <i> ``", "<p><code>a`b &lt;i&gt;</code></p>"),
    "heading": ("## a *b*", "<h2>a <em>b</em></h2>"),
    "setext heading": ("a\n===", "<h1>a</h1>"),
    "hard break": ("a  \nb\\\nc", "<p>a<br>\nb<br>\nc</p>"),
    "rule": ("***", "<hr>"),
    "quote": ("> a\n> b", "<blockquote>\n<p>a\nb</p>\n</blockquote>"),
    "list": ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
    "loose list": ("- a\n\n- b", "<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>"),
    "numbered list": ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>'),
    "escapes": (r"\*a\* \$5 &copy; &#65;", "<p>*a* $5 © A</p>"),
    "link": ('[a](https://x.y "t")', f'<p><a href="https://x.y" title="t" {LINK}>a</a></p>'),
    "mail": ("<me@x.y>", f'<p><a href="mailto:me@x.y" {LINK}>me@x.y</a></p>'),
    "bare address": ("at https://x.y/a_b_c.", f'<p>at <a href="https://x.y/a_b_c" {LINK}>https://x.y/a_b_c</a>.</p>'),
    "relative link": ("[a](b.md) [c](//x.y) [d](#e)", "<p>[a](b.md) [c](//x.y) [d](#e)</p>"),
    "indented code": ("    a <b>\n", '<pre class="hl"><code>a &lt;b&gt;\n</code></pre>'),
    "raw html": ("<b>a</b>\n<!-- c -->", "<p>&lt;b&gt;a&lt;/b&gt;\n&lt;!-- c --&gt;</p>"),
}


@pytest.mark.parametrize(("source", "html"), CASES.values(), ids=CASES.keys())
def test_a_construct_becomes_its_element(source: str, html: str) -> None:
    assert to_html(source) == html


def test_a_table_keeps_the_alignment_of_its_columns_without_inline_style() -> None:
    html = to_html("| a | b | c |\n|:--|:-:|--:|\n| 1 | `2\\|3` |\n")
    assert html.count("<tr>") == 2
    assert '<th align="left">a</th>\n<th align="center">b</th>\n<th align="right">c</th>' in html
    assert '<td align="center"><code>2|3</code></td>\n<td align="right"></td>' in html
    assert "style" not in html


def test_a_task_list_has_boxes_nobody_can_change() -> None:
    html = to_html("1. [ ] a\n2. [x] *b*\n3. [X]\tc\n4. [y] d\n5. e\n\n   [ ] f")
    assert html.startswith('<ol class="contains-task-list">')
    assert html.count('<li class="task-list-item">') == html.count('type="checkbox"') == html.count("disabled") == 3
    assert html.count("checked") == html.count('aria-label="Done"') == 2
    assert "[y] d" in html
    assert "[ ] f" in html


def test_only_the_list_that_holds_a_task_is_marked() -> None:
    html = to_html("- a\n  - [ ] b\n- c")
    assert html.startswith("<ul>")
    assert html.count("contains-task-list") == 1


def test_code_is_coloured_in_the_language_of_its_fence() -> None:
    html = to_html('```Python title="x"\ndef f(): return "<b>"\n```')
    assert html.startswith('<pre class="hl" data-lang="Python"><code><span class="k">def</span>')
    assert '<span class="s2">"&lt;b&gt;"</span>' in html


@pytest.mark.parametrize(
    ("info", "label"), [("", ""), ("nonsense", ' data-lang="nonsense"'), ("a<b", ""), ("a" * 99, "")]
)
def test_code_in_no_known_language_is_plain(info: str, label: str) -> None:
    assert to_html(f"```{info}\ndef <f>\n```") == f'<pre class="hl"{label}><code>def &lt;f&gt;\n</code></pre>'


def test_code_keeps_its_blank_lines() -> None:
    assert "<code>\n\n" in to_html("```py\n\n\nx\n\n```")


def test_only_the_first_part_of_very_long_code_is_coloured_and_all_of_it_is_there() -> None:
    html = to_html("```py\n" + "x = 1\n" * 20_000 + "```")
    assert html.count('class="n"') < 12_000
    assert html.count("x") == 20_000


def test_math_becomes_mathml() -> None:
    inline = to_html("so $x_1 < 2$ holds")
    assert (
        '<math display="inline"><mrow><msub><mi>x</mi><mn>1</mn></msub><mo>&lt;</mo><mn>2</mn></mrow></math>' in inline
    )
    for display in ("$$\n\\frac{a}{b}\n$$", "so $$\\frac{a}{b}$$", "so:\n$$\n\\frac{a}{b}\n$$"):
        assert '<math display="block"><mrow><mfrac>' in to_html(display)


@pytest.mark.parametrize(
    ("source", "display"),
    [(r"so \(x^2\) is", "inline"), ("\\[\nx^2\n\\]", "block"), ("so\n\\[ x^2 \\].\nend", "block")],
)
def test_bracketed_math_becomes_mathml_too(source: str, display: str) -> None:
    assert f'<math display="{display}"><mrow><msup>' in to_html(source)


@pytest.mark.parametrize("source", [r"a \[b\](c)", r"\(a", r"a \[x\] b", r"\\(x\\)", r"`\(x\)`", r"a \[x\]"])
def test_escaped_brackets_in_prose_are_no_math(source: str) -> None:
    assert "<math" not in to_html(source)


@pytest.mark.parametrize(
    "source", ["server.py", "www.x.org", "a@b.c", "ftp://x.org/a", "//x.org", "javascript://x.org"]
)
def test_what_is_not_written_as_an_address_is_no_link(source: str) -> None:
    assert "<a" not in to_html(source)


def test_math_stands_next_to_any_letter_but_a_latin_one() -> None:
    assert to_html("函数$f$是 the $n$th $k$, ($x$) 2$y$").count("<math") == 4


@pytest.mark.parametrize("text", ["it costs $5 and $10", "$5-$10", "US$5 or US$6", r"\$a\$", "`$a$`", "$ a $", "$$"])
def test_an_amount_of_money_is_not_math(text: str) -> None:
    assert "<math" not in to_html(text)


@pytest.mark.parametrize("bad", [r"\frac{a}", r"\left( x", r"\begin{foo} x", "x^", "a" * 4_001, "{" * 300 + "}" * 300])
def test_math_that_cannot_be_read_is_shown_as_its_source(bad: str) -> None:
    assert to_html(f"a ${bad}$ b") == f"<p>a <code>{bad}</code> b</p>"


def test_math_that_defines_macros_is_shown_as_its_source() -> None:
    bomb = r"\newcommand{\a}{xx}\newcommand{\b}{\a\a}\b"
    assert to_html(f"${bomb}$") == f"<p><code>{bomb}</code></p>"


def test_a_remote_image_is_a_link_and_does_not_load() -> None:
    html = to_html('![a *b*](http://x/y.png "t") ![](https://z/)')
    assert f'<a href="http://x/y.png" class="remote-image" title="t" {LINK}>a b</a>' in html
    assert f'<a href="https://z/" class="remote-image" {LINK}>https://z/</a>' in html
    assert "<img" not in html


def test_an_image_inside_a_link_is_its_text() -> None:
    assert to_html("[![a](http://x/y.png)](http://z)") == f'<p><a href="http://z" {LINK}>a</a></p>'


def test_a_whole_text_is_its_blocks_in_wrappers() -> None:
    assert render_markdown("a\n\n# b") == '<div class="block"><p>a</p></div><div class="block"><h1>b</h1></div>'
    assert render_markdown(" \n") == ""


def test_threads_render_at_once_without_disturbing_each_other() -> None:
    languages = ["html", "php", "markdown", "javascript", "css", "yaml", "bash", "rust"]
    sources = [f"# {name}\n\n[a]: http://{name}\n\n[a] $x^2$\n\n```{name}\n<a>x</a> = 1\n```\n" for name in languages]
    start = threading.Barrier(len(sources))
    results: dict[str, str] = {}

    def work(source: str) -> None:
        start.wait(10)
        results[source] = render_markdown(source)

    threads = [threading.Thread(target=work, args=(source,)) for source in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {source: render_markdown(source) for source in sources}
    assert len(results) == len(sources)
