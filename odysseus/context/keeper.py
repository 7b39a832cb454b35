"""Keeps conversations within a model's window: reads what is needed of a session, has it summarised, fits the rest.

Knows the stores and providers' values, no run: who runs says how turns are read from messages and how a model is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from odysseus.context.budget import MESSAGE_OVERHEAD
from odysseus.context.compaction import Compactor, Past, Writer
from odysseus.context.counting import Counter, TokenCache
from odysseus.context.turns import Prompt, Turn
from odysseus.context.window import MANY, Fit, Window, tool_text
from odysseus.events import Compacted, Event
from odysseus.providers.base import ToolSpec
from odysseus.providers.fallback import Candidate
from odysseus.store.messages import Message, MessageStore
from odysseus.store.summaries import SummaryStore

TurnsOf = Callable[[Sequence[Message]], tuple[Turn, ...]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A run's window with its first request in it. `events` tell what was done for it: at most one.

    `outside` says whether text from outside has ever been in the conversation, as far as it is known.
    """

    window: Window
    fit: Fit
    events: Sequence[Event]
    outside: bool


class Keeper:
    """One for the server. Owns the cache of token figures."""

    def __init__(self, messages: MessageStore, summaries: SummaryStore, turns_of: TurnsOf) -> None:
        self._messages = messages
        self._summaries = summaries
        self._turns_of = turns_of
        self._cache = TokenCache()
        self._compactor = Compactor(summaries)

    async def past(self, session_id: str, behind: str | None = None) -> Past:
        """What a session's next prompt is made of: its last summary, and the turns after it.

        Of what is shown, or of the path down to the message `behind`; of nothing when that is empty.
        """
        if behind == "":
            return Past(session_id)
        summary = await self._summaries.last(session_id, behind)
        messages = await self._messages.since(session_id, summary.upto if summary else -1, behind)
        if len(messages) > MANY:
            turns = await asyncio.to_thread(self._turns_of, messages)
        else:
            turns = self._turns_of(messages)
        return Past(session_id, summary, messages, turns)

    def counter(self, candidate: Candidate) -> Counter:
        """Counts for the model of a candidate."""

        async def count(texts: Sequence[str]) -> Sequence[int] | None:
            return await candidate.provider.count(candidate.model, texts)

        return Counter(self._cache, f"{candidate.endpoint_id}/{candidate.model}", count, tools=candidate.shows_tools)

    async def open(
        self, past: Past, new: Sequence[Turn], system: str, tools: Sequence[ToolSpec], writer: Writer, *, compact: bool
    ) -> Opened:
        """The window of a run that answers the last turn: of `new`, which are not stored yet, else of the past.

        `compact` allows a summary to be made and stored.
        """
        turns = (*past.turns, *new) or (Turn(),)
        older, last = replace(past, turns=turns[:-1]), turns[-1]
        compacted: Compacted | None = None
        if compact:
            fixed = await _fixed(system, tools, writer.counter)
            older, compacted = await self._compactor.compact(older, fixed, last, writer)
        summary = older.summary.text if older.summary else ""
        window = Window(Prompt(system, (*older.turns, last), tuple(tools), summary), writer.room, writer.counter)
        fit = await window.fit()
        told = compacted or fit.trimmed
        return Opened(window, fit, [told] if told else [], replace(past, turns=turns).outside)


async def _fixed(system: str, tools: Sequence[ToolSpec], counter: Counter) -> int:
    texts = [system, *map(tool_text, tools if counter.tools else ())]
    counts = await counter.estimated(texts)
    return sum(counts(text) + MESSAGE_OVERHEAD for text in texts)
