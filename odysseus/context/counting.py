"""Tokens of texts by a model's own tokenizer where there is one, else estimated with a margin; each text once.

Knows no prompt: it is given texts, and someone who counts.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from odysseus.context.budget import estimate_tokens, with_margin

MOST_KEPT = 50_000
_AT_ONCE = 200_000
"""Characters that are estimated without a thread: about 5 ms."""
_ESTIMATES = ""

Count = Callable[[Sequence[str]], Awaitable[Sequence[int] | None]]
Key = tuple[str, bytes]


class TokenCache:
    """Figures by tokenizer and by a hash of the text. The longest unused ones leave."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[Key, int] = OrderedDict()

    def get(self, key: Key) -> int | None:
        """The figure, if it is kept."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Key, tokens: int) -> None:
        """Keep a figure."""
        self._kept[key] = tokens
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)


@dataclass(frozen=True, slots=True)
class Counts:
    """The figures of some texts. `exact` says that the model's tokenizer made them; a text it lacks is estimated."""

    figures: Mapping[str, int]
    exact: bool

    def __call__(self, text: str) -> int:
        """The tokens of a text."""
        found = self.figures.get(text)
        return with_margin(estimate_tokens(text)) if found is None else found


class Counter:
    """Counts for one model. `source` names its tokenizer, `ask` is who counts; without one all is estimated.

    `tools` says whether the tools on offer are a part of the prompt.
    """

    def __init__(self, cache: TokenCache, source: str = "", ask: Count | None = None, *, tools: bool = True) -> None:
        self.tools = tools
        self._cache = cache
        self._source = source
        self._ask = ask

    async def estimated(self, texts: Iterable[str]) -> Counts:
        """Careful estimates, without asking anyone."""
        figures, unknown = self._known(_ESTIMATES, texts)
        if sum(map(len, unknown)) > _AT_ONCE:
            made = await asyncio.to_thread(_estimates, unknown)
        else:
            made = _estimates(unknown)
        self._keep(_ESTIMATES, unknown, made, figures)
        return Counts(figures, exact=False)

    async def counted(self, texts: Iterable[str]) -> Counts:
        """What the model's tokenizer says; estimates where there is none, or none just now."""
        texts = list(texts)
        figures, unknown = self._known(self._source, texts)
        if unknown:
            made = await self._ask(unknown) if self._ask else None
            if made is None:
                return await self.estimated(texts)
            self._keep(self._source, unknown, made, figures)
        return Counts(figures, exact=True)

    def _known(self, source: str, texts: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        figures: dict[str, int] = {}
        unknown: list[str] = []
        for text in dict.fromkeys(texts):
            kept = self._cache.get((source, _hash(text)))
            if kept is None:
                unknown.append(text)
            else:
                figures[text] = kept
        return figures, unknown

    def _keep(self, source: str, texts: Sequence[str], made: Sequence[int], figures: dict[str, int]) -> None:
        for text, tokens in zip(texts, made, strict=True):
            figures[text] = tokens
            self._cache.put((source, _hash(text)), tokens)


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _estimates(texts: Sequence[str]) -> list[int]:
    return [with_margin(estimate_tokens(text)) for text in texts]
