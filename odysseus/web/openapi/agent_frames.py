"""The frames that an agent run adds to the chat stream, as types to describe them. Tests hold them to the dialect."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.events import ApprovalDecision
from odysseus.web.openapi.run_shapes import (
    Asked,
    Blocks,
    CallId,
    Command,
    Round,
    Seconds,
    Tool,
    ToolResult,
    UiAction,
    Words,
)


class PrepSeconds(Struct):
    """Seconds by step."""

    request_setup: Annotated[float, Meta(description="Opening the workspace")]
    tool_selection: Annotated[float, Meta(description="Choosing the tools")]
    prompt_build: Annotated[float, Meta(description="Making the prompt")]
    context_trim: Annotated[float, Meta(description="Making it fit")]


class AgentPrepFrame(Struct, tag="agent_prep"):
    """What was done before the first request."""

    data: PrepSeconds


class AgentStepFrame(Struct, tag="agent_step"):
    """A new round begins. The first has none."""

    round: Annotated[int, Meta(description="From 2")]


class ToolStartFrame(Struct, tag="tool_start"):
    """A call begins."""

    tool: Tool
    round: Round
    call_id: CallId
    command: Command
    full_command: Annotated[str, Meta(description="The same, up to 20,000 characters")]


class ToolProgressFrame(Struct, tag="tool_progress", kw_only=True):
    """A call goes on. Every second."""

    tool: Tool
    round: Round
    call_id: CallId
    message: Annotated[str, Meta(description="What it does just now")]
    elapsed: Seconds
    tail: Annotated[str | UnsetType, Meta(description="The newest output of a program")] = UNSET


class ToolOutputFrame(ToolResult, tag="tool_output", kw_only=True):
    """A call has ended: exactly one for each `tool_start`."""

    elapsed: Seconds


class AskUserFrame(Struct, tag="ask_user"):
    """The user has the next word. The run ends with it, as completed."""

    data: Asked


class ApprovalResolvedFrame(Struct, tag="tool_approval_resolved"):
    """The first frame of the run that a decision began."""

    approval_id: Annotated[str, Meta(description="As on the card")]
    decision: Annotated[ApprovalDecision, Meta(description="What the user decided")]


class GeneratedImageFrame(Struct, tag="generated_image"):
    """A picture was made."""

    url: Annotated[str, Meta(description="Its address on this server")]
    image_id: Annotated[str, Meta(description="Its id")]
    image_prompt: Annotated[str, Meta(description="What was asked for")]
    image_model: Annotated[str, Meta(description="Who made it")]
    image_size: Annotated[str, Meta(description="The size that was asked for; empty for the model's own")]


class UiControlFrame(Struct, tag="ui_control"):
    """The agent asks the page for something. A page is free to do it or not."""

    data: UiAction


class Plan(Struct):
    """A plan."""

    plan: Annotated[str, Meta(description="All of it, as a Markdown checklist")]


class PlanUpdateFrame(Struct, tag="plan_update"):
    """The plan as it is now."""

    data: Plan


class RejectedWorkspace(Struct):
    """A folder that cannot be used."""

    path: Annotated[str, Meta(description="What was chosen")]
    reason: Annotated[str, Meta(description="Why not, and what to do")]


class WorkspaceRejectedFrame(Struct, tag="workspace_rejected"):
    """The folder that was chosen cannot be used. The run works in the session's own."""

    data: RejectedWorkspace


class RoundsExhaustedFrame(Struct, tag="rounds_exhausted", kw_only=True):
    """The run has used its rounds."""

    rounds: Annotated[int, Meta(description="How many it may have")]
    block: Blocks = UNSET


class BudgetExceededFrame(Struct, tag="budget_exceeded", kw_only=True):
    """The run has used its calls or its money."""

    kind: Annotated[Literal["tool_calls", "cost"], Meta(description="Which of the two")]
    limit: Annotated[float, Meta(description="Calls, or US dollars")]
    used: Annotated[float, Meta(description="Calls, or US dollars")]
    block: Blocks = UNSET


class LoopBreakerFrame(Struct, tag="loop_breaker_triggered", kw_only=True):
    """The model goes round in circles. It gets one more round, without tools."""

    reason: Annotated[str, Meta(description="`repeated_rounds` or `repeated_call`")]
    message: Words
    round: Annotated[int, Meta(description="The round it was noticed in")]
    detail: Annotated[str, Meta(description="Which call, and how often")]
    block: Blocks = UNSET


class NudgesExhaustedFrame(Struct, tag="intent_nudge_exhausted", kw_only=True):
    """The model kept saying what it would do, and did not do it."""

    reason: Annotated[str, Meta(description="`intent_without_call`")]
    message: Words
    round: Annotated[int, Meta(description="The last round")]
    nudges: Annotated[int, Meta(description="How often it was asked to go on")]
    matched: Annotated[str, Meta(description="What it said it would do")]
    block: Blocks = UNSET


class DocumentOpenFrame(Struct, tag="doc_stream_open"):
    """A document is being written: its text follows."""

    title: Annotated[str, Meta(description="The document's title")]
    language: Annotated[str, Meta(description="Like `markdown` or `python`")]


class DocumentDeltaFrame(Struct, tag="doc_stream_delta"):
    """The whole text of the document that was opened."""

    content: Annotated[str, Meta(description="The text; to append and to replace come to the same")]


class DocumentUpdateFrame(Struct, tag="doc_update"):
    """A document has a new version."""

    doc_id: Annotated[str, Meta(description="The document")]
    content: Annotated[str, Meta(description="Its whole text")]
    version: Annotated[int, Meta(description="From 1")]
    title: Annotated[str, Meta(description="Its title")]
    language: Annotated[str, Meta(description="Like `markdown` or `python`")]


class Suggestion(Struct):
    """A change that the user may take or leave."""

    id: Annotated[str, Meta(description="Its id")]
    find: Annotated[str, Meta(description="Text that is in the document once")]
    replace: Annotated[str, Meta(description="What to put there")]
    reason: Annotated[str, Meta(description="Why")]


class DocumentSuggestionsFrame(Struct, tag="doc_suggestions"):
    """Changes to a document that the user may take or leave. The text stays as it is."""

    doc_id: Annotated[str, Meta(description="The document")]
    suggestions: Annotated[list[Suggestion], Meta(description="The changes")]


Notice = RoundsExhaustedFrame | BudgetExceededFrame | LoopBreakerFrame | NudgesExhaustedFrame
"""Why a run ended where it did. The history keeps them."""
