"""Source code to coloured HTML, as Pygments classes for static/css/highlight.css.

It knows nothing of Markdown. One lock guards Pygments, because a lexer builds its tables on first use.
"""

import re
import threading
from functools import lru_cache
from html import escape

MAX_COLOURED = 64_000
"""Characters of one finished code block that are coloured; the rest of it is plain."""

MAX_COLOURED_OPEN = 8_000
"""The same for a block that still grows. It is coloured as a whole once, when it is finished."""

_LABEL = re.compile(r"[\w+#.-]{1,32}")
_lock = threading.Lock()


def code_html(code: str, info: str, *, unfinished: bool = False) -> str:
    """`<pre class="hl">` with the code. `info` is the fence's info string; its first word names the language."""
    label = _label(info)
    head, tail = _split(code, MAX_COLOURED_OPEN if unfinished else MAX_COLOURED)
    name = label.lower()
    coloured = _coloured(head, name) if name in _known_languages() else escape(head)
    data = f' data-lang="{escape(label)}"' if label else ""
    return f'<pre class="hl"{data}><code>{coloured}{escape(tail)}</code></pre>\n'


def _label(info: str) -> str:
    words = info.split(maxsplit=1)
    return words[0] if words and _LABEL.fullmatch(words[0]) else ""


def _split(code: str, limit: int) -> tuple[str, str]:
    """Cut at the last line end before `limit`, so that a growing block keeps the same head."""
    cut = len(code) if len(code) <= limit else code.rfind("\n", 0, limit) + 1
    return code[:cut], code[cut:]


@lru_cache(maxsize=1)
def _known_languages() -> frozenset[str]:
    from pygments.lexers import get_all_lexers  # type: ignore[import-untyped]

    return frozenset(alias.lower() for _, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases)


@lru_cache(maxsize=64)
def _coloured(code: str, language: str) -> str:
    with _lock:  # these modules replace themselves while they are imported, which a second thread must not meet
        from pygments import highlight  # type: ignore[import-untyped]
        from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
        from pygments.lexers import get_lexer_by_name

        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
        return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))
