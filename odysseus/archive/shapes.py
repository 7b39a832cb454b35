"""The shapes of an exported conversation as they are taken in: every field that is read anywhere has its type here.

Fields that are not named are passed over. So a file can hold nothing that the history does not know how to draw.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.events import ApprovalDecision, FinishReason, Mode, RunStatus, StopReason

Short = Annotated[str, Meta(max_length=1_000)]
Text = Annotated[str, Meta(max_length=5_000_000)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Figure = Annotated[float, Meta(ge=0, le=1e12)]
Id = Annotated[str, Meta(pattern=r"^[\w.:-]{0,100}$")]


class Usage(Struct, kw_only=True):
    """Figures of a run."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    total_tokens: Count = 0
    usage_source: Literal["real", "estimated", "mixed"] = "estimated"
    cost: Figure | None = None
    cached_input_tokens: Count | UnsetType = UNSET
    reasoning_tokens: Count | UnsetType = UNSET
    tokens_per_second: Figure | None = None
    context_length: Count | None = None
    context_percent: Figure | None = None


class Timing(Struct, kw_only=True):
    """When a run was, in words and seconds."""

    started_at: Short = ""
    finished_at: Short = ""
    total_time: Figure = 0.0
    time_to_first_token: Figure | None = None


class Failure(Struct):
    """Why a run failed."""

    message: Short
    status: Annotated[int, Meta(ge=100, le=599)] | None = None


class Diff(Struct, kw_only=True):
    """What a call changed in a file."""

    file: Short
    added: Count = 0
    removed: Count = 0
    text: Text = ""


class Option(Struct, kw_only=True):
    """A choice of a card."""

    label: Short
    description: Text | UnsetType = UNSET
    value: Short | UnsetType = UNSET


class Action(Struct, kw_only=True):
    """What an approval card was about."""

    tool: Short
    content: Text
    digest: Short
    effects: list[Short] = []
    workspace: Short = ""


class Card(Struct, kw_only=True):
    """A question or an approval."""

    question: Text
    options: Annotated[list[Option], Meta(max_length=50)]
    multi: bool | UnsetType = UNSET
    kind: Literal["tool_approval"] | UnsetType = UNSET
    approval_id: Short | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    action: Action | UnsetType = UNSET
    expires_at: Short | UnsetType = UNSET
    state: Literal["pending", "approved", "denied", "expired", "retired"] | UnsetType = UNSET


class CitedSource(Struct, kw_only=True):
    """What a call found, with its number in the answer."""

    number: Annotated[int, Meta(ge=1, le=10_000)]
    url: Annotated[str, Meta(max_length=5_000, pattern=r"^(https?://|$)")] = ""
    title: Short = ""
    snippet: Text = ""
    page: Count | UnsetType = UNSET


class Row(Struct, kw_only=True):
    """A call of a tool."""

    call_id: Short
    tool: Short
    command: Text
    output: Text
    exit_code: int | None
    round: Count
    at: Count
    elapsed: Figure | UnsetType = UNSET
    diff: Diff | UnsetType = UNSET
    ask_user: Card | UnsetType = UNSET
    image_url: Annotated[str, Meta(pattern=r"^/api/upload/[\w-]{1,100}$")] | UnsetType = UNSET
    document_title: Short | UnsetType = UNSET
    document_language: Short | UnsetType = UNSET
    document_version: Count | UnsetType = UNSET
    sources: Annotated[list[CitedSource], Meta(max_length=1_000)] | UnsetType = UNSET


class Called(Struct, kw_only=True):
    """A call as the model made it. `written` says that it was read from the answer's text."""

    id: Short
    name: Short
    arguments: Text
    problem: Text | UnsetType | None = UNSET
    written: bool | UnsetType = UNSET


class Entry(Struct, kw_only=True):
    """A message of the model's own history of an answer: words and calls, or the result of the call `id`."""

    role: Literal["assistant", "tool"]
    content: Text
    id: Short | UnsetType = UNSET
    calls: list[Called] | UnsetType = UNSET


class Notice(Struct, kw_only=True):
    """A remark between the rows."""

    at: Count
    type: Literal[
        "rounds_exhausted",
        "budget_exceeded",
        "loop_breaker_triggered",
        "intent_nudge_exhausted",
        "workspace_rejected",
        "compacted",
        "context_trimmed",
    ]
    rounds: Count | UnsetType = UNSET
    kind: Literal["tool_calls", "cost"] | UnsetType = UNSET
    limit: Figure | UnsetType = UNSET
    used: Figure | UnsetType = UNSET
    reason: Short | UnsetType = UNSET
    message: Short | UnsetType = UNSET
    round: Count | UnsetType = UNSET
    detail: Text | UnsetType = UNSET
    nudges: Count | UnsetType = UNSET
    matched: Short | UnsetType = UNSET
    path: Short | UnsetType = UNSET
    context_length: Count | UnsetType = UNSET
    messages_compacted: Count | UnsetType = UNSET
    messages_before: Count | UnsetType = UNSET
    messages_after: Count | UnsetType = UNSET
    tokens_before: Count | UnsetType = UNSET
    tokens_after: Count | UnsetType = UNSET


