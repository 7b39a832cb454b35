"""The answers of the API as types, for the description. Tests compare what a server really answers with them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.config import EndpointKind
from odysseus.events import ApprovalDecision, FinishReason, Mode, RunStatus, StopReason
from odysseus.tools.base import Effect, Policy
from odysseus.web.openapi.agent_frames import Notice
from odysseus.web.openapi.context_frames import (
    CompactedFrame,
    StoredFile,
    StoredTrim,
    UsedMemory,
    UsedPage,
    UsedPassage,
)
from odysseus.web.openapi.research_frames import StoredResearch
from odysseus.web.openapi.run_shapes import (
    Asked,
    Blocks,
    EndpointId,
    EndpointLabel,
    RunFailure,
    RunTiming,
    RunUsage,
    Time,
    ToolResult,
)

Note = Annotated[str, Meta(description="What is in the way, in words; empty when nothing is")]


class Problem(Struct):
    """An error, as every call of `/api` tells it."""

    error: Annotated[str, Meta(description="Words for the user")]
    status: Annotated[int, Meta(description="The HTTP status")]


class Done(Struct):
    """The change is made."""

    status: Annotated[Literal["ok"], Meta(description="Always `ok`")]


class Deleted(Struct):
    """It is gone."""

    status: Annotated[Literal["deleted"], Meta(description="Always `deleted`")]


class Undone(Struct):
    """Every file is as before the run."""

    status: Annotated[Literal["ok"], Meta(description="Always `ok`")]
    files: Annotated[list[str], Meta(description="The files that were given back what they held")]


class Stopped(Struct):
    """Whether that very run was going."""

    stopped: Annotated[bool, Meta(description="True when it was stopped now")]


class StreamStatus(Struct):
    """A run as it is now."""

    status: Annotated[Literal["streaming", "done", "error", "stopped"], Meta(description="How it is")]
    detached: Annotated[bool, Meta(description="True: it goes on without a client")]
    run_id: Annotated[str, Meta(description="As in the header `X-Odysseus-Run-Id`")]
    frames: Annotated[int, Meta(description="How many there are so far")]
    partial: Annotated[str, Meta(description="The text so far")]
    query: Annotated[str, Meta(description="The user's message; empty when a decision began the run")]
    mode: Annotated[Mode, Meta(description="Its mode")]
    is_research: Annotated[bool, Meta(description="Whether it is a research job")]
    started_at: Time


class Session(Struct):
    """A chat."""

    id: Annotated[str, Meta(description="Its id")]
    name: Annotated[str, Meta(description="Its name; a chat without one is a new chat")]
    model: Annotated[str, Meta(description="The model it asks; empty for the endpoint's first")]
    endpoint_id: Annotated[str, Meta(description="The endpoint it asks; empty for the default")]
    mode: Annotated[Mode, Meta(description="Its mode")]
    fallback: Annotated[
        list[str], Meta(description="Who is asked when the model fails: `endpoint` or `endpoint/model`")
    ]
    workspace: Annotated[str, Meta(description="The folder its agent works in; empty for one of its own")]
    archived: Annotated[bool, Meta(description="Whether it is put away")]
    pinned: Annotated[bool, Meta(description="Whether it stands first")]
    created_at: Time
    updated_at: Time
    last_message_at: Annotated[str | None, Meta(description="ISO 8601, UTC; null before the first message")]
    message_count: Annotated[int, Meta(description="Messages of the branch that is shown")]
    total_tokens: Annotated[int, Meta(description="Tokens of all its runs")]
    running: Annotated[bool, Meta(description="Whether a run of it goes on")]


class StoredRow(ToolResult, kw_only=True):
    """A call of an answer."""

    full_command: Annotated[str, Meta(description="The whole of the command")]
    elapsed: Annotated[float | UnsetType, Meta(description="Seconds; absent when it was cut off")] = UNSET
    block: Blocks = UNSET


class StoredRejection(Struct, tag="workspace_rejected", kw_only=True):
    """A folder that could not be used."""

    path: Annotated[str, Meta(description="What was chosen")]
    reason: Annotated[str, Meta(description="Why not, and what to do")]
    block: Blocks = UNSET


class StoredImage(Struct):
    """A picture that was made."""

    url: Annotated[str, Meta(description="Its address on this server")]
    image_id: Annotated[str, Meta(description="Its id")]
    image_prompt: Annotated[str, Meta(description="What was asked for")]
    image_model: Annotated[str, Meta(description="Who made it")]
    image_size: Annotated[str, Meta(description="The size that was asked for; empty for the model's own")]


class StoredFallback(Struct):
    """Another model than the chosen one answered."""

    selected_model: Annotated[str, Meta(description="The model that was chosen")]
    answered_by: Annotated[str, Meta(description="The model that answered")]
    reason: Annotated[str, Meta(description="Why the one before failed")]


class StoredDecision(Struct):
    """The decision that began the run."""

    approval_id: Annotated[str, Meta(description="As on the card")]
    decision: Annotated[ApprovalDecision, Meta(description="What the user decided")]


class Metadata(Struct, kw_only=True):
    """What a reload draws beside the text. Of an answer it holds the terminal record; every field may be absent."""

    record_id: Annotated[int | UnsetType | None, Meta(description="The run's row")] = UNSET
    run_id: Annotated[str | UnsetType, Meta(description="The run")] = UNSET
    session_id: Annotated[str | UnsetType, Meta(description="The session")] = UNSET
    message_id: Annotated[str | UnsetType | None, Meta(description="The answer")] = UNSET
    user_message_id: Annotated[str | UnsetType | None, Meta(description="The question")] = UNSET
    status: Annotated[RunStatus | UnsetType, Meta(description="How the run ended")] = UNSET
    stop_reason: Annotated[StopReason | UnsetType | None, Meta(description="Null when completed")] = UNSET
    finish_reason: Annotated[FinishReason | UnsetType | None, Meta(description="The provider's")] = UNSET
    finish_word: Annotated[str | UnsetType | None, Meta(description="The provider's own word for it")] = UNSET
    partial: Annotated[str | UnsetType | None, Meta(description="The text, when it is not whole")] = UNSET
    model: Annotated[str | UnsetType, Meta(description="Who answered")] = UNSET
    requested_model: Annotated[str | UnsetType, Meta(description="Who was chosen")] = UNSET
    endpoint_id: Annotated[str | UnsetType, Meta(description="Where the answer came from")] = UNSET
    endpoint_label: Annotated[str | UnsetType, Meta(description="Its name for people")] = UNSET
    usage: Annotated[RunUsage | UnsetType, Meta(description="Sums over the run")] = UNSET
    timing: Annotated[RunTiming | UnsetType, Meta(description="When it was")] = UNSET
    rounds: Annotated[int | UnsetType, Meta(description="Requests to a model")] = UNSET
    tool_calls: Annotated[int | UnsetType, Meta(description="Calls that came to an end")] = UNSET
    frames: Annotated[int | UnsetType | None, Meta(description="Frames of the run")] = UNSET
    note: Annotated[str | UnsetType | None, Meta(description="What is to be known of a whole answer")] = UNSET
    failure: Annotated[RunFailure | UnsetType | None, Meta(description="Why it failed")] = UNSET
    thinking: Annotated[str | UnsetType, Meta(description="The reasoning")] = UNSET
    fallback: Annotated[StoredFallback | UnsetType, Meta(description="Who answered instead")] = UNSET
    stopped: Annotated[bool | UnsetType, Meta(description="True when it was stopped or timed out")] = UNSET
    edited: Annotated[bool | UnsetType, Meta(description="True when its text was changed since")] = UNSET
    undone: Annotated[bool | UnsetType, Meta(description="True when its file changes were taken back")] = UNSET
    imported: Annotated[bool | UnsetType, Meta(description="True when it came with an imported file")] = UNSET
    tool_events: Annotated[list[StoredRow] | UnsetType, Meta(description="The calls in order")] = UNSET
    notices: Annotated[
        list[Notice | StoredRejection | CompactedFrame | StoredTrim] | UnsetType,
        Meta(description="Why it ended there, and what was left out"),
    ] = UNSET
    ask_user: Annotated[Asked | UnsetType, Meta(description="The last card")] = UNSET
    plan: Annotated[str | UnsetType, Meta(description="The last plan")] = UNSET
    images: Annotated[list[StoredImage] | UnsetType, Meta(description="The pictures")] = UNSET
    approval: Annotated[StoredDecision | UnsetType, Meta(description="What began the run")] = UNSET
    attachments: Annotated[list[StoredFile] | UnsetType, Meta(description="The files of the message")] = UNSET
    rag_sources: Annotated[list[UsedPassage] | UnsetType, Meta(description="What the library gave")] = UNSET
    web_sources: Annotated[list[UsedPage] | UnsetType, Meta(description="What the web gave")] = UNSET
    memories_used: Annotated[list[UsedMemory] | UnsetType, Meta(description="What was remembered")] = UNSET
    research: Annotated[StoredResearch | UnsetType, Meta(description="The research that it comes from")] = UNSET
    given: Annotated[
        str | UnsetType,
        Meta(description="All the text that the model was given with a question, of it or of one more answer to it"),
    ] = UNSET
    given_outside: Annotated[bool | UnsetType, Meta(description="Whether that text may be what others wrote")] = UNSET


ParentId = Annotated[str | None, Meta(description="The message before it; null for a first one")]


class ExportedMessage(Struct):
    """A stored message."""

    id: Annotated[str, Meta(description="Its id")]
    role: Annotated[Literal["user", "assistant"], Meta(description="Whose it is")]
    content: Annotated[str, Meta(description="Its text, as Markdown")]
    metadata: Annotated[dict[str, Any], Meta(description="What belongs to it, as it is stored")]
    created_at: Time
    parent_id: ParentId
    shown: Annotated[bool, Meta(description="Whether it is on the branch that is shown")]


class Message(Struct):
    """A stored message, ready to be drawn."""

    id: Annotated[str, Meta(description="Its id")]
    role: Annotated[Literal["user", "assistant"], Meta(description="Whose it is")]
    content: Annotated[str, Meta(description="Its text, as Markdown")]
    html: Annotated[str, Meta(description="The answer as safe HTML; empty for the user's words")]
    metadata: Metadata
    created_at: Time
    parent_id: ParentId


class PlacedMessage(Message):
    """A message with those beside it."""

    siblings: Annotated[
        list[str], Meta(description="The messages behind the same one in the order they were made, itself among them")
    ]


class History(Struct):
    """A page of a session's messages, oldest first."""

    history: Annotated[list[PlacedMessage], Meta(description="The messages")]
    total: Annotated[int, Meta(description="How many the branch has")]
    has_more_before: Annotated[bool, Meta(description="Whether there are older ones")]
    name: Annotated[str, Meta(description="The session's name")]
    model: Annotated[str, Meta(description="The session's model")]


