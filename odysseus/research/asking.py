"""Questions to the model, as steps of a job: text, or objects of a wanted shape, however loosely they are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from odysseus.events import UsageReport
from odysseus.providers.base import ChatMessage, ChatRequest
from odysseus.research.hands import Hands
from odysseus.text import clean_text

T = TypeVar("T")

AGAIN = "That was no JSON of the wanted shape. Answer with that JSON alone."
_DECODER = json.JSONDecoder()


class Asker:
    """Asks for one job, and adds up what that has used, earlier lives of the job included."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self.usage: list[UsageReport] = []

    async def text(self, key: str, messages: Sequence[ChatMessage], most: int) -> str:
        """The answer, of at most so many tokens. Raises ProviderError."""
        return await self._ask(key, ChatRequest(self._hands.model, tuple(messages), 0.0, most))

    async def value(
        self,
        key: str,
        messages: Sequence[ChatMessage],
        schema: Mapping[str, Any],
        most: int,
        read: Callable[[Sequence[Mapping[str, Any]]], T | None],
        *,
        timed: bool = False,
    ) -> T | None:
        """What `read` makes of the objects in the answer; asked again once when that is None. Raises ProviderError.

        With `timed` it is asked while there is time for reading; an answer that comes too late is an empty one.
        """
        request = ChatRequest(self._hands.model, tuple(messages), 0.0, most, response_schema=schema)
        answer = await self._ask(key, request, timed=timed)
        if (found := read(list(objects_in(answer)))) is not None:
            return found
        more = (*messages, ChatMessage("assistant", answer or "…"), ChatMessage("user", AGAIN))
        request = ChatRequest(self._hands.model, more, 0.0, most, response_schema=schema)
        return read(list(objects_in(await self._ask(f"{key}, again", request, timed=timed))))

    async def _ask(self, key: str, request: ChatRequest, *, timed: bool = False) -> str:
        async def ask() -> dict[str, Any]:
            if not timed:
                return await self._hands.ask(request)
            return await self._hands.in_time(lambda: self._hands.ask(request)) or {"text": "", "usage": []}

        said = await self._hands.once(key, ask)
        self.usage += [UsageReport(**{**fields, "round": len(self.usage) + 1}) for fields in said["usage"]]
        return clean_text(said["text"]).strip()


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in a text, the outermost that are whole: words around them and a cut end do no harm."""
    place = text.find("{")
    while place >= 0:
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            if isinstance(value, dict):
                yield value
        place = text.find("{", end)
