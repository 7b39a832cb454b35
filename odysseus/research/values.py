"""What a research job works with and what it leaves: values, and their JSON. They know no model, page or store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one job may do. `queries` are those of one round, `pages` those of all.

    `minutes` of work, then the report is written.
    """

    rounds: int
    queries: int
    pages: int
    minutes: float


@dataclass(frozen=True, slots=True)
class Source:
    """A page that was read. `number` is from 1; `title` and `snippet` are one line each."""

    number: int
    url: str
    title: str
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A source with its text."""

    source: Source
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a source says: in a sentence, and in the source's own words as they stand on the page."""

    number: int
    text: str
    passage: str
    source: int
    round: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Findings of several sources, by number, that cannot all be right."""

    topic: str
    findings: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A finished job. `text` is Markdown whose sentences cite findings as `[n]`, those without one marked.

    `written_on` is a date, `unread` says in words what could not be had.
    """

    question: str
    text: str
    findings: Sequence[Finding]
    sources: Sequence[Source]
    disagreements: Sequence[Disagreement] = ()
    unread: Sequence[str] = ()
    unsourced: int = 0
    model: str = ""
    written_on: str = ""
    usage: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


def report_json(report: Report) -> dict[str, Any]:
    """The report as a JSON value."""
    return asdict(report)


def report_of(value: Any) -> Report:
    """The report in a JSON value."""
    return msgspec.convert(value, Report)
