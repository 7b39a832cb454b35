"""After a completed turn: its model may be asked once what is worth remembering. It makes way for every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from odysseus.context.asides import Asides
from odysseus.context.propose import propose
from odysseus.providers.base import ChatMessage, ChatRequest
from odysseus.providers.router import Route
from odysseus.runs.briefing import whole_answer
from odysseus.store.memories import MemoryStore


@dataclass(frozen=True, slots=True)
class Said:
    """A turn that is over: the user's own words, the answer, and whether outside text was in it."""

    session_id: str
    question: str
    answer: str
    outside: bool


class Afterwards:
    """Proposes memories while it is `on`; one at a time for each endpoint."""

    def __init__(self, memories: MemoryStore, *, on: bool) -> None:
        self._memories = memories
        self.on = on
        self._asides = Asides()

    def begin(self, route: Route, said: Said) -> None:
        """Ask in the background what of a turn is worth keeping."""
        if self.on and said.question and said.answer:
            self._asides.begin(route.first.endpoint_id, self._propose(route, said))

    async def make_way(self, route: Route) -> None:
        """A run wants the endpoint: end what is asked there."""
        await self._asides.make_way(route.first.endpoint_id)

    async def close(self) -> None:
        """End all of it."""
        await self._asides.close()

    async def _propose(self, route: Route, said: Said) -> None:
        async def ask(messages: Sequence[ChatMessage], max_tokens: int) -> str:
            return await whole_answer(route.asker(), ChatRequest(route.first.model, tuple(messages), 0.0, max_tokens))

        known = [memory.text for memory in await self._memories.list()]
        for fact in await propose(said.question, said.answer, known, ask):
            await self._memories.remember(
                fact.text, fact.category, said.session_id, outside=said.outside, state="proposed"
            )
