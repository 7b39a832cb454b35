"""Which queries a job searches with: those it begins with, and those for what is still missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from odysseus.context.cutting import beginning
from odysseus.context.given import as_data
from odysseus.context.web import query_of
from odysseus.providers.base import ChatMessage
from odysseus.providers.loose import as_text
from odysseus.research.asking import Asker
from odysseus.research.hands import Hands
from odysseus.research.values import Finding

ANSWER_TOKENS = 300
QUERY_LIMIT = 200
LEAST_WINDOW = 3
"""The findings shown take at most one in so many tokens of the window."""

PLAN = """You plan a research on the web. Today is {today}. Give at most {most} search queries of a few words each that
together find what the question needs, each on another side of it.
Answer with JSON: {{"queries": ["…"]}}"""
GAPS = """You check a research on the web. Today is {today}. You see a question and what was found. Give at most {most}
new search queries of a few words each for what is missing or doubtful; none when the question can be answered.
Answer with JSON: {{"queries": ["…"]}}"""


def schema(most: int) -> dict[str, Any]:
    """Of an answer."""
    queries = {"type": "array", "items": {"type": "string"}, "maxItems": most}
    return {"type": "object", "properties": {"queries": queries}, "required": ["queries"]}


async def first_queries(hands: Hands, asker: Asker) -> list[str]:
    """The question itself, and what the model would look for."""
    most = hands.budget.queries
    if most == 1:
        return [query_of(hands.question)]
    system = ChatMessage("system", PLAN.format(today=hands.today, most=most))
    said = await asker.value(
        "plan", [system, ChatMessage("user", hands.question)], schema(most), ANSWER_TOKENS, _queries
    )
    return _new([query_of(hands.question), *(said or ())], (), most)


async def missing_queries(
    hands: Hands, asker: Asker, round_: int, findings: Sequence[Finding], asked: Collection[str]
) -> list[str]:
    """Queries for what is missing after a round; none when nothing is, or the model does not know."""
    most = hands.budget.queries
    found = "\n".join(f"- {finding.text}" for finding in findings) or "Nothing yet."
    shown = "\n\n".join(
        (
            f"Question: {hands.question}",
            as_data("Found", beginning(found, hands.window // LEAST_WINDOW)),
            "Searched for already: " + "; ".join(asked),
        )
    )
    messages = [ChatMessage("system", GAPS.format(today=hands.today, most=most)), ChatMessage("user", shown)]
    said = await asker.value(f"gaps {round_}", messages, schema(most), ANSWER_TOKENS, _queries, timed=True)
    return _new(said or (), asked, most)


def _queries(values: Sequence[Mapping[str, Any]]) -> list[str] | None:
    lists = [value["queries"] for value in values if isinstance(value.get("queries"), list)]
    return [" ".join(as_text(query).split())[:QUERY_LIMIT] for query in lists[0]] if lists else None


def _new(queries: Sequence[str], asked: Collection[str], most: int) -> list[str]:
    """Those with words in them that were not asked yet, each once."""
    seen = {query.casefold() for query in asked}
    kept: dict[str, str] = {}
    for query in queries:
        if any(map(str.isalnum, query)) and query.casefold() not in seen:
            kept.setdefault(query.casefold(), query)
    return list(kept.values())[:most]
