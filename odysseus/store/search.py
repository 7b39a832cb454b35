"""Search over messages, names and documents, for words as they are typed: each may stand in the middle of another.

Words of three characters and more have an index of trigrams; shorter ones are looked for in the texts. Case and
accents do not count. Knows nothing of the library, whose words have an index of another kind.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from odysseus.store.db import Database
from odysseus.store.snippets import snippet_of
from odysseus.text import plain

TRIGRAM = 3
MOST_WORDS = 50

_PANES = "(SELECT session_id FROM compare_panes)"


@dataclass(frozen=True, slots=True)
class Hit:
    """One message that holds all the words. The time is in seconds since the epoch."""

    session_id: str
    message_id: str
    name: str
    snippet: str
    created_at: float


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """One document that holds all the words in its title and its newest text."""

    id: str
    title: str
    snippet: str
    updated_at: float


def words_of(query: str) -> tuple[str, ...]:
    """The different words of a query as they are compared; those past the fiftieth are not looked for."""
    return tuple(dict.fromkeys(plain(query).split()))[:MOST_WORDS]  # SQLite bounds the depth of an expression


def match_clause(words: Sequence[str]) -> tuple[str, list[str]]:
    """SQL over `messages m` that is true where every word occurs, and its parameters; without words nothing is."""
    in_text = "(SELECT text FROM message_texts WHERE number = m.number)"
    return _clause(words, "m.number IN (SELECT rowid FROM messages_index WHERE messages_index MATCH ?)", in_text)


def document_clause(words: Sequence[str]) -> tuple[str, list[str]]:
    """The same over `document_texts t`, for title and newest text together."""
    in_index = "t.number IN (SELECT rowid FROM documents_index WHERE documents_index MATCH ?)"
    return _clause(words, in_index, "(t.title || ' ' || t.text)")


def holds(words: Sequence[str], compared: str) -> tuple[str, list[str]]:
    """SQL that is true where every word occurs in the plain text `compared`, and its parameters."""
    return " AND ".join([f"{compared} GLOB ?"] * len(words)) or "0", [_pattern(word) for word in words]


async def search_messages(db: Database, query: str, session_id: str = "", limit: int = 50) -> Sequence[Hit]:
    """The newest messages that hold all words of `query`; those of comparisons have no place in it.

    With a session, those of it in their order.
    """
    words = words_of(query)
    found, parameters = _in_one(words, session_id) if session_id else _in_all(words)
    rows = await db.read(
        f"SELECT m.session_id, m.id, s.name, m.content, m.created_at {found} LIMIT ?", (*parameters, limit)
    )
    return await asyncio.to_thread(
        lambda: [Hit(row[0], row[1], row[2], snippet_of(row[3], words), row[4]) for row in rows]
    )


def _in_one(words: Sequence[str], session_id: str) -> tuple[str, list[str]]:
    clause, parameters = match_clause(words)
    found = f"""FROM messages m JOIN sessions s ON s.id = m.session_id
                WHERE s.id = ? AND {clause} AND s.id NOT IN {_PANES} ORDER BY m.position"""
    return found, [session_id, *parameters]


def _in_all(words: Sequence[str]) -> tuple[str, list[str]]:
    """Walks the index, or the texts, from the newest on: the joins are in the order that SQLite has to take."""
    clause, parameters = _clause(words, "messages_index MATCH ?", "t.text")
    first, newest = "message_texts t", "t.number"
    if any(len(word) >= TRIGRAM for word in words):
        first, newest = "messages_index i CROSS JOIN message_texts t ON t.number = i.rowid", "i.rowid"
    found = f"""FROM {first} CROSS JOIN messages m ON m.number = t.number CROSS JOIN sessions s ON s.id = m.session_id
                WHERE {clause} AND s.id NOT IN {_PANES} ORDER BY {newest} DESC"""
    return found, parameters


async def search_documents(db: Database, query: str, limit: int) -> Sequence[DocumentHit]:
    """Documents that hold all words of `query`: those with all in their title first, then the last changed."""
    words = words_of(query)
    if not words:
        return []
    clause, parameters = document_clause(words)
    named, names = holds(words, "t.title")
    rows = await db.read(
        f"""SELECT d.id, d.title, v.content, d.updated_at FROM document_texts t
            JOIN documents d ON d.id = t.document_id JOIN document_versions v ON v.document_id = d.id
            WHERE {clause} AND v.version = (SELECT max(version) FROM document_versions WHERE document_id = d.id)
            ORDER BY {named} DESC, d.updated_at DESC, d.rowid DESC LIMIT ?""",
        (*parameters, *names, limit),
    )
    return await asyncio.to_thread(
        lambda: [DocumentHit(row[0], row[1], snippet_of(row[2], words), row[3]) for row in rows]
    )


def _clause(words: Sequence[str], in_index: str, in_text: str) -> tuple[str, list[str]]:
    """`in_index` for the words that the index of trigrams can find, and a look into `in_text` for the others."""
    long = ['"' + word.replace('"', '""') + '"' for word in words if len(word) >= TRIGRAM]
    looked, patterns = holds([word for word in words if len(word) < TRIGRAM], in_text)
    clauses = [*([in_index] if long else []), *([looked] if patterns or not long else [])]
    return " AND ".join(clauses), [*([" ".join(long)] if long else []), *patterns]


def _pattern(word: str) -> str:
    """For GLOB, which is ten times as fast as `instr`."""
    return "*" + re.sub(r"[*?[]", r"[\g<0>]", word) + "*"
