"""A conversation as Markdown, to read and to keep. Knows no HTML and no files' bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from odysseus.archive import words
from odysseus.archive.conversation import stretches_of
from odysseus.store.messages import Message

_TICKS = re.compile(r"`+")


class MarkdownWriter:
    """A heading for each message, its text as it is, and in their places the calls of tools."""

    def __init__(self, name: str) -> None:
        self._name = name

    def head(self) -> str:
        return f"# {self._name or 'Chat'}\n"

    def messages(self, batch: Sequence[Message], pictures: Mapping[str, str]) -> str:
        return "".join(f"\n{part}\n" for message in batch for part in _parts(message))

    def tail(self) -> str:
        return ""


def _parts(message: Message) -> Iterator[str]:
    metadata = message.metadata
    yield f"## {words.who(message.role, metadata)}"
    if metadata.get("thinking"):
        yield "\n".join(f"> {line}".rstrip() for line in ["*Reasoning*", "", *metadata["thinking"].splitlines()])
    for text, steps in stretches_of(message):
        if text.strip():
            yield text.strip("\n")
        for step in steps:
            yield from _row(step) if "tool" in step else (f"*{words.notice(step)}*",)
    if message.role == "user" and metadata.get("attachments"):
        yield "\n".join(f"- File: {words.file_line(one)}" for one in metadata["attachments"])
    yield from _below(metadata)


def _below(metadata: Mapping[str, Any]) -> Iterator[str]:
    if metadata.get("images"):
        yield "\n".join(f"- Picture: {_line(one.get('image_prompt'))}" for one in metadata["images"])
    if sources := words.sources(metadata):
        marks = [f"{number}." if words.are_cited(metadata) else "-" for number in range(1, len(sources) + 1)]
        told = [f"[{_line(title)}](<{url}>)" if url else _line(title) for title, url in sources]
        yield "\n".join(["Sources:", "", *(f"{mark} {one}" for mark, one in zip(marks, told, strict=True))])
    if metadata.get("stopped"):
        yield "*(stopped)*"
    elif ending := words.ending(metadata):
        yield f"*{_line(ending)}*"


def _row(row: Mapping[str, Any]) -> Iterator[str]:
    state = words.row_state(row)
    yield f"**{row['tool']}**{f' ({state})' if state else ''}"
    yield _fenced(str(row.get("command", "")), "")
    if diff := (row.get("diff") or {}).get("text"):
        yield _fenced(str(diff), "diff")
    if row.get("output"):
        yield _fenced(words.plain(str(row["output"])), "")


def _fenced(text: str, language: str) -> str:
    """Code in a fence that nothing in it can close."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _line(text: Any) -> str:
    return " ".join(str(text or "").split())
