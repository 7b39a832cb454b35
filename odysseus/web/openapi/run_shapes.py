"""What a run is in JSON: its usage, its terminal record, calls, cards and notices. Shared by frames and answers.

Types for the description only: the run makes these as mappings, and tests hold both together.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.events import ApprovalDecision, FinishReason, Mode, RunStatus, StopReason
from odysseus.tools.base import Effect

REF = "#/components/schemas/{name}"


def one_of(*kinds: str) -> Meta:
    """One of several components, where msgspec has no union for them."""
    return Meta(extra_json_schema={"anyOf": [{"$ref": REF.format(name=kind)} for kind in kinds]})


def json_of(kind: str, *others: str) -> Meta:
    """JSON of a component, in a string, or one of the other strings."""
    content = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": REF.format(name=kind)},
    }
    return Meta(extra_json_schema={"anyOf": [content, {"enum": list(others)}]} if others else content)


Model = Annotated[str, Meta(description="The model, by the provider's own word where it told one")]
Chosen = Annotated[str, Meta(description="The model that was chosen")]
EndpointId = Annotated[str, Meta(description="The endpoint's id")]
EndpointLabel = Annotated[str, Meta(description="The endpoint's name for people")]
Time = Annotated[str, Meta(description="ISO 8601, UTC", examples=["2026-01-31T09:05:00.250Z"])]
Seconds = Annotated[float, Meta(description="Seconds")]
ToFirst = Annotated[float | None, Meta(description="Seconds to the first text or reasoning")]
Cost = Annotated[float | None, Meta(description="US dollars; null when a price is not known")]
Source = Annotated[Literal["real", "estimated", "mixed"], Meta(description="Who counted the tokens")]
Rate = Annotated[float | None, Meta(description="Output tokens a second")]
Window = Annotated[int | None, Meta(description="The model's window in tokens, when known")]
Filled = Annotated[float | None, Meta(description="How much of the window the last request filled, in percent")]
Tokens = Annotated[int, Meta(description="Tokens")]
Known = Annotated[int | UnsetType, Meta(description="Tokens; only when the provider tells them")]
Tool = Annotated[str, Meta(description="The tool's name; it may be one that does not exist")]
Round = Annotated[int, Meta(description="The round; 0 for calls that the user has decided on")]
CallId = Annotated[str, Meta(description="The model's id of the call, unique in its round")]
Command = Annotated[str, Meta(description="What is called, in a line for people")]
Words = Annotated[str, Meta(description="The same in words, for the user")]
Blocks = Annotated[int | UnsetType, Meta(description="Only in the history: how many blocks of `html` stand before it")]


class RunUsage(Struct, kw_only=True):
    """Sums over the run's requests."""

    input_tokens: Tokens
    output_tokens: Tokens
    total_tokens: Tokens
    usage_source: Source
    cost: Cost
    cached_input_tokens: Known = UNSET
    reasoning_tokens: Known = UNSET
    tokens_per_second: Rate
    context_length: Window
    context_percent: Filled


class RunTiming(Struct):
    """When a run was, and how long it took."""

    started_at: Time
    finished_at: Time
    total_time: Seconds
    time_to_first_token: ToFirst


class RunFailure(Struct):
    """Why a run failed."""

    status: Annotated[int | None, Meta(description="An HTTP status, when one fits")]
    message: Annotated[str, Meta(description="Words for the user, without address, key or path")]


class TerminalRecord(Struct):
    """The record of a run. Each run has exactly one."""

    record_id: Annotated[int | None, Meta(description="Its row; null for incognito")]
    run_id: Annotated[str, Meta(description="As in the header `X-Odysseus-Run-Id`")]
    session_id: Annotated[str, Meta(description="The session")]
    message_id: Annotated[str | None, Meta(description="The stored answer")]
    user_message_id: Annotated[str | None, Meta(description="The stored question; null for incognito")]
    status: Annotated[RunStatus, Meta(description="How it ended")]
    stop_reason: Annotated[StopReason | None, Meta(description="Null when completed")]
    finish_reason: Annotated[FinishReason | None, Meta(description="The provider's")]
    finish_word: Annotated[str | None, Meta(description="The provider's own word for it")]
    partial: Annotated[str | None, Meta(description="The text so far; null when completed")]
    model: Model
    requested_model: Chosen
    endpoint_id: EndpointId
    endpoint_label: EndpointLabel
    usage: RunUsage
    timing: RunTiming
    rounds: Annotated[int, Meta(description="Requests to a model that told or cost something")]
    tool_calls: Annotated[int, Meta(description="Calls of tools that came to an end")]
    frames: Annotated[int | None, Meta(description="Frames of the whole run; null after a crash")]
    note: Annotated[str | None, Meta(description="What a user should know of a whole answer")]
    failure: Annotated[RunFailure | None, Meta(description="Null unless it failed")]


class Diff(Struct):
    """What a call changed in files."""

    file: Annotated[str, Meta(description="The file, or the first of several")]
    added: Annotated[int, Meta(description="Lines")]
    removed: Annotated[int, Meta(description="Lines")]
    text: Annotated[str, Meta(description="A unified diff, at most 20,000 characters")]


