"""How near a text is to a question: by its words, by its meaning, and by both as one figure. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from odysseus.retrieval.words import phrases, terms

MOST_TERMS = 40
"""How many terms of a question are looked for: the rarest."""
COMMON = 0.1
"""A term that stands in more than this share of a large library finds nothing alone, and costs time."""
LARGE = 2_000
SNIPPET = 200


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for by words: terms with their weights, and those and the phrases that the index is asked for."""

    weights: Mapping[str, float]
    wanted: Sequence[Sequence[str]]

    def coverage(self, found: Collection[str]) -> float:
        """The share of the question, by weight, that stands in a text with these terms: 0 to 1."""
        whole = sum(self.weights.values())
        return sum(weight for term, weight in self.weights.items() if term in found) / whole if whole else 0.0


NOTHING = Question({}, ())


def asked_terms(text: str) -> list[str]:
    """The different terms of a question, in their order, no more than can be looked up at once."""
    return list(dict.fromkeys(terms(text)))[: MOST_TERMS * 5]


def make_question(text: str, frequencies: Mapping[str, int], count: int) -> Question:
    """A question against `count` texts, of which so many hold each term."""
    weighed = {term: _weight(frequencies.get(term, 0), count) for term in asked_terms(text)}
    rare = sorted(weighed, key=lambda term: -weighed[term])[:MOST_TERMS]
    telling = [term for term in rare if count < LARGE or frequencies.get(term, 0) <= COMMON * count]
    together = [phrase for phrase in phrases(text) if all(term in frequencies for term in phrase)]
    wanted = [*([term] for term in telling or rare[:1]), *together[:MOST_TERMS]]
    return Question({term: weighed[term] for term in rare}, wanted)


def _weight(frequency: int, count: int) -> float:
    return math.log(1 + (count - min(frequency, count) + 0.5) / (frequency + 0.5))


def similarity(cosine: float, coverage: float) -> float:
    """One figure of two, 0 to 1: either alone can make a text near. Words count little until most of them are there.

    It ranks better than reciprocal ranks, which cannot tell a hit of a few common words from one of a rare name.
    """
    return 1 - (1 - min(1.0, max(0.0, cosine))) * (1 - coverage * coverage)


def overlaps(question: str, texts: Sequence[str]) -> list[float]:
    """How much of a question stands in each text, by words that are rare among them: 0 to 1."""
    found = [set(terms(text)) for text in texts]
    frequencies = {term: sum(term in one for one in found) for term in asked_terms(question)}
    asked = make_question(question, {term: count for term, count in frequencies.items() if count}, len(texts))
    return [asked.coverage(one) for one in found]


def snippet(text: str, wanted: Iterable[str]) -> str:
    """At most 200 characters of a text on one line, where the first of the wanted words stands."""
    line = " ".join(text.split())
    lowered = line.lower()
    place = next((at for word in wanted if (at := lowered.find(word)) >= 0), 0)
    start = 0 if place < SNIPPET // 2 else line.rfind(" ", 0, place - SNIPPET // 4) + 1
    start = max(start, place - SNIPPET // 2)
    head = "…" if start else ""
    room = SNIPPET - len(head)
    piece = line[start : start + room]
    return head + (piece if start + room >= len(line) else piece[:-1] + "…")