class ExportedFile(Struct):
    """A file that a message names."""

    id: Annotated[str, Meta(description="Its id in the metadata")]
    name: Annotated[str, Meta(description="Its name")]
    mime: Annotated[str, Meta(description="What it is")]
    size: Annotated[int, Meta(description="Bytes")]
    sha256: Annotated[str, Meta(description="The hash of its bytes")]
    data: Annotated[
        str | UnsetType, Meta(description="Its bytes in base64; only with `files=1`, while there is room")
    ] = UNSET


class ExportedChat(Struct):
    """A whole session."""

    format: Annotated[Literal["odysseus-chat"], Meta(description="What this file is")]
    version: Annotated[Literal[1], Meta(description="Of the format")]
    exported_at: Time
    session: Session
    messages: Annotated[list[ExportedMessage], Meta(description="All messages of all branches, each after its parent")]
    files: Annotated[list[ExportedFile], Meta(description="The files that the messages name")]


class SearchHit(Struct):
    """A message that has all the words."""

    session_id: Annotated[str, Meta(description="Its session")]
    message_id: Annotated[str, Meta(description="The message")]
    name: Annotated[str, Meta(description="The session's name")]
    snippet: Annotated[str, Meta(description="The text around the first hit")]
    created_at: Time


class ToolInfo(Struct):
    """A tool of the agent."""

    name: Annotated[str, Meta(description="Its name")]
    family: Annotated[str, Meta(description="What it is listed under, for people")]
    description: Annotated[str, Meta(description="What it does, as the model is told")]
    effects: Annotated[list[Effect], Meta(description="What kind of thing it does")]
    policy: Annotated[Policy, Meta(description="Whether it runs at once, asks first, or never runs")]
    default: Annotated[Policy, Meta(description="What the settings say, which holds while nothing else is chosen")]
    fixed: Annotated[bool, Meta(description="Whether the settings deny it, so that nothing else can be chosen")]
    available: Annotated[bool, Meta(description="Whether it can be used here")]
    note: Annotated[str, Meta(description="Why not, in words")]


