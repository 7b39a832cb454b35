"""LaTeX source to MathML.

It knows nothing of Markdown. Its output is well-formed, but only the sanitiser makes it safe.
"""

import re
from functools import lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_SOURCE = 4_000
"""Characters; a longer formula is shown as its source."""

MAX_DEPTH = 100
"""Levels of elements; a deeper formula is shown as its source, well before the converter runs out of stack."""

_CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}

# Macros can grow without bound, and the rest would set styles, classes and links: none belongs in an answer.
_REFUSED = re.compile(r"\\(?:re)?new(?:command|environment)|\\(?:def|DeclareMathOperator|class|style|href)(?![a-zA-Z])")


@lru_cache(maxsize=256)
def math_html(source: str, *, display: bool) -> str:
    """One formula as a `<math>` element, or as its source in `<code>` when it cannot be read."""
    source = source.strip()
    markup = None if len(source) > MAX_SOURCE or _REFUSED.search(source) else _mathml(source, display)
    return markup or f"<code>{escape(source)}</code>"


def _mathml(source: str, display: bool) -> str | None:
    from xml.etree.ElementTree import tostring

    from latex2mathml.converter import Converter

    try:
        root = Converter(display="block" if display else "inline").convert_to_element(source)
    except _reading_errors():
        return None
    if not _is_sound(root):
        return None
    # The converter leaves character references in its texts. Its own writer resolves them by unescaping the whole
    # output, which would turn `<` in a formula into markup.
    for element in root.iter():
        element.text = unescape(element.text or "")
    return tostring(root, encoding="unicode")


def _is_sound(root: "Element") -> bool:
    """Whether no element lacks a part and the tree is not too deep."""
    level = [root]
    for _ in range(MAX_DEPTH):
        if any(len(element) != _CHILDREN.get(element.tag, len(element)) for element in level):
            return False
        level = [child for element in level for child in element]
    return not level


@lru_cache(maxsize=1)
def _reading_errors() -> tuple[type[Exception], ...]:
    """What the converter raises for LaTeX it cannot read: errors of its own without a common base, and these."""
    from latex2mathml import exceptions

    own = [kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return (*own, LookupError, ValueError, TypeError, AttributeError, RuntimeError, StopIteration)
