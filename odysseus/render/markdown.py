"""Markdown source to safe HTML: the one parser of the program, and the allow-list every piece of HTML passes last.

It knows nothing of streams, messages or pages. Heavy libraries are imported with the first text, not before.
Each thread has a parser of its own; the sanitiser is shared, because it holds no state.
"""

import re
import threading
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from odysseus.render.citations import mark_citations
from odysseus.render.formulas import math_html
from odysseus.render.highlight import code_html

if TYPE_CHECKING:
    import nh3
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

References = MutableMapping[str, Any]
"""Link definitions by normalised label. The first definition of a label wins."""

MAX_NESTING = 100
"""Levels of quotes, list items and brackets. What lies deeper is left out."""

MAX_BRACKETS = 300
"""Opening brackets in one paragraph; one with more stays plain, since looking for their ends takes quadratic time."""

_ALLOWED_LINK = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x1f]", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\][ \t\n]+")
_INLINE_MATH = re.compile(
    r"\$\$(?P<display>(?:[^$\\]|\\.)+)\$\$"
    r"|(?<![A-Za-z0-9$])\$(?![\s$])(?P<inline>(?:[^$\\]|\\.)+)(?<!\s)\$(?![0-9])",
    re.DOTALL,
)
# The way many models write formulas. In CommonMark these are escaped brackets, which hardly ever come in such pairs.
_BRACKET_MATH = re.compile(
    r"\\\((?P<inline>(?:[^\\]|\\[^()])+)\\\)"
    r"|\\\[(?P<display>(?:[^\\]|\\[^\[\]])+)\\\](?=[ \t]*[.,;]?[ \t]*(?:\n|$))",
)


@dataclass(frozen=True, slots=True)
class Span:
    """One top-level block of a source: its Markdown-it type, the offset of its end, whether later text may alter it."""

    kind: str
    end: int
    closed: bool


def outline(source: str) -> list[Span]:
    """The top-level blocks of complete lines (`\\n` only). A span starts where the one before it ends."""
    tokens: list[Token] = []
    parser = _parser()
    parser.block.parse(source, parser, {}, tokens)
    lines = source.split("\n")
    ends = list(accumulate((len(line) + 1 for line in lines), initial=0))
    tops = [(token, token.map) for token in tokens if token.level == 0 and token.map]
    return [Span(top.type, min(ends[rows[1]], len(source)), _is_closed(top, rows, lines)) for top, rows in tops]


def to_html(source: str, references: References | None = None, *, unfinished: bool = False) -> str:
    """Safe HTML of one block or more. Adds the definitions in `source` to `references`.

    `unfinished` says that the source still grows: long code is then not coloured to its end.
    """
    parser = _parser()
    env = {"references": {} if references is None else references, "unfinished": unfinished}
    return sanitise(parser.render(source, env)).rstrip("\n")


def sanitise(html: str) -> str:
    """Only the elements, attributes and URL schemes the renderer may produce. Everything else goes."""
    return _cleaner().clean(html)


def _is_closed(token: "Token", rows: Sequence[int], lines: Sequence[str]) -> bool:
    """Whether no line after the block can change it. `rows` are its first line and the one after its last."""
    start, end = rows
    if token.type in ("heading_open", "hr"):
        return True
    if token.type == "fence":
        return end - start == token.content.count("\n") + 2
    ended_by_blank = end < len(lines) - 1 and not lines[end].strip(" \t")
    return ended_by_blank and token.type not in ("bullet_list_open", "ordered_list_open", "code_block")


_local = threading.local()


def _parser() -> "MarkdownIt":
    parser: MarkdownIt | None = getattr(_local, "parser", None)
    if parser is None:
        parser = _local.parser = _new_parser()
    return parser


def _new_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING, "linkify": True})
    parser.enable(["table", "strikethrough", "linkify"])
    assert parser.linkify
    # Only what is written as an address: `server.py` and `a@b` are no links.
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False})
    parser.validateLink = lambda url: bool(_ALLOWED_LINK.match(url))  # type: ignore[method-assign]
    dollarmath_plugin(parser, allow_labels=False, allow_blank_lines=False, double_inline=True)
    # The plugin's inline rule takes amounts of money for formulas.
    parser.inline.ruler.at("math_inline", _inline_math)
    parser.inline.ruler.before("escape", "bracket_math", _bracket_math)
    parser.core.ruler.at("inline", _parse_inline)
    parser.core.ruler.before("text_join", "citations", mark_citations)
    parser.core.ruler.push("odysseus", _adapt)
    for name, rule in _RULES.items():
        parser.add_render_rule(name, rule)
    return parser


def _parse_inline(state: "StateCore") -> None:
    from markdown_it.token import Token

    for token in state.tokens:
        if token.type == "inline":
            token.children = []
            if token.content.count("[") > MAX_BRACKETS:
                token.children.append(Token("text", "", 0, content=token.content))
            else:
                state.md.inline.parse(token.content, state.md, state.env, token.children)


def _inline_math(state: "StateInline", silent: bool) -> bool:
    return _take_math(state, _INLINE_MATH.match(state.src, state.pos, state.posMax), silent=silent)


