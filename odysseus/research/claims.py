"""The claims of a report held to its findings: wrong citations go, sentences without one are marked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from odysseus.research.reading import numbers, words
from odysseus.research.values import Finding

MARK = "*(no source)*"
SAME = 0.85
"""A sentence says what a finding says when it shares so many of its words, and all its figures."""
LEAST_WORDS = 4
"""A shorter piece is no sentence: an abbreviation, or what was cut at one."""

_CITED = re.compile(r"[\[【]\s*(\d+(?:\s*[,;]\s*\d+)*)\s*[\]】](?!\()")
_SENTENCE = re.compile(
    r".+?(?:[.!?。！？…]+[\"'”’)\]*_]*(?:\s*\[\d+\])*(?=\s+[^a-z\s]|\s*$|(?<=[。！？]))|$)", re.DOTALL
)
_PREFIX = re.compile(r"^(\s*(?:>\s*)*(?:[-*+]\s+|\d{1,3}[.)]\s+)?)(.*)$", re.DOTALL)
_NO_CLAIM = re.compile(r"^\s*(?:#|\||```|~~~|[-=*_\s]+$|$)")
_FENCE = re.compile(r"^\s*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Checked:
    """A text after the check. `claims` counts its sentences, `unsourced` those that are marked."""

    text: str
    claims: int
    unsourced: int


def checked(text: str, findings: Sequence[Finding]) -> Checked:
    """Markdown with citations `[n]` of these findings only, and every other sentence marked.

    A figure in a sentence has to be in a finding that it cites. One that says what a finding says gets its number.
    """
    known = {finding.number: finding for finding in findings}
    lines: list[str] = []
    claims = unsourced = 0
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        if fenced or _NO_CLAIM.match(line):
            lines.append(line if fenced else _clean(line, known))
            continue
        prefix, body = _split(line)
        parts = [_judged(sentence, known) for sentence in sentences(_clean(body, known))]
        claims += len(parts)
        unsourced += sum(part.endswith(MARK) for part in parts)
        lines.append(prefix + " ".join(parts))
    return Checked("\n".join(lines).strip(), claims, unsourced)


def sentences(text: str) -> list[str]:
    """The sentences of a line, each with the citations behind it. Pieces too short to be one go with the next."""
    found: list[str] = []
    held = ""
    for piece in _SENTENCE.findall(text):
        held = f"{held} {piece.strip()}".strip()
        if len(held.split()) >= LEAST_WORDS or _CITED.search(held) or not held.isascii():
            found.append(held)
            held = ""
    if held and found:
        found[-1] = f"{found[-1]} {held}"
    elif held:
        found.append(held)
    return found


def cited(text: str) -> Iterator[int]:
    """The numbers that a text cites, in their order."""
    for found in _CITED.finditer(text):
        yield from (int(number) for number in re.findall(r"\d+", found[1]))


def _split(line: str) -> tuple[str, str]:
    found = _PREFIX.match(line)
    return (found[1], found[2]) if found else ("", line)


def _clean(text: str, known: Mapping[int, Finding]) -> str:
    """Citations as `[1][2]`, without those of findings that do not exist."""

    def one(found: re.Match[str]) -> str:
        given = (int(number) for number in re.findall(r"\d+", found[1]))
        return "".join(f"[{number}]" for number in dict.fromkeys(given) if number in known)

    return re.sub(r"[ \t]+([.,;:!?])", r"\1", _CITED.sub(one, text)) if _CITED.search(text) else text


def _judged(sentence: str, known: Mapping[int, Finding]) -> str:
    if sentence.rstrip("*_ ").endswith(":"):
        return sentence  # it introduces what follows
    named = [known[number] for number in cited(sentence)]
    if not named and (own := _saying(sentence, known)):
        return f"{sentence} [{own.number}]"
    said = numbers(_CITED.sub("", sentence))
    backed = {figure for finding in named for figure in numbers(f"{finding.text} {finding.passage}")}
    return sentence if named and said <= backed else f"{sentence} {MARK}"


def _saying(sentence: str, known: Mapping[int, Finding]) -> Finding | None:
    """The first finding that a sentence without a citation repeats."""
    told, figures = set(words(sentence)), numbers(sentence)
    for finding in known.values():
        whole = f"{finding.text} {finding.passage}"
        if len(told) >= LEAST_WORDS and figures <= numbers(whole) and len(told & set(words(whole))) >= SAME * len(told):
            return finding
    return None
