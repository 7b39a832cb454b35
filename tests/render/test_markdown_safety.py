"""Nothing a model, a tool or a file says can run in the page."""

import re
from html.parser import HTMLParser

import pytest

from odysseus.render.blocks import BlockRenderer, render_markdown
from odysseus.render.markdown import sanitise

HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//x.y></SCRIPT >",
    "<svg><style><img src=q onerror=top.hit=1></style></svg>",
    "<svg/onload=alert(1)>",
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<img src=x onerror=alert(1)>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<a href=javascript:alert(1)>x</a>",
    "<div style='background:url(javascript:alert(1))'>x</div>",
    "<base href=http://x.y><meta http-equiv=refresh content='0;javascript:alert(1)'>",
    "<object data=x><embed src=x><link rel=stylesheet href=x>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml <img src=x onerror=alert(1)>?>",
    "</p></div><img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVa\tScript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](<java\nscript:alert(1)>)",
    "[x](&#x6A;avascript:alert(1))",
    "[x](&#106;&#97;vascript&colon;alert(1))",
    "[x](javascript&Tab;:alert(1))",
    "[x](\\javascript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](%6aavascript:alert(1))",
    "[x]( javascript:alert(1))",
    "[x](vbscript:x) [y](file:///etc/passwd) [z](blob:x) [w](about:blank)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](//x.y) [y](/api/session) [z](?a=b)",
    "[x]\n\n[x]: javascript:alert(1)",
    "[x]: data:text/html,<script>alert(1)</script>\n\n[x]",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![x](javascript:alert(1))",
    '![x" onerror="alert(1)](http://x.y/"onerror="alert(1))',
    "![<img src=x onerror=alert(1)>](http://x.y)",
    '[x](http://x.y "a\\" onmouseover=\\"alert(1)")',
    "[x](http://x.y 'a\" onmouseover=\"alert(1)')",
    '[x](http://x.y (a" style="x))',
    '[x](http://x.y/"onmouseover="alert(1)) <http://x.y/"onmouseover="alert(1)>',
    '```"><img src=x onerror=alert(1)>\ncode\n```',
    '```"onmouseover="alert(1)\ncode\n```',
    "~~~x' onload='alert(1)\ncode\n~~~",
    "```html\n<script>alert(1)</script></code></pre><img src=x onerror=alert(1)>\n```",
    '```mermaid\ngraph LR;N1["<img src=q onerror=top.hit=1>"]\n```',
    "`<img src=x onerror=alert(1)>`",
    "    <img src=x onerror=alert(1)>",
    "# <img src=x onerror=alert(1)>\n\n- [ ] <img src=x onerror=alert(1)>",
    "| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |",
    "$<img src=x onerror=alert(1)>$",
    "$\\text{<img src=x onerror=alert(1)>}$ $$\\text{</mtext><script>alert(1)</script>}$$",
    "$\\text{&lt;img src=x onerror=alert(1)&gt;}$",
    "$\\href{javascript:alert(1)}{x}$",
    "$\\style{background:url(//x.y)}{x} \\class{hl}{x} \\mathcolor{red}{x}$",
    '$\\color{"onmouseover="alert(1)}{x}$',
    "$\\unknown{<script>alert(1)</script>$",
    "$$\n</math><img src=x onerror=alert(1)>\n$$",
    "$\\begin{array}{<img src=x onerror=alert(1)>}x\\end{array}$",
    '$\\hspace{1em" onclick="alert(1)}$',
    "\u2028<img src=x onerror=alert(1)>\0<scr\0ipt>alert(1)</script>",
]

FORBIDDEN = {
    "script",
    "style",
    "iframe",
    "img",
    "svg",
    "object",
    "embed",
    "link",
    "meta",
    "base",
    "form",
    "button",
    "template",
}
ADDRESS = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)


class Reader(HTMLParser):
    """Fails on any element or attribute that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in FORBIDDEN
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in ("style", "src", "srcdoc", "id", "xlink:href", "action", "formaction"), name
            assert name != "href" or (tag == "a" and ADDRESS.fullmatch(value or "")), value
        if tag == "a":
            assert ("rel", "noopener noreferrer nofollow") in attrs
            assert ("target", "_blank") in attrs

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> str:
    """The text of an HTML that can do nothing."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_can_do_nothing(text: str) -> None:
    read(render_markdown(text))


@pytest.mark.parametrize(
    "wrap", ["> {}", "- {}", "1. - > {}", "**{}**", "[{}](http://x.y)", "![{}](http://x.y)", "| a |\n|-|\n| {} |"]
)
def test_hostile_markdown_can_do_nothing_inside_another_construct(wrap: str) -> None:
    for text in HOSTILE:
        read(render_markdown(wrap.format(text)))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_can_do_nothing_while_it_streams(text: str) -> None:
    renderer = BlockRenderer()
    for character in text:
        for block in renderer.feed(character):
            read(block.html)
    for block in renderer.finish():
        read(block.html)


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.startswith("<") and "\n" not in text])
def test_raw_html_is_shown_as_the_text_it_is(text: str) -> None:
    assert read(render_markdown(text)).strip() in (text, text[1:-1])


def test_the_sanitiser_alone_lets_nothing_hostile_through() -> None:
    for text in HOSTILE:
        read(sanitise(text))


@pytest.mark.parametrize(
    "html",
    [
        '<a href="javascript:alert(1)">x</a>',
        '<a href="/api/x">x</a>',
        '<a class="hl primary">x</a>',
        '<input type="text" name="x" autofocus>',
        '<math><annotation-xml encoding="text/html"><img src=x onerror=alert(1)></annotation-xml></math>',
        '<math href="javascript:alert(1)"><mi xlink:href="javascript:alert(1)" style="x" class="y">x</mi></math>',
        '<pre data-lang="x" data-action="y">x</pre>',
        "<details open ontoggle=alert(1)>x</details>",
    ],
)
def test_the_sanitiser_keeps_only_what_it_knows(html: str) -> None:
    clean = sanitise(html)
    read(clean)
    assert not re.search(r"javascript|primary|autofocus|name=|action|annotation|details|/api|class=\"y", clean)


def test_a_renderer_that_produced_script_would_still_be_harmless() -> None:
    assert sanitise("<p>a<script>alert(1)</script><style>b</style></p>") == "<p>a</p>"