class ToolServer(Struct):
    """An MCP server that tools come from."""

    name: Annotated[str, Meta(description="Its name")]
    state: Annotated[Literal["starting", "ready", "failed", "missing"], Meta(description="How it is")]
    note: Note


class Toolbox(Struct):
    """What the agent can do on this server."""

    tools: Annotated[list[ToolInfo], Meta(description="The tools")]
    servers: Annotated[list[ToolServer], Meta(description="The MCP servers")]


class Price(Struct):
    """US dollars per million tokens."""

    input: Annotated[float, Meta(description="Of the prompt")]
    output: Annotated[float, Meta(description="Of the answer")]


class ModelInfo(Struct):
    """A model. Null means not known."""

    id: Annotated[str, Meta(description="Its name")]
    context_length: Annotated[int | None, Meta(description="Its window in tokens")]
    tools: Annotated[bool | None, Meta(description="Whether it calls tools")]
    vision: Annotated[bool | None, Meta(description="Whether it takes images")]
    images: Annotated[bool, Meta(description="Whether it answers with pictures")]
    price: Annotated[Price | None, Meta(description="What it costs")]


class EndpointModels(Struct):
    """An endpoint and what it offers."""

    endpoint_id: EndpointId
    endpoint_label: EndpointLabel
    kind: Annotated[EndpointKind, Meta(description="What speaks there")]
    online: Annotated[bool, Meta(description="Whether it can be asked")]
    state: Annotated[
        Literal["ready", "idle", "loading", "failed", "missing", "unreachable"], Meta(description="How it is")
    ]
    note: Note
    models: Annotated[list[ModelInfo], Meta(description="Its models")]


