"""Streaming: however a text is cut, the blocks are those of the whole text, and what is finished stays."""

import random
import subprocess
import sys
from collections.abc import Callable, Iterable

import pytest

import odysseus.render.blocks as blocks_module
from odysseus.render.blocks import Block, BlockRenderer, _weight, render_markdown
from odysseus.render.markdown import References, to_html

DOCUMENTS = {
    "empty": "",
    "blank lines": "\n \n\t\n",
    "one line": "hello *world*",
    "paragraphs": "one\ntwo  \nthree\\\nfour\n\nfive",
    "atx headings": "# a\n## b ##\ntext\n#no\n###### f",
    "setext headings": "a\nb\n===\nc\n---\n\n---\n***\n",
    "tight list": "- a\n- b\n  - c\n    1. d\n- e\n",
    "loose list": "- a\n\n- b\n\n\n- c\n\nafter",
    "two lists": "- a\n* b\n\n+ c\n1. d\n1) e\n",
    "list then text": "- a\n\n  more of a\n\nover\n",
    "list then indented": "- a\n\n      code in a\n\n    more\n",
    "ordered after text": "text\n2. not a list\n1. a list\n",
    "lazy list": "- a\nlazy\n\n10. b\nlazy\n",
    "task list": "- [ ] a\n- [x] b **c**\n- [X] d\n- [y] e\n- [ ]\n",
    "quotes": "> a\n> b\n\n> c\nlazy\n> > d\n>\n> e\n- x\n",
    "quote with fence": "> ```py\n> x = 1\n> ```\nafter\n> ~~~\n> y\n",
    "fence in a list": "- a\n  ```js\n  let a\n\n  let b\n  ```\n- b\n\n  ```\n  open\nend\n",
    "fence": "x\n```swift\nlet a=1\n```\ny\n",
    "fence in a fence": "````md\n```js\n1\n```\n````\nafter\n",
    "tilde fence": "~~~ a`b\n```\n~~\n~~~~\n",
    "not a fence": "``` a`b\n``\n```x```\n",
    "open fence": "```py\ndef f():\n    pass\n\n- no list\n",
    "open fence without line end": "```py\ndef f():\n    pass\n``",
    "indented fence end": "   ```\n   a\n    ```\n  ```\nb\n",
    "indented code": "    a\n\n    b\n\n\tc\nd\n\n    e\n",
    "table": "| a | b |\n|---|:-:|\n| 1 | `2` |\n| 3 |\n\nafter\n",
    "table after text": "text\n| a | b |\n|---|---|\n| 1 | 2 |\nrow\n> q\n",
    "not a table": "| a | b |\n| c |\n|---|---|\n\n| x |\n",
    "math": "$$\na^2\n$$\ntext $x_1$ and $$y$$ costs $5 and $6\n$$z$$\n",
    "open math": "$$\na\n\nb $$ c\n$$ d\n\n$$ x $$ y\n",
    "math in a list": "- $$\n  a\n\nb\n- $c$\n$$\n",
    "raw html": "<div>\n\n*a*\n\n</div>\n<!-- b\n\nc -->\n<script>\nd</script>\n",
    "references": '[a]: http://x.y\n[a]: http://second\n[b]: <http://z> "t"\n\n[a] [b] [c]\n\n[c]: http://late\n\n[c]\n',
    "long reference": 'foo\n\n[a]: http://x\n"title\nmore"\n[b\nc]:\nhttp://y\n\'open\n\n[a] [b c]\n',
    "references in containers": "> [a]: http://q\n\n- [b]: http://l\n\n[a] [b]\n",
    "references at the end": "# a\n[a]: http://x\n[b]: http://y 'z'",
    "reference then list": "[a]: http://x\n2. two\n[b]: http://y\n===\n[a]\n",
    "images and links": "![a *b*](http://x/y.png) [![c](http://d)](http://e) <http://f> [g](http://h 'i')\n",
    "line ends": "a\r\nb\rc\r\r\n\r\n- d\r\n- e\r```\rf\r",
    "odd characters": "a\0b\x0b\n\x0c\n\u2028c\u00a0\n\ud800 日本語 \U0001f600\n- \ud83d\n",
    "citations": "a [1] b[2]. [3][4](http://x) 【5】[6, 7]\n[8]: no\n- [9]\n- `[1]` [10](http://y\n\n[11][12] [a][1]\n",
    "emphasis": "**a *b* c** __d__ *e\n\nf* `g ``h`` ` ~~i~~ ~j~ \\*k\\* &amp; &#x41;\n",
    "rules and lists": "- a\n- - b\n---\n* * *\n_ _ _\n-\n\n- c\n",
    "tabs": "-\ta\n\n\tb\n\n>\t\tc\n1.\td\n",
    "all markup": "#\n##\n-\n1.\n>\n|\n=\n```\n",
    "deep": "> - > - > 1. a\n\n" + "".join("  " * i + "- x\n" for i in range(8)) + "\nend",
}

