"""Search over the messages by the trigram index; words too short for it are looked for one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from odysseus.store.db import Database

TRIGRAM = 3
SNIPPET = 160
MOST_WORDS = 50


@dataclass(frozen=True, slots=True)
class Hit:
    """One message that holds all the words."""

    session_id: str
    message_id: str
    name: str
    snippet: str
    created_at: float


def match_clause(query: str) -> tuple[str, list[str]]:
    """SQL over `messages m` that is true where every word of `query` occurs, and its parameters.

    Words past the fiftieth are not looked for: SQLite bounds the depth of an expression.
    """
    words = list(dict.fromkeys(query.split()))[:MOST_WORDS]
    long = [word for word in words if len(word) >= TRIGRAM]
    clauses, parameters = [], []
    if long:
        clauses.append("m.number IN (SELECT rowid FROM messages_index WHERE messages_index MATCH ?)")
        parameters.append(" ".join('"' + word.replace('"', '""') + '"' for word in long))
    for word in words:
        if len(word) < TRIGRAM:
            clauses.append("instr(fold(m.content), ?) > 0")
            parameters.append(word.casefold())
    return " AND ".join(clauses) or "0", parameters


def snippet_of(content: str, query: str) -> str:
    """Up to 160 characters around the first word found, on one line."""
    lowered = content.lower()
    places = [lowered.find(word.lower()) for word in query.split()]
    start = max(0, min((place for place in places if place >= 0), default=0) - SNIPPET // 3)
    piece = " ".join(content[start : start + SNIPPET].split())
    return ("…" if start else "") + piece + ("…" if start + SNIPPET < len(content) else "")


async def search_messages(db: Database, query: str, session_id: str = "", limit: int = 50) -> Sequence[Hit]:
    """The newest messages that hold all words of `query`; those of comparisons have no place in it.

    With a session, those of it in their order.
    """
    clause, parameters = match_clause(query)
    order = "m.number DESC"
    if session_id:
        clause, parameters, order = f"m.session_id = ? AND {clause}", [session_id, *parameters], "m.position"
    rows = await db.read(
        f"""SELECT m.session_id, m.id, s.name, m.content, m.created_at FROM messages m
            JOIN sessions s ON s.id = m.session_id
            WHERE {clause} AND s.id NOT IN (SELECT session_id FROM compare_panes) ORDER BY {order} LIMIT ?""",
        (*parameters, limit),
    )
    return [Hit(row[0], row[1], row[2], snippet_of(row[3], query), row[4]) for row in rows]
