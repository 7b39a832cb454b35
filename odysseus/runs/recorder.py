"""What a finished run leaves in the store: its record and its answer; or, incognito, only a memory of the words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from odysseus.clock import Clock
from odysseus.context.turns import Turn
from odysseus.providers.base import ChatMessage
from odysseus.runs.history import answer_messages
from odysseus.runs.record import Ending, message_metadata
from odysseus.runs.run import Run
from odysseus.runs.trace import given_of, metadata_of
from odysseus.store.messages import Message, new_message_id
from odysseus.store.runs import RunStore


class StoreRecorder:
    """Commits the record and the answer in one transaction."""

    def __init__(self, store: RunStore, clock: Clock, message_id: str = "") -> None:
        self._store = store
        self._clock = clock
        self._message_id = message_id

    def answer_id(self, run: Run, ending: Ending) -> str | None:
        """A stopped turn keeps its place even when empty, so that question and answer stay in turn."""
        unanswered = ending.status in {"failed", "interrupted"} and not run.draft.has_output
        return None if run.discarded or unanswered else self._message_id or new_message_id()

    async def save(self, run: Run, record: Mapping[str, Any]) -> None:
        if run.discarded:
            return
        message_id = record["message_id"]
        answer = self._answer(run, record, message_id) if message_id else None
        await self._store.finish(record, answer, given_of(run.draft.steps))

    def _answer(self, run: Run, record: Mapping[str, Any], message_id: str) -> Message:
        metadata = message_metadata(record, run.draft.thinking, run.draft.steps, run.draft.fallback)
        return Message(
            message_id, run.identity.session_id, 0, "assistant", run.draft.text, metadata, self._clock.wall()
        )


class IncognitoRecorder:
    """Writes nothing. What was said is remembered for the next incognito turn, as long as the process lives."""

    def __init__(self, remembered: list[Turn]) -> None:
        self._remembered = remembered

    def answer_id(self, run: Run, ending: Ending) -> str | None:
        return None

    async def save(self, run: Run, record: Mapping[str, Any]) -> None:
        if not run.discarded:
            answer = tuple(answer_messages(run.draft.text, metadata_of(run.draft.steps)))
            if run.query:
                self._remembered.append(_asked(run, answer))
            else:
                last = self._remembered.pop() if self._remembered else Turn()
                self._remembered.append(replace(last, answer=(*last.answer, *answer)))


def _asked(run: Run, answer: tuple[ChatMessage, ...]) -> Turn:
    given = given_of(run.draft.steps)
    outside = bool(given.get("given_outside", True))
    return Turn(ChatMessage("user", run.query), given.get("given", ""), answer, from_outside=outside)
