"""What keeps a loop from going round for ever, or from ending on a promise. Pure, one of each per run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

EQUAL_ROUNDS = 4
EQUAL_CALLS = 15
NUDGES = 2
TAIL = 400

_VERBS = (
    "open|read|check|look|run|execute|search|find|fetch|get|create|write|edit|update|fix|list|inspect|analy[sz]e|examine|"
    "review|test|start|begin|call|use|calculate|compute|install|apply|add|remove|delete|make|try|see|do|go|gather|explore"
)
_PROMISE = re.compile(
    rf"\A(?:(?:now|first|next|then|ok|okay|sure|great|alright|right|so|and|good|perfect|thanks|yes)[,.!:]* )*"
    rf"(?:i will|i['’]ll|i am going to|i['’]m going to|let me|let['’]s|one moment|now i will|next,? i will)\b"
    rf"(?:[ ,]+(?:now|first|then|just|quickly|start by|begin by|go ahead and|also|please|i will|i['’]ll))*[ ,]+"
    rf"(?:{_VERBS})(?:ing)?\b[^?\n]*(?:[.:…!]|\.\.\.)?\s*\Z",
    re.IGNORECASE,
)
_OFFER = re.compile(r"\b(?:if you|let me know|would you|when you|once you|as soon as you|for you to)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Circle:
    """The model goes round in circles: why, and on what."""

    reason: str
    detail: str


class LoopBreaker:
    """Counts rounds and calls that bring nothing new. A call whose result changes is polling and does not count."""

    def __init__(self) -> None:
        self._last: Hashable = None
        self._equal = 0
        self._calls: Counter[tuple[str, str, str]] = Counter()

    def after_round(self, calls: Sequence[tuple[str, str, str]], text: str) -> Circle | None:
        """`calls` as name, arguments and result; `text` is what the model said beside them."""
        self._calls.update(calls)
        spoken = text.strip()
        this = (tuple(calls), spoken)
        self._equal = self._equal + 1 if this == self._last else 1
        self._last = this
        if self._equal >= EQUAL_ROUNDS:
            return Circle("repeated_rounds", f"{calls[0][0]} with the same result, {self._equal} rounds in a row")
        for call in calls:
            if self._calls[call] >= EQUAL_CALLS:
                return Circle("repeated_call", f"{call[0]} with the same result, {self._calls[call]} times")
        return None


class IntentNudge:
    """Notices an answer that ends with the promise of an action."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def exhausted(self) -> bool:
        """Whether no further nudge is given."""
        return self.count >= NUDGES

    def matched(self, text: str) -> str:
        """The promise that the text ends with; empty when it is an answer."""
        last = re.split(r"(?<=[.!?…])\s+|\n+", text.strip()[-TAIL:].strip())[-1] if text.strip() else ""
        found = _PROMISE.search(last)
        return "" if found is None or _OFFER.search(last) else found[0].strip()
