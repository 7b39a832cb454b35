"""A conversation as JSON, to be read by programs and taken in again. Knows the format, no files' bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from odysseus.archive.conversation import FORMAT, VERSION, Since, exported
from odysseus.store.messages import Message


class JsonWriter:
    """One object with the session, its messages and its files; a message stands on a line of its own.

    The messages are those of all branches; `shown` are the ids of one of them.
    """

    def __init__(self, session: Mapping[str, Any], exported_at: str, since: Since, shown: frozenset[str]) -> None:
        self._shown = shown
        self._session = session
        self._exported_at = exported_at
        self._since = since
        self._begun = False

    def head(self) -> str:
        given = {"format": FORMAT, "version": VERSION, "exported_at": self._exported_at, "session": self._session}
        return orjson.dumps(given).decode()[:-1] + ',\n"messages": ['

    def messages(self, batch: Sequence[Message], pictures: Mapping[str, str]) -> str:
        lines = [orjson.dumps(self._entry(message)).decode() for message in batch]
        before = ",\n" if self._begun else "\n"
        self._begun = self._begun or bool(lines)
        return before + ",\n".join(lines) if lines else ""

    def _entry(self, message: Message) -> Mapping[str, Any]:
        return {**exported(message, self._since), "shown": message.id in self._shown}

    def tail(self) -> str:
        return '\n],\n"files": ['


def file_entry(entry: Mapping[str, Any], *, first: bool) -> str:
    """A file's entry in the list that the tail opens."""
    return ("\n" if first else ",\n") + orjson.dumps(entry).decode()


END = "\n]}\n"