class Default(Struct):
    """What a new session asks."""

    endpoint_id: EndpointId
    model: Annotated[str, Meta(description="The model; empty for the endpoint's first")]
    mode: Annotated[Literal["chat", "agent"], Meta(description="Its mode")]


class Models(Struct):
    """What can be chosen."""

    items: Annotated[list[EndpointModels], Meta(description="The endpoints")]
    default: Default


class Install(Struct):
    """How far an install of the embedded model is."""

    state: Annotated[Literal["idle", "running", "done", "failed"], Meta(description="How it is")]
    name: Annotated[str, Meta(description="The model")]
    received: Annotated[int, Meta(description="Bytes so far")]
    total: Annotated[int | None, Meta(description="Bytes in all, when known")]
    message: Annotated[str, Meta(description="What went wrong, in words")]


class Endpoint(Struct):
    """An endpoint, without its key."""

    id: EndpointId
    label: EndpointLabel
    kind: Annotated[EndpointKind, Meta(description="What speaks there")]
    base_url: Annotated[str, Meta(description="Its address")]
    has_key: Annotated[bool, Meta(description="Whether a key is kept for it")]
    removable: Annotated[bool, Meta(description="Whether it was added here, and not in config.toml")]


class FoundEndpoint(Struct):
    """A model server that answers."""

    label: EndpointLabel
    kind: Annotated[EndpointKind, Meta(description="What speaks there")]
    base_url: Annotated[str, Meta(description="Its address")]
    models: Annotated[list[str], Meta(description="Its models")]


class Health(Struct):
    """The server is up."""

    status: Annotated[Literal["ok"], Meta(description="Always `ok`")]
    version: Annotated[str, Meta(description="The server's version")]
    runs: Annotated[int, Meta(description="Runs that go on")]
    uptime: Annotated[float, Meta(description="Seconds since the start")]
    max_file_bytes: Annotated[int, Meta(description="The largest file that can be sent")]