FLICKER = {
    "list": ("- one\n- two\n", "ul"),
    "ordered list": ("12. one\n13. two\n", "ol"),
    "heading": ("### one two\n", "h3"),
    "quote": ("> one\n> two\n", "blockquote"),
    "rule": ("* * *\n", "hr"),
    "fence": ("```swift\nlet a = 1\n```\n", "pre"),
    "long fence": ("~~~~md info\n~~~\n1\n~~~\n~~~~\n", "pre"),
    "table": ("| a | b |\n| --- | :-: |\n| 1 | 2 |\n", "table"),
    "display math": ("$$\na^2\n$$\n", "p"),
    "paragraph": ("a **b** and `c` ~~d~~\n", "p"),
}


def stream(pieces: Iterable[str]) -> str:
    """The finished blocks of a streamed text, in the wrapper of the whole one; checks the promises on the way."""
    renderer = BlockRenderer()
    finished: list[str] = []

    def take(blocks: list[Block]) -> None:
        for block in blocks:
            assert block.index == len(finished), "indexes are dense and a finished block never comes again"
            if not block.open:
                finished.append(block.html)

    for piece in pieces:
        blocks = renderer.feed(piece)
        assert not any(block.open for block in blocks[:-1]), "only the last block is open"
        take(blocks)
    last = renderer.finish()
    assert not any(block.open for block in last)
    take(last)
    return "".join(f'<div class="block">{html}</div>' for html in finished)


def opened(pieces: Iterable[str]) -> list[Block]:
    renderer = BlockRenderer()
    return [block for piece in pieces for block in renderer.feed(piece) if block.open]


