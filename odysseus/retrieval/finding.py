"""Files of the library by words as they are typed: by their names, and by their text, where the last word may go on.

Nothing is ranked and no model is asked: the questions of answers go another way (`index.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from odysseus.retrieval.words import typed
from odysseus.store.library_index import FileHit, LibraryIndex
from odysseus.store.search import MOST_WORDS, words_of
from odysseus.store.snippets import snippet_of

SHORTEST_BEGINNING = 2
"""Too many words begin with one letter; it is looked for as a word."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a source. `path` is below the source, or its name; without a snippet only that has the words."""

    document_id: str
    source_id: str
    source_name: str
    path: str
    snippet: str
    heading: str
    page: int | None


async def find_files(index: LibraryIndex, query: str, limit: int) -> Sequence[FoundFile]:
    """Files that hold all words of `query` in their names, then those that do in one passage."""
    words = words_of(query)
    if not words:
        return []
    named = await index.files_called(words, limit)
    match = await asyncio.to_thread(match_of, query)
    texts = await index.files_with(match, limit) if match else []
    own = {one.document_id: one for one in texts}
    hits = {one.document_id: own.get(one.document_id, one) for one in (*named, *texts)}
    return await asyncio.to_thread(lambda: [_found(one, words) for one in list(hits.values())[:limit]])


def match_of(query: str) -> str:
    """The expression for the index of words; empty when a word of the query has no letters and so is not in it."""
    words = typed(query)[:MOST_WORDS]
    if not words or not all(words):
        return ""
    phrases = ['"' + " ".join(terms) + '"' for terms in words]
    return " AND ".join(phrases) + (" *" if len(words[-1][-1]) >= SHORTEST_BEGINNING else "")


def _found(one: FileHit, words: Sequence[str]) -> FoundFile:
    snippet = snippet_of(one.text, words) if one.text else ""
    return FoundFile(
        one.document_id, one.source_id, one.source_name, one.path or one.name, snippet, one.heading, one.page
    )
