"""Where a turn stands among a session's messages: found before it begins, taken by its question and by its answer.

Knows the tree and the messages, no run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from odysseus.errors import BadRequest, NotFound
from odysseus.store import tree
from odysseus.store.db import Connection, Database
from odysseus.store.messages import NO_MESSAGE, Message, append_message


@dataclass(frozen=True, slots=True)
class Place:
    """Behind what is shown, behind the message `behind`, or first in its session when that is empty.

    `again` is a question that is answered once more; then `behind` is what stands before it.
    """

    behind: str | None = None
    again: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A stored question: its text, what it says of its files, and the message before it, empty for none."""

    id: str
    behind: str
    text: str
    files: tuple[Mapping[str, Any], ...]


async def find_question(db: Database, session_id: str, message_id: str) -> Question:
    """The question that this message is or answers. Raises NotFound, BadRequest when it was deleted."""
    row = await db.read_one(
        f"""{tree.PATH} SELECT m.id, m.parent_id, m.content, m.metadata FROM path JOIN messages m USING (number)
            WHERE m.role = 'user' ORDER BY m.position DESC LIMIT 1""",
        {"session": session_id, "leaf": message_id},
    )
    if row:
        files = orjson.loads(row[3]).get("attachments", ())
        return Question(row[0], row[1] or "", row[2], tuple(files))
    await check_message(db, session_id, message_id)
    raise BadRequest("The question of this answer was deleted, so it cannot be answered again.")


async def check_message(db: Database, session_id: str, message_id: str) -> None:
    """Raises NotFound when the session has no such message."""
    if not await db.read_one("SELECT 1 FROM messages WHERE session_id = ? AND id = ?", (session_id, message_id)):
        raise NotFound(NO_MESSAGE)


def go_to(db: Connection, session_id: str, place: Place) -> None:
    """Show the path down to where the turn stands, within a transaction. Raises NotFound."""
    leaf = place.again or place.behind
    if leaf is None:
        return
    if leaf and not tree.exists(db, session_id, leaf):
        raise NotFound(NO_MESSAGE)
    tree.show(db, session_id, leaf or None)
    if place.again:  # why it had no answer; a run that brings none either says so anew
        db.execute(
            """UPDATE messages SET metadata = json_remove(metadata, '$.status', '$.stop_reason', '$.failure')
               WHERE id = ? AND json_type(metadata, '$.status') IS NOT NULL""",
            (place.again,),
        )


def put_answer(db: Connection, answer: Message, parent_id: str | None) -> None:
    """Store an answer behind this message, or at the end of what is shown when that is gone."""
    there = parent_id and tree.exists(db, answer.session_id, parent_id)
    append_message(db, replace(answer, parent_id=parent_id if there else None))


def go_back(db: Connection, session_id: str, question_id: str | None, left: str) -> None:
    """Show what was shown before a question was asked again in vain, if nothing was said since."""
    if question_id == tree.tip(db, session_id):
        tree.show(db, session_id, left if tree.exists(db, session_id, left) else question_id)
        tree.settle(db, session_id)
