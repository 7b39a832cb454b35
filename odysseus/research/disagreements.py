"""Where sources say what cannot all be true: named by the model, and where only a figure differs, by code."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from odysseus.context.budget import estimate_tokens
from odysseus.context.given import as_data
from odysseus.providers.base import ChatMessage
from odysseus.providers.loose import as_list, as_mapping, as_text
from odysseus.research.asking import Asker
from odysseus.research.hands import Hands
from odysseus.research.reading import numbers, words
from odysseus.research.values import Disagreement, Finding

ANSWER_TOKENS = 700
MOST_GROUPS = 12
MOST_COMPARED = 400
TOPIC_LIMIT = 160
ALIKE = 0.75
"""Of the words of two findings beside their figures, so many are shared when both are about the same."""
COMMON = 0.6
"""A word in so many of the findings says nothing of one point."""
STEM = 4

EXAMPLE = "the point in a few words"
SYSTEM = f"""You compare findings of a research, each with its number. Name those that cannot all be true because they
say different things of the same point: other figures, dates, names, or yes and no. Findings that add to each other do
not disagree. Answer with JSON: {{"groups": [{{"topic": "{EXAMPLE}", "findings": [1, 2]}}]}} with an empty
list when none disagree."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "groups": {
            "type": "array",
            "maxItems": MOST_GROUPS,
            "items": {
                "type": "object",
                "properties": {
                    "topic": {"type": "string"},
                    "findings": {"type": "array", "items": {"type": "integer"}, "maxItems": 10},
                },
                "required": ["topic", "findings"],
            },
        }
    },
    "required": ["groups"],
}


async def disagreements(hands: Hands, asker: Asker, findings: Sequence[Finding]) -> list[Disagreement]:
    """Each with findings of at least two sources. Raises ProviderError."""
    if len({finding.source for finding in findings}) < 2:
        return []
    shown = numbered(findings, hands.window // 2)
    messages = [ChatMessage("system", SYSTEM), ChatMessage("user", as_data("Findings", shown))]
    said = await asker.value("disagreements", messages, SCHEMA, ANSWER_TOKENS, _groups) or []
    other_figures = await asyncio.to_thread(lambda: list(by_figures(findings[:MOST_COMPARED])))
    return list(_sound([*on_one_point(said, findings), *other_figures], findings))


def numbered(findings: Sequence[Finding], tokens: int) -> str:
    """The findings with their numbers, a line each, as many as fit."""
    lines: list[str] = []
    for finding in findings:
        line = f"[{finding.number}] (source {finding.source}) {finding.text}"
        tokens -= estimate_tokens(line) + 1
        if tokens < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def by_figures(findings: Sequence[Finding]) -> Iterator[Disagreement]:
    """Pairs of different sources that say the same but for one figure."""
    parts = [(finding, numbers(finding.text), _beside_figures(finding.text)) for finding in findings]
    for (one, figures, plain), (other, figures_, plain_) in combinations(parts, 2):
        of_two = one.source != other.source and bool(plain)
        one_differs = len(figures) == len(figures_) and len(figures ^ figures_) == 2
        if of_two and one_differs and len(plain & plain_) >= ALIKE * len(plain | plain_):
            yield Disagreement(one.text, (one.number, other.number))


def _beside_figures(text: str) -> set[str]:
    return {word for word in words(text) if not any(map(str.isdigit, word))}


def _groups(values: Sequence[Mapping[str, Any]]) -> list[Disagreement] | None:
    lists = [value["groups"] for value in values if isinstance(value.get("groups"), list)]
    if not lists:
        return None
    return [
        Disagreement(
            " ".join(as_text(row.get("topic")).split())[:TOPIC_LIMIT],
            tuple(number for number in as_list(row.get("findings")) if isinstance(number, int)),
        )
        for row in map(as_mapping, lists[0])
    ]


def on_one_point(groups: Sequence[Disagreement], findings: Sequence[Finding]) -> Iterator[Disagreement]:
    """Those whose findings have more in common than all findings have: a small model groups anything.

    That is a word of two of them, or words of the topic in each. What has no words to compare is kept, but not a topic
    that only repeats the prompt.
    """
    stems = {finding.number: _stems(finding.text) for finding in findings}
    usual = Counter(stem for found in stems.values() for stem in found)
    common = {stem for stem, count in usual.items() if len(stems) > 2 and count >= COMMON * len(stems)}
    for group in groups:
        told = [stems[number] - common for number in group.findings if number in stems]
        topic = _stems(group.topic) - common
        if group.topic != EXAMPLE and (
            any(one & other for one, other in combinations(told, 2)) or all(not one or one & topic for one in told)
        ):
            yield group


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in words(text) if len(word) >= STEM and not any(map(str.isdigit, word))}


def _sound(groups: Sequence[Disagreement], findings: Sequence[Finding]) -> Iterator[Disagreement]:
    """Those of known findings of several sources; none of which another has both sides."""
    source_of = {finding.number: finding.source for finding in findings}
    told: list[set[int]] = []
    for group in groups:
        known = tuple(sorted({number for number in group.findings if number in source_of}))
        if len({source_of[number] for number in known}) > 1 and not any(set(known) <= one for one in told):
            told.append(set(known))
            yield Disagreement(group.topic, known)
