"""What a run was given and what its tools made: context, documents, pictures, plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ImageMade:
    """A picture that a tool made."""

    url: str
    image_id: str
    image_prompt: str
    image_model: str
    image_size: str


@dataclass(frozen=True, slots=True)
class UiControlled:
    """The agent asks the page for one of the contract's actions."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlanUpdated:
    """The whole plan, as a Markdown checklist."""

    plan: str


@dataclass(frozen=True, slots=True)
class WorkspaceRejected:
    """The wished workspace cannot be used; the run works in the session's own folder."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FilesAttached:
    """The files of a message as they were read (the contract's `attachments.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class QuestionGiven:
    """The text that stands before the user's words in the prompt, kept for later ones. Internal: has no frame.

    `outside` says whether more than the user's own memories is in it.
    """

    text: str
    outside: bool = True


@dataclass(frozen=True, slots=True)
class PassagesUsed:
    """Passages of the user's library that the model was given (the contract's `rag_sources.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class WebSourcesUsed:
    """Web results that the model was given before it answered (the contract's `web_sources.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class MemoriesUsed:
    """Memories that the model was given (the contract's `memories_used.data`)."""

    data: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Compacted:
    """Older turns were summarised for the model; the history keeps them. `context_length` in tokens."""

    context_length: int
    messages_compacted: int


@dataclass(frozen=True, slots=True)
class ContextTrimmed:
    """Older messages were left out for the model, since the window is full. Tokens are as counted."""

    context_length: int
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """A document operation was accepted; its text follows."""

    title: str
    language: str


@dataclass(frozen=True, slots=True)
class DocumentWritten:
    """The whole text of the document that was opened."""

    content: str


@dataclass(frozen=True, slots=True)
class DocumentUpdated:
    """A document's new version."""

    doc_id: str
    content: str
    version: int
    title: str
    language: str


@dataclass(frozen=True, slots=True)
class DocumentSuggested:
    """Changes that the user may take or leave: id, find, replace, reason each."""

    doc_id: str
    suggestions: Sequence[Mapping[str, str]]
