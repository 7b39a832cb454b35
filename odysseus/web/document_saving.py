"""The user's edit of a document: put on its newest version, merged where others have written, or told apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from odysseus.errors import Conflict, OdysseusError
from odysseus.store.documents import CONTENT_LIMIT, Document, DocumentStore, Suggestion
from odysseus.tools.merging import Merge, merge


@dataclass(frozen=True, slots=True)
class Edit:
    """A text, and the version it was made on. `base` is the text it was made on, where that is no version's."""

    content: str
    version: int
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """The document now; `merged` says that it holds more than was sent."""

    document: Document
    merged: bool


class Clash(Exception):
    """Both have changed the same place. Nothing was stored; all texts are here."""

    def __init__(self, edit: Edit, base: str, current: Document, both: str) -> None:
        super().__init__()
        self.edit, self.base, self.current, self.both = edit, base, current, both

    def told(self) -> Mapping[str, Any]:
        """As the API tells it."""
        return {
            "error": "Someone else has changed the same place. Nothing is lost: choose which text to keep.",
            "status": 409,
            "yours": self.edit.content,
            "base": self.base,
            "current": self.current.content,
            "version": self.current.version,
            "both": self.both,
        }


class _Moved(Exception):
    """Another version came between."""


async def save(documents: DocumentStore, document_id: str, edit: Edit) -> Saved:
    """Store the edit as a version of the user's. Raises NotFound, Clash; an error with status 413 over the limit."""
    base = edit.base
    if base is None:
        base = (await documents.get(None, document_id, edit.version)).content
    while True:
        newest = await documents.get(None, document_id)
        made = await asyncio.to_thread(merge, base, edit.content, newest.content)
        if not made.clean:
            raise Clash(edit, base, newest, made.text)
        check_length(made.text, CONTENT_LIMIT)
        try:
            stored = await documents.revise(None, document_id, "user", _unless_moved(newest.version, made))
        except _Moved:
            continue
        return Saved(stored, stored.content != edit.content)


def _unless_moved(version: int, made: Merge) -> Callable[[Document], str]:
    def change(newest: Document) -> str:
        if newest.version != version:
            raise _Moved
        return made.text

    return change


def applied(document: Document, suggestion: Suggestion) -> str:
    """The text with the suggestion in it. Raises Conflict where it no longer fits, and as `check_length`."""
    times = document.content.count(suggestion.find)
    if times != 1 or document.content.find(suggestion.find) != document.content.rfind(suggestion.find):
        why = "is not in the document any more" if times == 0 else "is in the document more than once by now"
        raise Conflict(f"This suggestion does not fit: its text {why}. It stays open; change the text, or reject it.")
    return check_length(document.content.replace(suggestion.find, suggestion.replacement, 1), CONTENT_LIMIT)


def check_length(text: str, limit: int) -> str:
    """The text with line feeds only. Raises an error with status 413 over the limit."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(plain) > limit:
        raise OdysseusError(
            f"The document would have {len(plain):,} characters; the limit is {limit:,}. Make two of it.", status=413
        )
    return plain