def _bracket_math(state: "StateInline", silent: bool) -> bool:
    found = _BRACKET_MATH.match(state.src, state.pos, state.posMax)
    if found and found["display"] and state.src[: state.pos].rpartition("\n")[2].strip():
        return False  # a formula of its own begins its line
    return _take_math(state, found, silent=silent)


def _take_math(state: "StateInline", found: "re.Match[str] | None", *, silent: bool) -> bool:
    if not found:
        return False
    if not silent:
        display = found["display"] is not None
        token = state.push("math_inline_double" if display else "math_inline", "math", 0)
        token.content = found["display"] if display else found["inline"]
    state.pos = found.end()
    return True


def _adapt(state: "StateCore") -> None:
    """Adapt the tokens to the page: task lists, no inline style, no image that loads by itself."""
    lists: list[Token] = []
    for i, token in enumerate(state.tokens):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            lists.append(token)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif token.type in ("th_open", "td_open") and "style" in token.attrs:
            token.attrs = {"align": str(token.attrs["style"]).removeprefix("text-align:")}
        elif token.type == "inline" and token.children:
            if i > 1 and state.tokens[i - 2].type == "list_item_open" and _mark_task(token):
                state.tokens[i - 2].attrSet("class", "task-list-item")
                lists[-1].attrSet("class", "contains-task-list")
            token.children = _without_images(token.children)


def _mark_task(inline: "Token") -> bool:
    """Turn a leading `[ ]` or `[x]` into a checkbox."""
    from markdown_it.token import Token

    assert inline.children
    first = inline.children[0]
    mark = _TASK.match(inline.content)
    if not mark or first.type != "text" or not first.content.startswith(mark[0].rstrip()):
        return False
    first.content = first.content[3:]
    inline.children.insert(0, Token("task_mark", "input", 0, meta={"done": mark[1] != " "}))
    return True


def _without_images(children: "Sequence[Token]") -> "list[Token]":
    """Show each image as a link to it, or as its text when it is inside a link."""
    out: list[Token] = []
    depth = 0
    for token in children:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        out.extend(_image_link(token, linked=depth > 0) if token.type == "image" else [token])
    return out


def _image_link(image: "Token", *, linked: bool) -> "list[Token]":
    from markdown_it.token import Token

    parser = _parser()
    address = str(image.attrs.get("src", ""))
    text = parser.renderer.renderInlineAsText(image.children, parser.options, {})  # type: ignore[attr-defined]
    label = Token("text", "", 0, content=text or address)
    if linked:
        return [label]
    attrs = {"href": address, "class": "remote-image"} | (
        {"title": title} if (title := image.attrs.get("title")) else {}
    )
    return [Token("link_open", "a", 1, attrs=attrs), label, Token("link_close", "a", -1)]


def _render_code(_: "RendererHTML", tokens: "Sequence[Token]", idx: int, options: Any, env: Any) -> str:
    return code_html(tokens[idx].content, tokens[idx].info, unfinished=env["unfinished"])


def _render_inline_math(_: "RendererHTML", tokens: "Sequence[Token]", idx: int, options: Any, env: Any) -> str:
    return math_html(tokens[idx].content, display=tokens[idx].type != "math_inline")


def _render_block_math(_: "RendererHTML", tokens: "Sequence[Token]", idx: int, options: Any, env: Any) -> str:
    return f"<p>{math_html(tokens[idx].content, display=True)}</p>\n"


def _render_task_mark(_: "RendererHTML", tokens: "Sequence[Token]", idx: int, options: Any, env: Any) -> str:
    done = tokens[idx].meta["done"]
    return f'<input type="checkbox" aria-label="{"Done" if done else "To do"}" disabled{" checked" if done else ""}>'


_RULES = {
    "fence": _render_code,
    "code_block": _render_code,
    "math_inline": _render_inline_math,
    "math_inline_double": _render_inline_math,
    "math_block": _render_block_math,
    "task_mark": _render_task_mark,
}

_PROSE = "p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote em strong s a code pre span input table thead tbody tr th td"
_MATHML = (
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mmultiscripts "
    "mprescripts none mtable mtr mtd mpadded mphantom mstyle menclose merror"
)
_MATH_ATTRIBUTES = (
    "accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form height largeop "
    "linethickness lspace mathcolor mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace "
    "scriptlevel separator stretchy symmetric voffset width"
)


@lru_cache(maxsize=1)
def _cleaner() -> "nh3.Cleaner":
    import nh3
    from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]

    maths = set(_MATHML.split())
    attributes = {name: set(_MATH_ATTRIBUTES.split()) for name in maths} | {
        "a": {"href", "title"},
        "ol": {"start"},
        "input": {"type", "disabled", "checked", "aria-label"},
        "pre": {"data-lang"},
        "th": {"align"},
        "td": {"align"},
    }
    return nh3.Cleaner(
        tags=set(_PROSE.split()) | maths,
        clean_content_tags={"script", "style"},
        attributes=attributes,
        allowed_classes={
            "a": {"remote-image"},
            "pre": {"hl"},
            "span": {"cite", *(name for name in STANDARD_TYPES.values() if name)},
            "ul": {"contains-task-list"},
            "ol": {"contains-task-list"},
            "li": {"task-list-item"},
        },
        set_tag_attribute_values={"a": {"target": "_blank"}, "input": {"type": "checkbox", "disabled": ""}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
    )
