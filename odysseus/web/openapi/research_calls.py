"""The calls for research jobs: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.events import ResearchStatus
from odysseus.web import research
from odysseus.web.openapi import answers
from odysseus.web.openapi.operation import CHANGES, EVENTS, Answer, Binary, Body, Operation, Parameter, said
from odysseus.web.openapi.research_frames import FreshFinding, ResearchProgressFields
from odysseus.web.openapi.run_shapes import Time, json_of, one_of


class ResearchJob(Struct, kw_only=True):
    """A research."""

    id: Annotated[str, Meta(description="Its id")]
    session_id: Annotated[str | None, Meta(description="The chat that it belongs to, if any")]
    question: Annotated[str, Meta(description="What is to be found out")]
    endpoint_id: Annotated[str, Meta(description="Who is asked")]
    model: Annotated[str, Meta(description="Its model")]
    status: Annotated[ResearchStatus, Meta(description="How it is")]
    message: Annotated[str, Meta(description="What went wrong; empty when nothing did")]
    phase: Annotated[str | None, Meta(description="The phase it is in, or was in last; null when it is not in memory")]
    total_sources: Annotated[int | None, Meta(description="Pages so far; null when it is not in memory")]
    total_findings: Annotated[int | None, Meta(description="Findings so far; null when it is not in memory")]
    started_at: Time
    finished_at: Annotated[str | None, Meta(description="When it ended, as all times; null while it goes on")]


class ReadPage(Struct, kw_only=True):
    """A page that is read."""

    url: Annotated[str, Meta(description="Its address")]
    title: Annotated[str, Meta(description="Its title")]


class ResearchState(ResearchJob, kw_only=True):
    """A research with what it has found so far. Of one that ended without a report that is not kept."""

    sources: Annotated[list[ReadPage], Meta(description="The pages")]
    findings: Annotated[list[FreshFinding], Meta(description="What they say")]


class ResearchCancelled(Struct, kw_only=True):
    """What came of it."""

    cancelled: Annotated[bool, Meta(description="Whether it was going")]


class ResearchProgress(ResearchProgressFields, kw_only=True):
    """How far it is."""

    status: Annotated[Literal["running"], Meta(description="It goes on")]


class ResearchFinal(Struct, kw_only=True):
    """It is over: the last frame."""

    status: Annotated[ResearchStatus, Meta(description="How it ended")]
    final: Annotated[Literal[True], Meta(description="Nothing follows")]
    error: Annotated[str | UnsetType, Meta(description="What went wrong; only when something did")] = UNSET


class ResearchStreamEvent(Struct, kw_only=True):
    """An event of the progress. A comment comes in every long silence."""

    event: Annotated[Literal["message"], Meta(description="Always this one")] = "message"
    data: Annotated[str, json_of("ResearchFrame"), Meta(description="One line of JSON")]


JOB = Parameter("research", "path", "The id of a research")

ResearchFrame = Annotated[
    Any, one_of("ResearchProgress", "ResearchFinal"), Meta(description="The data of a frame of the progress")
]

RESEARCH: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/research",
        id="listResearch",
        tag="Research",
        summary="List the research there is",
        answers=said("At most 100, the newest first", list[ResearchJob]),
    ),
    Operation(
        method="post",
        path="/api/research/start",
        id="startResearch",
        tag="Research",
        summary="Start a research",
        description="It goes on without a client, and over restarts of the server.",
        body=Body(research.NewResearch, example={"question": "Which bridges cross the Elbe in Dresden?"}),
        answers=said("It has begun", ResearchJob),
        errors=CHANGES,
    ),
    Operation(
        method="get",
        path="/api/research/active",
        id="activeResearch",
        tag="Research",
        summary="List what goes on",
        answers=said("The newest first", list[ResearchJob]),
    ),
    Operation(
        method="get",
        path="/api/research/stream/{research}",
        id="researchStream",
        tag="Research",
        summary="Follow a research",
        description="Begins with the first progress, whenever it is opened. Of a research that is no more in memory "
        "there is only the last frame.",
        parameters=(JOB,),
        answers={200: Answer("Server-sent events. The schema is that of one event.", {EVENTS: ResearchStreamEvent})},
        errors=(404,),
    ),
    Operation(
        method="get",
        path="/api/research/status/{research}",
        id="researchStatus",
        tag="Research",
        summary="See how far a research is",
        parameters=(JOB,),
        answers=said("How it is", ResearchState),
        errors=(404,),
    ),
    Operation(
        method="get",
        path="/api/research/report/{research}",
        id="researchReport",
        tag="Research",
        summary="Get the report",
        description="409 while there is none.",
        parameters=(
            JOB,
            Parameter("fmt", "query", "As one HTML file for itself, or as Markdown", Literal["html", "md"]),
            Parameter("download", "query", "1: as a file to save", example="1"),
        ),
        answers={200: Answer("The report", {"text/html": Binary, "text/markdown": Binary})},
        errors=(400, 404, 409),
    ),
    Operation(
        method="post",
        path="/api/research/cancel/{research}",
        id="cancelResearch",
        tag="Research",
        summary="End a research",
        description="What it has read is kept until it is deleted, but there will be no report.",
        parameters=(JOB,),
        answers=said("Whether it was going", ResearchCancelled),
        errors=CHANGES,
    ),
    Operation(
        method="delete",
        path="/api/research/{research}",
        id="deleteResearch",
        tag="Research",
        summary="Delete a research",
        description="With its report and all it has read. One that goes on is ended.",
        parameters=(JOB,),
        answers=said("It is gone", answers.Deleted),
        errors=CHANGES,
    ),
)
