"""The calls for comparing models: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from odysseus.web import compare
from odysseus.web.openapi import answers
from odysseus.web.openapi.operation import CHANGES, Body, Operation, Parameter, said
from odysseus.web.openapi.run_shapes import Time

Letter = Annotated[Literal["A", "B", "C", "D"], Meta(description="Its letter")]


class ComparedModel(Struct, kw_only=True):
    """A model of a comparison, not of a certain pane."""

    model: Annotated[str, Meta(description="The model")]
    endpoint_id: Annotated[str, Meta(description="The endpoint it is asked at")]
    endpoint_label: Annotated[str, Meta(description="What that was called")]


class Pane(Struct, kw_only=True):
    """One of the models that are asked side by side."""

    pane: Letter
    name: Annotated[
        str, Meta(description="What to call it: its model, or like `Model A` before the vote of a blind one")
    ]
    session: Annotated[
        str, Meta(description="Where to send it messages, with `compare_mode`; other calls do not know it")
    ]
    running: Annotated[bool, Meta(description="Whether it answers now")]
    closed: Annotated[bool, Meta(description="Whether it was closed: the page asks it no more")]
    model: Annotated[str | None, Meta(description="The model; null while nobody may know")]
    endpoint_id: Annotated[str | None, Meta(description="The endpoint; null while nobody may know")]
    endpoint_label: Annotated[str | None, Meta(description="The endpoint's name; null while nobody may know")]


class PaneWithMessages(Pane, kw_only=True):
    """One of the models, and what was said."""

    history: Annotated[list[answers.Message], Meta(description="The messages, oldest first")]


class Comparison(Struct, kw_only=True):
    """The same questions to two to four models."""

    id: Annotated[str, Meta(description="Its id")]
    question: Annotated[str, Meta(description="What it is called, at most 500 characters; empty before a question")]
    blind: Annotated[bool, Meta(description="Whether the models are told only after the vote")]
    vote: Annotated[
        Literal["A", "B", "C", "D", "tie", "none"] | None, Meta(description="The vote; null before there is one")
    ]
    revealed: Annotated[bool, Meta(description="Whether it may be told which pane is which model")]
    running: Annotated[bool, Meta(description="Whether any answers now")]
    created_at: Time
    models: Annotated[list[ComparedModel], Meta(description="The models by name, not in the order of the panes")]
    panes: Annotated[list[Pane], Meta(description="The panes, A first")]


class ComparisonWithMessages(Comparison, kw_only=True):
    """A comparison, and what was said."""

    panes: Annotated[list[PaneWithMessages], Meta(description="The panes, A first")]  # type: ignore[assignment]


class ModelScore(ComparedModel, kw_only=True):
    """What the votes say of a model."""

    wins: Annotated[int, Meta(description="It was the best")]
    ties: Annotated[int, Meta(description="All were as good")]
    losses: Annotated[int, Meta(description="Another was the best")]
    none: Annotated[int, Meta(description="All were bad")]


ID = Parameter("comparison", "path", "The comparison's id")

COMPARE: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/compare",
        id="listComparisons",
        tag="Compare",
        summary="List the comparisons",
        answers=said("The comparisons, newest first", list[Comparison]),
    ),
    Operation(
        method="post",
        path="/api/compare",
        id="createComparison",
        tag="Compare",
        summary="Compare models",
        description="Each question then goes to the session of every pane, as a message with `compare_mode`.",
        body=Body(
            compare.NewComparison,
            example={"panes": [{"model": "small"}, {"model": "large"}], "blind": True},
        ),
        answers=said("The comparison", Comparison),
        errors=(507,),
    ),
    Operation(
        method="get",
        path="/api/compare/scores",
        id="listScores",
        tag="Compare",
        summary="Count the votes",
        answers=said("The models that were voted on, most wins first", list[ModelScore]),
    ),
    Operation(
        method="get",
        path="/api/compare/{comparison}",
        id="getComparison",
        tag="Compare",
        summary="Read a comparison",
        parameters=(ID,),
        answers=said("The comparison, with the messages of each pane", ComparisonWithMessages),
        errors=(404,),
    ),
    Operation(
        method="delete",
        path="/api/compare/{comparison}",
        id="deleteComparison",
        tag="Compare",
        summary="Delete a comparison, and end what runs in it",
        parameters=(ID,),
        answers=said("It is gone", answers.Deleted),
        errors=CHANGES,
    ),
    Operation(
        method="post",
        path="/api/compare/{comparison}/vote",
        id="voteInComparison",
        tag="Compare",
        summary="Say which answer is the best",
        description="Reveals the models of a blind comparison; its vote then stands. Another may be changed.",
        parameters=(ID,),
        body=Body(compare.Vote, example={"vote": "A"}),
        answers=said("The comparison with the vote", Comparison),
        errors=(*CHANGES, 409),
    ),
    Operation(
        method="post",
        path="/api/compare/{comparison}/keep",
        id="keepPane",
        tag="Compare",
        summary="Go on with one of the models in a chat",
        parameters=(ID,),
        body=Body(compare.Keep, example={"pane": "A"}),
        answers=said("The new chat, with a copy of the pane's messages", answers.Session),
        errors=(*CHANGES, 409),
    ),
    Operation(
        method="post",
        path="/api/compare/{comparison}/close",
        id="closePane",
        tag="Compare",
        summary="Close a pane, or bring it back",
        description="What was said there stays. An answer that is being written ends with its connection.",
        parameters=(ID,),
        body=Body(compare.Close, example={"pane": "B"}),
        answers=said("The comparison", Comparison),
        errors=CHANGES,
    ),
)
