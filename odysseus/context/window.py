"""A conversation in a model's window: what of it is sent, for the first request of a run and for each one after it.

Knows no store and no run. Compaction, which asks a model, comes before; here it is only decided what leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from odysseus.context.budget import MESSAGE_OVERHEAD, Room
from odysseus.context.builder import prompt_of
from odysseus.context.counting import Counter, Counts
from odysseus.context.trimming import Part, Trimmer, message_texts
from odysseus.context.turns import Prompt, summary_text, with_given
from odysseus.events import ContextTrimmed
from odysseus.providers.base import ChatMessage, ToolSpec

MANY = 400
"""Messages that are looked at without a thread: a few milliseconds."""
COUNTED_FROM = 0.4
"""How full a window must be by the estimate before its tokenizer is asked."""
_NOTE_TOKENS = 60
_TOOL_OVERHEAD = 12


@dataclass(frozen=True, slots=True)
class Fit:
    """The messages of a request. `trimmed` tells of what has left, if that is new; `tokens` are those of the prompt."""

    messages: tuple[ChatMessage, ...]
    trimmed: ContextTrimmed | None
    tokens: int
    estimated: bool


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a prompt's tokens come from."""

    system: int
    tools: int
    summary: int
    history: int
    given: int
    tool_results: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.system + self.tools + self.summary + self.history + self.given + self.tool_results


