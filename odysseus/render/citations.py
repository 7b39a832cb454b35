"""Where an answer's text cites its sources by number: `[1]`, `[2][3]`, `[1, 2]`, `【1】`.

What looks so becomes `<span class="cite">[1]</span>`, whatever sources there are: blocks depend on the text alone, so a
stream, a resume and a history are alike, also when a source is told of behind the text that cites it. The page makes
buttons of those whose numbers its answer has, and leaves the others as they are. The rule stands here and not in the
page because only the parser tells code, formulas, escapes and links from text. It must not know any source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_LIST = r"[1-9][0-9]{0,2}(?:,[ ]?[1-9][0-9]{0,2}){0,9}"
_RUN = re.compile(rf"(?:\[{_LIST}\]|【{_LIST}】)+")
_ONE = re.compile(r"[\[【][^\]】]+[\]】]")

# Behind these a bracket is part of something else: an index, a reference, a footnote, an address.
_BOUND_TO = frozenset("[]^=#@&$/\\_")

_MARK = re.compile(r'<span class="cite">([^<]*)</span>')

_TAIL = 200
_HALF = re.compile(r"(?:[\[【][0-9, ]*[\]】]?)+\Z")

# Scripts without spaces between words, where a citation stands right behind a letter.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)


def without_half(text: str) -> str:
    """A growing text without a citation at its end that is half typed, or that what follows may make a link."""
    found = _HALF.search(text, max(0, len(text) - _TAIL))
    return text[: found.start()] if found else text


def unmarked(html: str) -> str:
    """Rendered HTML without the marks, for who has a way of its own with numbers."""
    return _MARK.sub(r"\1", html)


def mark_citations(state: StateCore) -> None:
    """A core rule, before texts are joined: until then an escaped bracket is a token of its own."""
    for token in state.tokens:
        if token.type == "inline" and token.children and ("]" in token.content or "】" in token.content):
            token.children = list(_marked(token.children))


def _marked(children: Sequence[Token]) -> Iterator[Token]:
    links, before = 0, "\n"
    for token in children:
        links += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "text" and not links:
            yield from _split(token, before)
        else:
            yield token
        before = _last_character(token)


def _last_character(token: Token) -> str:
    """What a text behind this token stands behind; a mark of emphasis or a link's end is like a space."""
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    return token.content[-1:] if token.type in ("text", "text_special") else " "


def _split(text: Token, before: str) -> Iterator[Token]:
    """A text with its citations between tokens of their own. `before` is the character in front of it."""
    from markdown_it.token import Token

    content, shown = text.content, 0
    for run in _RUN.finditer(content):
        first = content[run.start() - 1] if run.start() else before
        if run[0][0] == "[" and _is_bound(first, content[run.end() : run.end() + 1]):
            continue
        for one in _ONE.finditer(content, run.start(), run.end()):
            yield Token("text", "", 0, content=content[shown : one.start()])
            yield Token("cite_open", "span", 1, attrs={"class": "cite"})
            yield Token("text", "", 0, content=one[0])
            yield Token("cite_close", "span", -1)
            shown = one.end()
    yield Token("text", "", 0, content=content[shown:]) if shown else text


def _is_bound(before: str, after: str) -> bool:
    """Whether these neighbours say that a bracket cites nothing: an index, a link, a reference, a definition."""
    word = before.isalnum() and not _UNSPACED.match(before)
    return word or before in _BOUND_TO or after in {"(", "["} or (before == "\n" and after == ":")
