"""Passages of the user's library for one prompt. Knows no index: the passages come found and ranked."""

from __future__ import annotations

from collections.abc import Sequence

from odysseus.context.budget import estimate_tokens
from odysseus.context.given import Given, as_data
from odysseus.events import PassagesUsed
from odysseus.retrieval.index import Passage

TOKENS = 2_000
"""The usual budget of all of them together."""
_TITLE = "Passages from the user's library"
_LABEL_MOST = 300


def given(passages: Sequence[Passage], tokens: int = TOKENS, first: int = 1) -> Given:
    """The passages that a model is given, best first, within so many tokens; nothing when there are none.

    Their numbers begin with `first`. The event tells of those that are in the text, and of no others.
    """
    used: list[Passage] = []
    left = tokens
    for passage in passages:
        cost = estimate_tokens(_shown(first + len(used), passage))
        if cost <= left:
            used.append(passage)
            left -= cost
    if not used:
        return Given()
    text = as_data(_TITLE, "\n\n".join(_shown(number, passage) for number, passage in enumerate(used, first)))
    return Given(text, [PassagesUsed([_row(passage) for passage in used])])


def _shown(number: int, passage: Passage) -> str:
    """A passage below a line that says where it is from."""
    where = [passage.filename, f"page {passage.page}" if passage.page else "", passage.heading]
    label = " ".join(", ".join(part for part in where if part).split())
    return f"[{number}] {label[:_LABEL_MOST]}\n{passage.text}"


def _row(passage: Passage) -> dict[str, object]:
    row = {
        "doc_id": passage.doc_id,
        "filename": passage.filename,
        "snippet": passage.snippet,
        "similarity": passage.similarity,
    }
    return row | ({"page": passage.page} if passage.page else {})
