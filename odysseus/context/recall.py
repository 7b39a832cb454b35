"""Memories for one prompt: all pinned ones, and of the others those that are about the message.

Knows no store and no run: a run without memories (no_memory, incognito) gives none in, and nothing is kept here.
"""

from __future__ import annotations

import asyncio
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol

from odysseus.context.budget import estimate_tokens
from odysseus.context.given import Given, as_data
from odysseus.events import MemoriesUsed
from odysseus.store.memories import Memory

MOST_RECALLED = 8
TOKENS = 2_000
"""The usual budget of all of them together."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]+")
_STEM = 5
"""Letters that have to be the same, so that `cats` finds `cat` and `working` finds `works`."""
_COMMON_WORDS = """
a about after all also an and any are as at be been but by can could did do does for from get had has have he her
him his how i if in into is it its just like likes make me my no not of on or our out please she should so some than
that the their them then there these they this to up us user user's was we were what when where which who will with
would you your der die das und ist ein eine ich du er sie es wir mein meine
"""
_COMMON = frozenset(_COMMON_WORDS.split())


class Rank(Protocol):
    """Who says how near texts are to a query."""

    async def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """A score for each text in its order; 0 and less means that it has nothing to do with the query."""
        ...


async def given(
    memories: Sequence[Memory], query: str, rank: Rank | None = None, most: int = MOST_RECALLED, tokens: int = TOKENS
) -> Given:
    """The memories that a model is given for this message, within so many tokens; never one that is only proposed."""
    kept = [memory for memory in memories if memory.state == "kept"]
    pinned = [memory for memory in kept if memory.pinned]
    others = [memory for memory in kept if not memory.pinned]
    recalled = await _recalled(others, query, rank or by_words, most)
    used = _within([*pinned, *recalled], tokens)
    if not used:
        return Given()
    text = as_data("What is remembered of the user", "\n".join(f"- {memory.text}" for memory in used))
    told = [MemoriesUsed([_row(memory) for memory in used])]
    return Given(text, told, outside=any(memory.outside for memory in used))


async def by_words(query: str, texts: Sequence[str]) -> Sequence[float]:
    """By the words that they share, rare ones first; the share of the query's weight that a text has, 0 to 1."""
    return await asyncio.to_thread(_shared, query, texts)


def _shared(query: str, texts: Sequence[str]) -> list[float]:
    wanted = _words(query)
    found = [_words(text) for text in texts]
    frequency = Counter(word for words in found for word in words)
    weight = {word: math.log1p(len(texts) / (1 + frequency[word])) for word in wanted}
    total = sum(weight.values())
    return [sum(weight[word] for word in words & wanted) / total if total else 0.0 for words in found]


async def _recalled(memories: Sequence[Memory], query: str, rank: Rank, most: int) -> list[Memory]:
    """The nearest, best first; of equals the newer."""
    if not memories or not query.strip() or most <= 0:
        return []
    scores = await rank(query, [memory.text for memory in memories])
    near = [(score, memory) for score, memory in zip(scores, memories, strict=True) if score > 0]
    near.sort(key=lambda pair: (pair[0], pair[1].created_at), reverse=True)
    return [memory for _, memory in near[:most]]


def _within(memories: Sequence[Memory], tokens: int) -> list[Memory]:
    """Those for which there is room, in their order."""
    used: list[Memory] = []
    for memory in memories:
        cost = estimate_tokens(memory.text) + 2
        if cost <= tokens:
            used.append(memory)
            tokens -= cost
    return used


def _row(memory: Memory) -> dict[str, str]:
    kind: Literal["pinned", "recalled"] = "pinned" if memory.pinned else "recalled"
    return {"id": memory.id, "text": memory.text, "category": memory.category, "type": kind}


def _words(text: str) -> frozenset[str]:
    """The telling words, shortened; of scripts without spaces every pair of letters."""
    found: set[str] = set()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if "\u3040" <= word[0] <= "\ud7af":
            found.update(word[index : index + 2] for index in range(max(1, len(word) - 1)))
        elif word not in _COMMON and (len(word) > 1 or word.isdigit()):
            found.add(word[:_STEM].removesuffix("s") if word.isalpha() else word)
    return frozenset(found)
