"""The process that turns one HTML page to Markdown, so that a page made to be slow or huge can be killed with it.

Stdin: a line of JSON with `url`, then the page in UTF-8. Stdout: one JSON object with `title`, `text`, or `missing`
when a library is not there. Runs as a script and knows nothing of the rest of the program.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin

MEMORY_BYTES = 2_000_000_000
CPU_SECONDS = 30
TEXT_LIMIT = 5_000_000
# Where trafilatura finds less than this, or less than this share of all that is on the page, it has missed the matter.
LEAST_TEXT = 250
LEAST_SHARE = 0.1
# A page with a link for each so many characters found is a list of links, which trafilatura takes for ornament.
LIST_DENSITY = 60

_UNSEEN = re.compile(
    r"(^|;)\s*(display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|opacity\s*:\s*0*\.?0*\s*(;|!|$)"
    r"|font-size\s*:\s*0*\.?0*(px|em|rem|pt|%)?\s*(;|!|$))",
    re.IGNORECASE,
)
_NO_TEXT = frozenset({"script", "style", "template", "noscript", "head", "iframe", "object", "svg", "math", "textarea"})
_BLOCK_NAMES = """
address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header
hr li main nav ol p pre section summary table tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_MARKS = {f"h{level}": "#" * level + " " for level in range(1, 7)} | {"li": "- ", "td": " | ", "th": " | "}


def main() -> None:
    """Read, convert, answer."""
    _limit()
    url = json.loads(sys.stdin.buffer.readline())["url"]
    page = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        answer = convert(page, url)
    except ImportError as error:
        answer = {"missing": str(error)}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def convert(page: str, url: str) -> dict[str, str]:
    """The title and the text of a page; both may be empty."""
    from lxml import etree, html

    if not page.strip():
        return {"title": "", "text": ""}
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(page.encode(), parser=parser)
    except etree.ParserError:
        return {"title": "", "text": ""}
    title = " ".join("".join(root.xpath("(//head/title|//body//title)[1]//text()")).split())
    drop_unseen(root)
    plain = plain_text(root, url)
    text = plain if len(plain) < LEAST_TEXT else _better(_content(root, url), plain)
    return {"title": title[:300], "text": text[:TEXT_LIMIT]}


def _content(root: Any, url: str) -> str:
    """What the page is about, without what stands around it."""
    import trafilatura

    found = trafilatura.extract(
        root, url=url, output_format="markdown", include_links=True, include_comments=False, favor_recall=True
    )
    return (found or "").strip()


def _better(found: str, plain: str) -> str:
    if len(found) < max(LEAST_TEXT, LEAST_SHARE * len(plain)):
        return plain
    return plain if plain.count("](") * LIST_DENSITY > len(found) else found


def drop_unseen(root: Any) -> None:
    """Take out what a reader of the page does not see: nobody but a model would read it."""
    for element in list(root.iter()):
        if not isinstance(element.tag, str) or element is root or element.tag == "body":
            continue
        unseen = "hidden" in element.attrib or _UNSEEN.search(element.get("style", ""))
        if unseen or element.tag in _NO_TEXT - {"head"}:
            element.drop_tree()


def plain_text(root: Any, url: str) -> str:
    """All the text of the page, block by block, with its headings, lists and links marked."""
    lines = "".join(_pieces(root, url)).split("\n")
    kept = (" ".join(line.split()) for line in lines)
    return "\n".join(line for line in kept if line and line != "-")


def _pieces(root: Any, url: str) -> Iterator[str]:
    from lxml import etree

    skipped = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        name = element.tag if isinstance(element.tag, str) else ""
        silent = name in _NO_TEXT or not name
        if event == "start":
            skipped += silent
            if not skipped:
                yield _opening(name) + (" ".join((element.text or "").split("\n")))
            continue
        skipped -= silent
        if not skipped:
            yield _closing(element, name, url) + (" ".join((element.tail or "").split("\n")))


def _opening(name: str) -> str:
    start = "\n" if name in _BLOCKS else ""
    return start + _MARKS.get(name, "[" if name == "a" else "")


def _closing(element: Any, name: str, url: str) -> str:
    if name != "a":
        return "\n" if name in _BLOCKS else ""
    with suppress(ValueError):  # an address that is none is shown as none
        target = urljoin(url, (element.get("href") or "").strip())
        if target.startswith(("http://", "https://")):
            return f"]({target})"
    return "]"


def _limit() -> None:
    """Hold the process to its memory and time, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


if __name__ == "__main__":
    main()
