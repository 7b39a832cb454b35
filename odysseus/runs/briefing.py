"""The first request of a run: what the question is given, older turns summarised, the whole fitted into the window."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, cast

from odysseus.context.budget import room_of
from odysseus.context.compaction import Past, Writer
from odysseus.context.given import Given, joined
from odysseus.context.keeper import Keeper, Opened
from odysseus.context.turns import Turn
from odysseus.context.window import Window
from odysseus.events import ContextTrimmed, Event, QuestionGiven, TextDelta, UsageReport
from odysseus.providers.base import ChatMessage, ChatRequest, ToolSpec
from odysseus.providers.fallback import Asker, Candidate, Refit
from odysseus.providers.router import Route
from odysseus.runs.sources import ContextWish, Sources
from odysseus.store.uploads import Upload


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of whom. `unstored` are the turns of an incognito chat. Without a text and files it goes on
    with the last turn."""

    route: Route
    system: str
    past: Past
    text: str = ""
    given: Given = field(default_factory=Given)
    unstored: tuple[Turn, ...] = ()
    wish: ContextWish = field(default_factory=ContextWish)
    uploads: Sequence[Upload] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    incognito: bool = False


@dataclass(frozen=True, slots=True)
class Briefed:
    """The request, its window, what is to be told before `model_info`, and what the summary has used.

    `refit` makes the request fit another candidate.
    """

    request: ChatRequest
    opened: Opened
    events: Sequence[Event]
    usage: Sequence[UsageReport]
    seconds: dict[str, float]
    refit: Refit


class Briefing:
    """Makes first requests."""

    def __init__(self, sources: Sources, keeper: Keeper) -> None:
        self.sources = sources
        self.keeper = keeper

    async def brief(self, asked: Question, tools: Sequence[ToolSpec] = ()) -> Briefed:
        """The first request of a run. Raises StoreError."""
        began = time.perf_counter()
        given = await self._given(asked)
        gathered = time.perf_counter()
        usage: list[UsageReport] = []
        candidate = asked.route.first
        room = room_of(await asked.route.window(), asked.max_tokens)

        async def ask(request: ChatRequest) -> str:
            return await whole_answer(asked.route.asker(), request, usage)

        writer = Writer(candidate.model, room, self.keeper.counter(candidate), ask)
        opened = await self.keeper.open(
            asked.past, _new_turns(asked, given), asked.system, tools, writer, compact=not asked.incognito
        )
        request = ChatRequest(
            candidate.model, opened.fit.messages, asked.temperature, asked.max_tokens, tools=tuple(tools)
        )
        events: list[Event] = [*given.events, *opened.events]
        if given.text:
            events.append(QuestionGiven(given.text, given.outside))
        seconds = {"prompt_build": gathered - began, "context_trim": time.perf_counter() - gathered}
        return Briefed(request, opened, events, usage, seconds, self._refit(asked, opened.window))

    def _refit(self, asked: Question, window: Window) -> Refit:
        async def refit(candidate: Candidate, request: ChatRequest) -> tuple[ChatRequest, Sequence[ContextTrimmed]]:
            room = room_of(await asked.route.find_window(candidate), asked.max_tokens)
            fit = await window.moved(room, self.keeper.counter(candidate))
            return replace(request, messages=fit.messages), [fit.trimmed] if fit.trimmed else []

        return refit

    async def _given(self, asked: Question) -> Given:
        if not asked.text and not asked.uploads:
            return Given()
        sees = asked.route.first.vision
        return joined([asked.given, await self.sources.gather(asked.text, asked.wish, asked.uploads, sees=sees)])


def _new_turns(asked: Question, given: Given) -> Sequence[Turn]:
    if not (asked.text or asked.uploads):
        return asked.unstored
    question = ChatMessage("user", asked.text, images=given.images)
    return (*asked.unstored, Turn(question, given.text, from_outside=given.outside))


async def whole_answer(asker: Asker, request: ChatRequest, usage: list[UsageReport] | None = None) -> str:
    """The answer to a request that no reader sees; what it used goes to `usage`. Raises ProviderError."""
    parts: list[str] = []
    async with aclosing(cast(Any, asker.ask(request))) as batches:
        async for batch in batches:
            parts += [chunk.text for chunk in batch if isinstance(chunk, TextDelta)]
            if usage is not None:
                usage += [chunk for chunk in batch if isinstance(chunk, UsageReport)]
    return "".join(parts)