class Decision(Struct):
    """The decision that began a run."""

    approval_id: Short
    decision: ApprovalDecision


class Fallback(Struct):
    """Who answered in another's place."""

    selected_model: Short
    answered_by: Short
    reason: Short


class Picture(Struct):
    """A picture that was made."""

    image_id: Id
    image_prompt: Text = ""
    image_model: Short = ""
    image_size: Short = ""


class Attachment(Struct, kw_only=True):
    """A file that was sent."""

    id: Id
    name: Short
    mime: Short = ""
    size: Count = 0
    width: Count | UnsetType | None = UNSET
    height: Count | UnsetType | None = UNSET
    text_chars: Count | UnsetType = UNSET
    extraction: Literal["text", "ocr", "image", "none", "failed"] | UnsetType = UNSET
    note: Text | UnsetType | None = UNSET


class WebSource(Struct, kw_only=True):
    """A page of the web."""

    url: Annotated[str, Meta(max_length=5_000, pattern=r"^https?://")]
    title: Short = ""
    snippet: Text = ""
    domain: Short = ""


class Passage(Struct, kw_only=True):
    """A passage of the library."""

    doc_id: Short = ""
    filename: Short = ""
    snippet: Text = ""
    similarity: Annotated[float, Meta(ge=0, le=1)] = 0.0
    page: Count | UnsetType = UNSET


class UsedMemory(Struct, kw_only=True):
    """A memory that was given."""

    id: Short = ""
    text: Text = ""
    category: Short = ""
    type: Literal["pinned", "recalled"] = "recalled"


class ResearchSource(Struct, kw_only=True):
    """A page that a research has read."""

    url: Annotated[str, Meta(max_length=5_000, pattern=r"^https?://")]
    title: Text = ""
    snippet: Text = ""


class ResearchFinding(Struct, kw_only=True):
    """What such a page says."""

    text: Text
    source_url: Annotated[str, Meta(max_length=5_000, pattern=r"^https?://")]
    source_title: Text = ""
    round: Count = 0
    number: Count = 0
    passage: Text = ""


class Research(Struct, kw_only=True):
    """What a report stands on. The job itself is not in a chat's file."""

    sources: list[ResearchSource] | UnsetType = UNSET
    findings: list[ResearchFinding] | UnsetType = UNSET


class Metadata(Struct, kw_only=True):
    """What belongs to a message."""

    status: RunStatus | UnsetType = UNSET
    stop_reason: StopReason | UnsetType | None = UNSET
    finish_reason: FinishReason | UnsetType | None = UNSET
    finish_word: Short | UnsetType | None = UNSET
    model: Short | UnsetType = UNSET
    requested_model: Short | UnsetType = UNSET
    endpoint_id: Short | UnsetType = UNSET
    endpoint_label: Short | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    timing: Timing | UnsetType = UNSET
    rounds: Count | UnsetType = UNSET
    tool_calls: Count | UnsetType = UNSET
    frames: Count | UnsetType | None = UNSET
    note: Short | UnsetType | None = UNSET
    failure: Failure | UnsetType | None = UNSET
    thinking: Text | UnsetType = UNSET
    fallback: Fallback | UnsetType = UNSET
    stopped: bool | UnsetType = UNSET
    edited: bool | UnsetType = UNSET
    undone: bool | UnsetType = UNSET
    tool_events: list[Row] | UnsetType = UNSET
    notices: list[Notice] | UnsetType = UNSET
    ask_user: Card | UnsetType = UNSET
    plan: Annotated[str, Meta(max_length=8192)] | UnsetType = UNSET
    images: list[Picture] | UnsetType = UNSET
    approval: Decision | UnsetType = UNSET
    attachments: list[Attachment] | UnsetType = UNSET
    rag_sources: list[Passage] | UnsetType = UNSET
    web_sources: list[WebSource] | UnsetType = UNSET
    memories_used: list[UsedMemory] | UnsetType = UNSET
    research: Research | UnsetType = UNSET
    given: Text | UnsetType = UNSET
    transcript: list[Entry] | UnsetType = UNSET


class ImportedMessage(Struct, kw_only=True):
    """A message. One that names no parent stands behind the message before it."""

    id: Id
    role: Literal["user", "assistant"]
    content: Text
    metadata: Metadata
    created_at: Short
    parent_id: Id | UnsetType | None = UNSET
    shown: bool = True


class ImportedFile(Struct, kw_only=True):
    """A file, with its bytes in base64 when they came along."""

    id: Id
    name: Short = "file"
    mime: Short = ""
    data: str = ""


class ImportedSession(Struct, kw_only=True):
    """The session; what of it is not named here is the importing server's own."""

    name: Annotated[str, Meta(max_length=500)] = ""
    mode: Mode = "chat"


class ImportedChat(Struct, kw_only=True):
    """The whole file."""

    format: str
    version: int
    session: ImportedSession
    messages: Annotated[list[ImportedMessage], Meta(max_length=20_000)]
    files: Annotated[list[ImportedFile], Meta(max_length=2_000)] = []