class Window:
    """One run's prompt. `fit` is called before each request; it is cheap when nothing has to leave.

    `counted_from` is how full the window must be before the model's tokenizer is asked; 0 asks it always.
    """

    def __init__(self, prompt: Prompt, room: Room, counter: Counter, counted_from: float = COUNTED_FROM) -> None:
        self._counted_from = counted_from
        self._prompt = prompt
        self._room = room
        self._counter = counter
        self._messages = list(_flat(prompt))
        self._last_turn = max(0, len(prompt.turns) - 1)
        self._counts = Counts({}, exact=False)
        self._asks = True
        self._estimate = 0
        self._counted = 0
        self._trimmer: Trimmer | None = None
        self._fed = 0
        self._before = self._sent = self._steps = 0

    async def fit(self, messages: Sequence[ChatMessage] | None = None) -> Fit:
        """The messages to send now. Later calls give all that the loop holds: those of the first call, and what came
        after them."""
        if messages is not None and self._trimmer is not None:
            known = len(self._messages) - self._before + self._sent
            self._messages += [(message, "", self._last_turn) for message in messages[known:]]
        trimmer = await self._fed_trimmer()
        trimmer.ask()
        fitted = self._told(trimmer)
        first = self._sent == 0
        if first:
            self._before, self._sent = len(self._messages), len(fitted)
        trimmed = self._trimmed(trimmer, len(fitted)) if trimmer.steps > (0 if first else self._steps) else None
        self._steps = trimmer.steps
        return Fit(fitted, trimmed, self._fixed() + trimmer.total, estimated=not self._counts.exact)

    async def moved(self, room: Room, counter: Counter) -> Fit:
        """The messages of the last fit for a model with other room, and other figures, which later fits keep to."""
        self._room, self._counter = room, counter
        self._counts, self._asks = Counts({}, exact=False), True
        self._estimate = self._counted = self._steps = 0
        self._trimmer = None
        return await self.fit()

    def sources(self) -> Sources:
        """Where the tokens of the last fit come from."""
        assert self._trimmer
        parts = [part for part in self._trimmer.parts if part.shown]
        results = sum(part.cost for part in parts if part.message.role == "tool")
        return Sources(
            system=self._system_tokens(),
            tools=self._tool_tokens(),
            summary=self._summary_tokens(),
            history=sum(part.cost for part in parts) - results,
            given=sum(part.given_cost for part in parts),
            tool_results=results,
        )

    def parts(self) -> Sequence[Part]:
        """The messages of the last fit with their tokens, those that have left too."""
        assert self._trimmer
        return self._trimmer.parts

    @property
    def exact(self) -> bool:
        """Whether the model's own tokenizer made the figures of the last fit."""
        return self._counts.exact

    @property
    def whole(self) -> int:
        """Tokens of it all, without any trimming, as of the last fit."""
        assert self._trimmer
        return self._fixed() + self._trimmer.whole

    @property
    def _tools(self) -> Sequence[ToolSpec]:
        """Those that take room."""
        return self._prompt.tools if self._counter.tools else ()

    async def _fed_trimmer(self) -> Trimmer:
        """The trimmer with every message in it; a new one when the figures have become exact."""
        exact = self._counts.exact
        await self._count()
        if self._trimmer is None or self._counts.exact != exact:
            self._trimmer, self._fed = Trimmer(max(1, self._room.prompt - self._fixed()), self._tokens), 0
        if len(self._messages) - self._fed > MANY:
            await asyncio.to_thread(self._feed, self._trimmer)
        else:
            self._feed(self._trimmer)
        return self._trimmer

    def _feed(self, trimmer: Trimmer) -> None:
        for message, given, turn in self._messages[self._fed :]:
            trimmer.add(message, turn, given)
        self._fed = len(self._messages)

    async def _count(self) -> None:
        """Count what is new; by the model's tokenizer from where it matters on."""
        new = list(self._texts(self._counted))
        self._counted = len(self._messages)
        if self._counts.exact:
            self._add(await self._counter.counted(new), exact=True)
            return
        counts = await self._counter.estimated(new)
        self._add(counts, exact=False)
        self._estimate += sum(map(counts, new))
        if self._asks and self._estimate >= self._counted_from * self._room.prompt:
            counted = await self._counter.counted(self._texts(0))
            self._asks = counted.exact
            self._add(counted, exact=counted.exact)

    def _add(self, counts: Counts, *, exact: bool) -> None:
        self._counts = Counts({**self._counts.figures, **counts.figures}, exact)

    def _tokens(self, text: str) -> int:
        return self._counts(text)

    def _texts(self, start: int) -> Iterator[str]:
        """Those of the messages from `start` on, with 0 those before them too."""
        prompt = self._prompt
        if not start:
            yield from filter(None, (prompt.system, prompt.summary and summary_text(prompt.summary)))
            yield from map(tool_text, self._tools)
        for message, given, _ in self._messages[start:]:
            yield from message_texts(message)
            if given:
                yield given

    def _fixed(self) -> int:
        """Tokens of what never leaves."""
        return self._system_tokens() + self._tool_tokens() + self._summary_tokens() + _NOTE_TOKENS

    def _system_tokens(self) -> int:
        return self._tokens(self._prompt.system) + MESSAGE_OVERHEAD if self._prompt.system else 0

    def _tool_tokens(self) -> int:
        return sum(self._tokens(tool_text(tool)) + _TOOL_OVERHEAD for tool in self._tools)

    def _summary_tokens(self) -> int:
        return self._tokens(summary_text(self._prompt.summary)) if self._prompt.summary else 0

    def _told(self, trimmer: Trimmer) -> tuple[ChatMessage, ...]:
        messages = trimmer.told()
        if self._prompt.summary:
            messages = _with_summary(messages, summary_text(self._prompt.summary))
        return prompt_of(self._prompt.system, messages)

    def _trimmed(self, trimmer: Trimmer, after: int) -> ContextTrimmed:
        fixed = self._fixed()
        return ContextTrimmed(
            context_length=self._room.window,
            messages_before=len(self._messages) + bool(self._prompt.system),
            messages_after=after,
            tokens_before=fixed + trimmer.whole,
            tokens_after=fixed + trimmer.total,
        )


def tool_text(tool: ToolSpec) -> str:
    """A tool as it is counted."""
    return f"{tool.name}: {tool.description}\n{orjson.dumps(tool.parameters).decode()}"


def _flat(prompt: Prompt) -> Iterable[tuple[ChatMessage, str, int]]:
    for number, turn in enumerate(prompt.turns):
        if turn.question is not None:
            yield turn.question, turn.given, number
        for message in turn.answer:
            yield message, "", number


def _with_summary(messages: Sequence[ChatMessage], summary: str) -> list[ChatMessage]:
    """The summary before the first words of the user, or alone where an answer comes first."""
    if messages and messages[0].role == "user":
        return [with_given(messages[0], summary), *messages[1:]]
    return [ChatMessage("user", summary), *messages]
