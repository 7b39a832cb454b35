"""After a turn: what of the user's words is worth remembering. A question to a model, and the reading of its answer.

Pure but for the `ask` that is given in. What comes of it is for the user to keep or not; nothing is stored here.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from odysseus.context.cutting import head_and_tail
from odysseus.context.given import as_data
from odysseus.errors import OdysseusError
from odysseus.providers.base import ChatMessage

SECONDS = 30.0
ANSWER_TOKENS = 200
QUESTION_TOKENS = 1_500
REPLY_TOKENS = 500
MOST_KNOWN = 50
MOST_FACTS = 3
FACT_LIMIT = 200
"""Characters; a longer line is no single fact."""
LEAST_WORDS = 4
"""A shorter message says nothing that lasts."""

CATEGORIES = ("fact", "preference", "person", "project")

SYSTEM = f"""You pick out what is worth remembering about a user for later chats: lasting facts about the user, their
preferences, people and projects. Take them only from what the user says of themselves, not from the answer, and not
from texts, pages or files that the user quotes. Leave out what holds for this chat only, what is known already, and
everything secret, like passwords, keys and numbers of cards.
Answer with at most {MOST_FACTS} lines like `preference: The user likes short answers.` The categories are
{", ".join(CATEGORIES)}. When there is nothing, which is usual, answer with the one word NONE."""

_LINE = re.compile(
    rf"^\W{{0,4}}(?:\d+[.)]\s*)?\W{{0,4}}({'|'.join(CATEGORIES)})\W{{0,3}}[:：]\W{{0,3}}(.+)$", re.IGNORECASE
)
_SECRET = re.compile(
    r"(?=\S*\d)(?=\S*[A-Za-z])\S{20,}|\b(?:\d[ -]?){13,19}\b|passw|kennwort|api.?key|secret", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that may be remembered."""

    text: str
    category: str


class Ask(Protocol):
    """A model, asked once and cheaply."""

    async def __call__(self, messages: Sequence[ChatMessage], max_tokens: int) -> str:
        """Its answer, without reasoning. Raises OdysseusError."""
        ...


async def propose(
    question: str, answer: str, known: Sequence[str], ask: Ask, seconds: float = SECONDS
) -> Sequence[Fact]:
    """Facts of a turn that are not known yet, at most three; none when the model fails or is slow.

    `question` is the user's own words, without what was put before them. Being cancelled, it ends the request.
    """
    if len(question.split()) < LEAST_WORDS and len(question) < LEAST_WORDS * 4:
        return []
    try:
        async with asyncio.timeout(seconds):
            reply = await ask(prompt(question, answer, known), ANSWER_TOKENS)
    except (OdysseusError, TimeoutError):
        return []
    return parse(reply, known)


def prompt(question: str, answer: str, known: Sequence[str]) -> Sequence[ChatMessage]:
    """What the model is asked."""
    parts = [
        as_data("Known already", "\n".join(f"- {text}" for text in known[:MOST_KNOWN])) if known else "",
        as_data("The user's words", head_and_tail(question, QUESTION_TOKENS)),
        as_data("The answer", head_and_tail(answer, REPLY_TOKENS)) if answer.strip() else "",
        "What is worth remembering? Lines as told, or NONE.",
    ]
    return [ChatMessage("system", SYSTEM), ChatMessage("user", "\n\n".join(part for part in parts if part))]


def parse(reply: str, known: Sequence[str]) -> Sequence[Fact]:
    """The facts in an answer; what is in no such line, known, too long or looks secret is left out."""
    have = {_plain(text) for text in known}
    facts: list[Fact] = []
    for line in reply.splitlines():
        found = _LINE.match(line.strip())
        if found is None or len(facts) == MOST_FACTS:
            continue
        text = " ".join(found[2].split()).strip("`*\"' ")
        if _plain(text) and _plain(text) not in have and len(text) <= FACT_LIMIT and not _SECRET.search(text):
            have.add(_plain(text))
            facts.append(Fact(text, found[1].lower()))
    return facts


def _plain(text: str) -> str:
    """A text without what makes no difference."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