class Option(Struct, kw_only=True):
    """Something that can be answered."""

    label: Annotated[str, Meta(description="Its name")]
    value: Annotated[ApprovalDecision | UnsetType, Meta(description="Of an approval: what to send back")] = UNSET
    description: Annotated[str, Meta(description="What it means")]


class Question(Struct):
    """A question of the model; the next ordinary message answers it."""

    question: Annotated[str, Meta(description="What is asked")]
    options: Annotated[list[Option], Meta(description="What can be answered; may be empty")]
    multi: Annotated[bool, Meta(description="Whether several may be chosen")]


class Action(Struct):
    """The sealed call."""

    tool: Tool
    content: Annotated[str, Meta(description="What will be done: the command, the diff, the address")]
    digest: Annotated[str, Meta(description="16 hex digits over all that was sealed")]
    effects: Annotated[list[Effect], Meta(description="What kind of thing it does")]
    workspace: Annotated[str, Meta(description="The folder it works in")]


class ApprovalCard(Struct, kw_only=True):
    """A call that the user has to decide on, with `tool_approval_id` and `tool_approval_decision`."""

    kind: Annotated[Literal["tool_approval"], Meta(description="Tells an approval from a question")]
    approval_id: Annotated[str, Meta(description="32 hex digits, to be sent back")]
    question: Annotated[str, Meta(description="What is asked")]
    description: Annotated[str, Meta(description="Why it is asked, and what the tool does")]
    options: Annotated[list[Option], Meta(description="The decisions")]
    action: Action
    expires_at: Time
    state: Annotated[
        Literal["pending", "approved", "denied", "expired", "retired"] | UnsetType,
        Meta(description="Only in the history: what became of it"),
    ] = UNSET


class Toggle(Struct, tag_field="ui_event", tag="toggle"):
    """Set a switch."""

    toggle_name: Annotated[Literal["web", "bash", "rag", "research", "incognito"], Meta(description="Which switch")]
    state: Annotated[bool, Meta(description="What it should be")]


class SetMode(Struct, tag_field="ui_event", tag="set_mode"):
    """Choose the mode."""

    mode: Annotated[Mode, Meta(description="The mode")]


class SwitchModel(Struct, tag_field="ui_event", tag="switch_model", kw_only=True):
    """Choose a model."""

    model: Annotated[str, Meta(description="The model")]
    endpoint_id: Annotated[str | UnsetType, Meta(description="Its endpoint; may be empty")] = UNSET


class SetTheme(Struct, tag_field="ui_event", tag="set_theme"):
    """Choose a look."""

    theme_name: Annotated[str, Meta(description="The theme")]


class OpenPanel(Struct, tag_field="ui_event", tag="open_panel"):
    """Show a panel."""

    panel: Annotated[str, Meta(description="The panel")]


class Highlight(Struct, tag_field="ui_event", tag="highlight", kw_only=True):
    """Point at something."""

    selector: Annotated[str, Meta(description="At what, as a CSS selector")]
    label: Annotated[str | UnsetType, Meta(description="The words beside it")] = UNSET


class ClearHighlight(Struct, tag_field="ui_event", tag="clear_highlight"):
    """Point at nothing any more."""


UiAction = Toggle | SetMode | SwitchModel | SetTheme | OpenPanel | Highlight | ClearHighlight
Asked = Annotated[Any, one_of("Question", "ApprovalCard")]


class CitedSource(Struct, kw_only=True):
    """A source that the answer may cite."""

    number: Annotated[int, Meta(ge=1, description="What the answer's text cites it by, as in `[3]`")]
    url: Annotated[str, Meta(description="Its address; empty for a passage of the library")]
    title: Annotated[str, Meta(description="Its title, or the document's name")]
    snippet: Annotated[str, Meta(description="What it says, in a line")]
    page: Annotated[int | UnsetType, Meta(description="Of a passage: the page it is on")] = UNSET


class ToolExtras(Struct, kw_only=True):
    """What a call tells beside its output."""

    diff: Annotated[Diff | UnsetType, Meta(description="When files were changed")] = UNSET
    image_url: Annotated[str | UnsetType, Meta(description="Of a picture: its address on this server")] = UNSET
    doc_id: Annotated[str | UnsetType, Meta(description="Of a document that was made or changed")] = UNSET
    document_title: Annotated[str | UnsetType, Meta(description="Its title")] = UNSET
    document_language: Annotated[str | UnsetType, Meta(description="Its language, like `markdown`")] = UNSET
    document_version: Annotated[int | UnsetType, Meta(description="Its version, from 1")] = UNSET
    ask_user: Annotated[Question | UnsetType, Meta(description="Of a question: the same as on its card")] = UNSET
    ui_event: Annotated[UiAction | UnsetType, Meta(description="Of an action of the page")] = UNSET
    sources: Annotated[list[CitedSource] | UnsetType, Meta(description="What the answer may cite, by number")] = UNSET


class ToolResult(ToolExtras, kw_only=True):
    """A call that has ended, or waits for the user."""

    tool: Tool
    round: Round
    call_id: CallId
    command: Command
    output: Annotated[str, Meta(description="What came of it, as the model reads it, cut at the tool's limit")]
    exit_code: Annotated[int | None, Meta(description="0: done. null: the user has the next word. Else it failed")]
