"""The tool that reads one address of the web; `read_page` is the same without a tool around it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from odysseus.config import WebConfig
from odysseus.text import clipped
from odysseus.tools.addresses import PublicResolver
from odysseus.tools.base import Arguments, Tool, ToolContext, ToolError, ToolResult, make_tool, one_line
from odysseus.tools.cited import Row
from odysseus.tools.web_client import MakeResolver, fetch
from odysseus.tools.web_text import READING_SECONDS, Page, read_text

# With the head above it, an answer stays within what a tool may say.
PIECE = 12_000
AT_ONCE = 2
TITLE = 200
SNIPPET = 300


@dataclass(frozen=True, slots=True)
class WebPage:
    """What could be read at an address; `url` is where it led, `title` one line or empty."""

    url: str
    title: str
    text: str


async def read_page(url: str, config: WebConfig, make_resolver: MakeResolver = PublicResolver) -> WebPage:
    """The page at an address. Raises ToolError, which tells nothing of an inner host."""
    found = await fetch(url, config, make_resolver)
    page = await read_text(found.url, found.content_type, found.charset, found.body)
    return WebPage(found.url, page.title, page.text)


class FetchArguments(Arguments, frozen=True):
    """What web_fetch takes."""

    url: Annotated[str, Meta(description="The full address, with http:// or https://.")]
    offset: Annotated[int, Meta(ge=0, description="The character to read on from; 0 is the start.")] = 0


def fetch_tools(config: WebConfig, make_resolver: MakeResolver = PublicResolver) -> Sequence[Tool]:
    """The tool `web_fetch`."""
    reading = asyncio.Semaphore(AT_ONCE)

    async def run(given: FetchArguments, context: ToolContext) -> ToolResult:
        context.progress("Fetching the page", "")
        found = await fetch(given.url, config, make_resolver)
        context.progress("Reading the page", "")
        async with reading:
            page = await read_text(found.url, found.content_type, found.charset, found.body)
        source = context.sources.add(found.url, _short(page.title, TITLE) or found.url, _short(page.text, SNIPPET))
        return ToolResult(_show(page, source, given.offset), extras={"sources": [source]})

    return [
        make_tool(
            "web_fetch",
            "Read a web page, text or JSON file at an address. Put its [n] behind what it says.",
            FetchArguments,
            run,
            ("network",),
            sends=lambda given, seen: not seen(given.url),
            seconds=config.fetch_seconds + 2 * READING_SECONDS,
            outside=True,
        )
    ]


def _short(text: str, limit: int) -> str:
    """The beginning of a text, on one line."""
    return clipped(one_line(text[: 2 * limit]), limit)


def _show(page: Page, source: Row, offset: int) -> str:
    """The head, which says what this is and how to read on, and the piece of text."""
    size = len(page.text)
    if not page.text:
        raise ToolError("The page holds no text that can be read. It may be made by scripts or of pictures.")
    if offset >= size:
        raise ToolError(f"The text has only {size} characters, so there is nothing at offset {offset}.")
    end = min(offset + PIECE, size)
    head = [f"Title: {page.title}"] if page.title else []
    head += [f"Address: {source['url']}", f"Source: [{source['number']}]"]
    if offset or end < size:
        more = f" To read on, call web_fetch with offset {end}." if end < size else " This is the end."
        head.append(f"Characters {offset} to {end} of {size}.{more}")
    return "\n".join(head) + "\n\n" + page.text[offset:end]
