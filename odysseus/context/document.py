"""The document that the user has open beside the chat, as the model is given it. Knows no store."""

from __future__ import annotations

from odysseus.context.cutting import head_and_tail
from odysseus.context.given import Given, as_data
from odysseus.events import DocumentUpdated

TOKENS = 12_000
"""The usual budget of its text."""
TITLE = "The user's open document"


def given(document: DocumentUpdated, tokens: int = TOKENS) -> Given:
    """The document under its title, its text or the beginning and end of it within so many tokens.

    It is the user's own text, not one from outside.
    """
    text = head_and_tail(document.content, tokens)
    head = [
        f"Title: {document.title}",
        f"Id: {document.doc_id}, language: {document.language or 'text'}, version: {document.version}",
    ]
    if text != document.content:
        head.append(f"Note: this is a part; the whole has {len(document.content):,} characters.")
    body = "\n".join([*head, "", text or "It is empty."])
    return Given(as_data(TITLE, body), [document], outside=False)
