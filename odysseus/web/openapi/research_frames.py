"""The frames of a research in a chat, as types to describe them, and what the history keeps of it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

Phase = Literal["probing", "planning", "searching", "reading", "analyzing", "writing", "error"]
Whole = Annotated[int | UnsetType, Meta(description="So far, in all")]


class FreshFinding(Struct, kw_only=True):
    """Something that a page says, as it is found."""

    text: Annotated[str, Meta(description="In a sentence")]
    source_url: Annotated[str, Meta(description="The page")]
    source_title: Annotated[str, Meta(description="Its title")]
    round: Annotated[int, Meta(description="In which round it was found, from 1")]


class ResearchFinding(FreshFinding, kw_only=True):
    """The same in a finished research."""

    number: Annotated[int, Meta(description="What the report cites it by, from 1")]
    passage: Annotated[str, Meta(description="The words of the page that it stands on")]


class ResearchSource(Struct, kw_only=True):
    """A page that was read."""

    url: Annotated[str, Meta(description="Its address")]
    title: Annotated[str, Meta(description="Its title; the address when there is none")]
    snippet: Annotated[str, Meta(description="What the search said of it; may be empty")]


class ResearchProgressFields(Struct, kw_only=True):
    """How far a research is. What is there besides the phase goes by the phase."""

    phase: Annotated[Phase, Meta(description="What it does")]
    started_at: Annotated[str | UnsetType, Meta(description="Only in the first: when it began, ISO 8601, UTC")] = UNSET
    research_id: Annotated[str | UnsetType, Meta(description="Only in the first: its id")] = UNSET
    model: Annotated[str | UnsetType, Meta(description="Who is asked")] = UNSET
    round: Annotated[int | UnsetType, Meta(description="The round, from 1")] = UNSET
    queries: Annotated[list[str] | UnsetType, Meta(description="What is searched for")] = UNSET
    total_sources: Whole = UNSET
    total_findings: Whole = UNSET
    title: Annotated[str | UnsetType, Meta(description="The page that is read; may be empty")] = UNSET
    url: Annotated[str | UnsetType, Meta(description="Its address")] = UNSET
    findings: Annotated[list[FreshFinding] | UnsetType, Meta(description="What that page says")] = UNSET
    message: Annotated[str | UnsetType, Meta(description="Words for the user")] = UNSET


class ResearchProgressFrame(Struct, tag="research_progress"):
    """How far the research is."""

    data: ResearchProgressFields


class ResearchSourcesFrame(Struct, tag="research_sources"):
    """The pages that were read."""

    data: Annotated[list[ResearchSource], Meta(description="The pages")]


class ResearchFindingsFrame(Struct, tag="research_findings"):
    """What they say. The report cites these by their numbers."""

    data: Annotated[list[ResearchFinding], Meta(description="The findings")]


class ResearchLink(Struct, kw_only=True):
    """Which research it was."""

    session_id: Annotated[str, Meta(description="The chat")]
    research_id: Annotated[str, Meta(description="The research; its report is at `/api/research/report/{id}`")]


class ResearchDoneFrame(Struct, tag="research_done"):
    """The report is stored, as the chat's answer."""

    data: ResearchLink


class StoredResearch(Struct, kw_only=True):
    """The research that an answer comes from. One that was cut off has its id only."""

    id: Annotated[str | UnsetType, Meta(description="Its id")] = UNSET
    sources: Annotated[list[ResearchSource] | UnsetType, Meta(description="The pages that were read")] = UNSET
    findings: Annotated[list[ResearchFinding] | UnsetType, Meta(description="What they say")] = UNSET


ResearchChatFrame = ResearchProgressFrame | ResearchSourcesFrame | ResearchFindingsFrame | ResearchDoneFrame
