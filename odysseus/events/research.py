"""What a research job says: how far it is, what it has read and found, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

ResearchStatus = Literal["running", "done", "error", "cancelled"]


@dataclass(frozen=True, slots=True)
class ResearchProgressed:
    """A phase, and what belongs to it (the contract's `research_progress.data`)."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResearchSourced:
    """The pages that were read (the contract's `research_sources.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ResearchFound:
    """What they say (the contract's `research_findings.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ResearchDone:
    """The answer that a chat got from a job is stored."""

    session_id: str
    research_id: str


@dataclass(frozen=True, slots=True)
class ResearchEnded:
    """A job is over. Internal to a chat; the job's own stream ends with it. `message` says what went wrong."""

    status: ResearchStatus
    message: str = ""