def calls(work: Callable[[], object]) -> int:
    """How many functions `work` calls: a measure of cost that does not depend on the machine."""
    count = 0

    def note(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_text_cut_anywhere_gives_the_blocks_of_the_whole(text: str) -> None:
    whole = render_markdown(text)
    for cut in sorted({*range(0, len(text), max(1, len(text) // 30)), len(text)}):
        assert stream([text[:cut], text[cut:]]) == whole, text[:cut]


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_text_in_single_characters_gives_the_blocks_of_the_whole(text: str) -> None:
    assert stream(text) == render_markdown(text)


@pytest.mark.parametrize("seed", range(12))
def test_documents_strung_together_and_cut_at_random_give_the_blocks_of_the_whole(seed: int) -> None:
    chance = random.Random(seed)
    text = chance.choice(["", "\n", "\n\n"]).join(chance.sample(list(DOCUMENTS.values()), 6))
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(40))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert stream(pieces) == render_markdown(text)


def test_a_large_block_cut_at_random_gives_the_blocks_of_the_whole() -> None:
    chance = random.Random(7)
    text = (
        "".join(f"- item {i} with *words*\n" for i in range(150)) + "\nend\n\n```py\n" + "x = 1\n" * 1600 + "```\nlast"
    )
    pieces = []
    while text:
        size = chance.randrange(1, 900)
        pieces.append(text[:size])
        text = text[size:]
    assert stream(pieces) == render_markdown("".join(pieces))


@pytest.mark.parametrize(("text", "tag"), FLICKER.values(), ids=FLICKER.keys())
def test_a_block_has_its_kind_from_the_first_time_it_is_shown(text: str, tag: str) -> None:
    shown = [block.html for block in opened(text) if block.html]
    assert {html[1 : html.index(">")].split()[0] for html in shown} <= {tag}


def test_a_fence_that_is_still_typed_is_never_shown_as_text() -> None:
    pieces = ["x\n", "`", "``", "sw", "ift\nlet a=1\n", "``", "`\n"]
    shown = [block.html for block in opened(pieces)]
    assert shown
    assert not any("`" in html or "<p>sw" in html or "<code></code>" in html.split("<pre")[0] for html in shown)
    assert stream(pieces) == render_markdown("".join(pieces))


def test_a_shorter_fence_inside_a_longer_one_does_not_close_it() -> None:
    blocks = BlockRenderer().finish("````md\n```js\n1\n```\n````\n")
    assert len(blocks) == 1
    text = blocks[0].html.replace("<span", "\n<span")
    assert text.count("`") == 6
    assert 'data-lang="md"' in text


def test_half_an_emphasis_mark_is_held_back() -> None:
    assert all("*" not in block.html for block in opened(["a ", "*", "*", "b", "*", "*"])[:1])


def test_a_finished_fence_does_not_wait_for_the_next_block() -> None:
    blocks = BlockRenderer().feed("```\na\n```\n")
    assert [(block.index, block.open) for block in blocks] == [(0, False)]


def test_a_paragraph_is_finished_by_a_blank_line_and_a_list_by_text_after_it() -> None:
    renderer = BlockRenderer()
    assert [block.open for block in renderer.feed("a\n\n")] == [False]
    assert [block.open for block in renderer.feed("- b\n\n")] == [True]
    assert [(block.index, block.open) for block in renderer.feed("c")] == [(1, False), (2, True)]


def test_nothing_is_returned_when_nothing_visible_changed() -> None:
    renderer = BlockRenderer()
    assert renderer.feed("") == []
    assert len(renderer.feed("a")) == 1
    assert renderer.feed("\n") == []
    assert renderer.feed("```p") == []


def test_a_finished_text_is_finished_once() -> None:
    renderer = BlockRenderer()
    assert len(renderer.finish("a\r")) == 1
    assert renderer.finish() == []


def test_a_definition_serves_the_blocks_after_it_and_the_first_one_wins() -> None:
    html = stream(["[a]\n\n[a]: http://one\n", "\n[a]\n\n[A]: http://two\n\n[a]"])
    assert html.startswith('<div class="block"><p>[a]</p>')
    assert html.count('href="http://one"') == 2
    assert "two" not in html


def test_a_definition_that_is_still_typed_leaves_no_trace() -> None:
    html = stream("[a]: http://one/long\n\n[a]")
    assert 'href="http://one/long"' in html


def test_a_long_open_fence_keeps_its_coloured_head_and_is_coloured_whole_when_it_closes() -> None:
    renderer = BlockRenderer()
    renderer.feed("```py\n")
    (grown,) = renderer.feed("x = 1\n" * 3000)
    head, _, tail = grown.html.rpartition("</span>")
    assert "<span" in head
    assert tail.count("x = 1") > 1000
    (closed,) = renderer.feed("```\n")
    assert not closed.open
    assert closed.html.count("</span>") > 2 * grown.html.count("</span>")


def test_a_feed_costs_the_same_however_much_is_finished() -> None:
    def cost(finished: int) -> int:
        renderer = BlockRenderer()
        renderer.feed("some *text*\n\n" * finished)
        return calls(lambda: renderer.feed("and [more](http://x)"))

    cost(1)
    assert cost(500) == cost(5)


@pytest.mark.parametrize("line", ["word and *word*\n", "- item\n", "[a\n", "word "])
def test_a_block_without_end_is_parsed_again_less_and_less_often(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = 0

    def counting(source: str, references: References, *, unfinished: bool = False) -> str:
        nonlocal parsed
        parsed += len(source)
        return to_html(source, references, unfinished=unfinished)

    def cost(lines: int) -> int:
        nonlocal parsed
        renderer = BlockRenderer()
        renderer.feed(line * lines)
        parsed = 0
        for _ in range(lines):
            renderer.feed(line)
        return parsed

    monkeypatch.setattr(blocks_module, "to_html", counting)
    monkeypatch.setattr(blocks_module, "LIGHT", 2_000)
    heavy = 2_000 // _weight(line) + 1
    assert 0 < cost(2 * heavy) < 3 * cost(heavy)


HOSTILE: dict[str, Callable[[int], str]] = {
    "words": lambda n: "word " * n,
    "one word": lambda n: "a" * n * 5,
    "quotes": lambda n: ">" * n + " a",
    "quotes and lists": lambda n: "> - " * n + "a",
    "brackets": lambda n: "[" * n,
    "image brackets": lambda n: "![" * n,
    "links in links": lambda n: "[" * n + "a" + "](http://x)" * n,
    "open links": lambda n: "[a](http://x '" * n,
    "stars": lambda n: "*a **a " * n,
    "spans": lambda n: "*" * n + "a" + "*" * n,
    "bare addresses": lambda n: "http://x.y/a " * n,
    "bracket math": lambda n: "\\(a \\[b " * n,
    "dollars": lambda n: "$a $$b " * n,
    "backslashes": lambda n: "\\" * n + "$" * n,
    "tags": lambda n: "<a <!-- " * n,
    "autolinks": lambda n: "<http:" * n,
    "tasks": lambda n: "- [ ] a\n" * n,
    "rows": lambda n: "|a|b|\n|-|-|\n" + "|1|2|\n" * n,
    "columns": lambda n: "|a" * n + "|\n" + "|-" * n + "|\n" + "|1\n" * 5,
    "definitions": lambda n: "".join(f"[{i}]: http://x\n" for i in range(n)),
    "headings": lambda n: "# a\n" * n,
    "nested lists": lambda n: "".join(" " * 2 * min(i, 60) + "- a\n" for i in range(n // 10)),
    "nested math": lambda n: "$" + "{" * n + "}" * n + "$",
    "roots": lambda n: "$" + "\\sqrt" * min(n, 750) + "x$",
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_costs_work_in_proportion_to_its_length(make: Callable[[int], str]) -> None:
    render_markdown(make(10))
    small = calls(lambda: render_markdown(make(310)))
    assert calls(lambda: render_markdown(make(620))) < 3 * small + 20_000


@pytest.mark.parametrize("text", ["a" * 300_000, ">" * 10_000, "[" * 10_000, "* " * 10_000, "```\n" + "x\n" * 100_000])
def test_a_huge_text_is_shown(text: str) -> None:
    assert render_markdown(text).startswith('<div class="block"><')


def test_importing_the_renderer_loads_no_heavy_library() -> None:
    heavy = "{'markdown_it', 'mdit_py_plugins', 'pygments', 'latex2mathml', 'nh3', 'xml'}"
    check = f"import sys, odysseus.render.blocks; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
