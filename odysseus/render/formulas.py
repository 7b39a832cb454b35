"""LaTeX source to MathML.

It knows nothing of Markdown. Its output is well-formed, but only the sanitiser makes it safe.
"""

import re
from functools import lru_cache
from html import escape, unescape

MAX_SOURCE = 4_000
"""Characters; a longer formula is shown as its source."""

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
        # The converter leaves character references in its texts. Its own writer resolves them by unescaping the whole
        # output, which would turn `<` in a formula into markup.
        for element in root.iter():
            element.text = unescape(element.text or "")
        return tostring(root, encoding="unicode")
    except _reading_errors():
        return None


@lru_cache(maxsize=1)
def _reading_errors() -> tuple[type[Exception], ...]:
    """What the converter raises for LaTeX it cannot read: errors of its own without a common base, and these."""
    from latex2mathml import exceptions

    own = [kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return (*own, LookupError, ValueError, TypeError, AttributeError, RuntimeError, StopIteration)
