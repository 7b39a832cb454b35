"""The frames of what a model was given with a question, as types to describe them, and as the history keeps them.

Tests hold them to the dialect.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.web.openapi.run_shapes import Blocks

Extraction = Annotated[
    Literal["text", "ocr", "image", "none", "failed"],
    Meta(description="What the model got: text, text read in a picture, the picture itself, nothing, or unreadable"),
]
Pixels = Annotated[int | None, Meta(description="Of a picture, in pixels")]
Given = Annotated[int, Meta(description="Characters of its text that the model was given")]
Why = Annotated[str | UnsetType, Meta(description="What was left out or wrong; absent when nothing is")]
WholeWindow = Annotated[int, Meta(description="The model's window in tokens")]
Before = Annotated[int, Meta(description="Messages without that")]
After = Annotated[int, Meta(description="Messages that are sent")]
TokensBefore = Annotated[int, Meta(description="Tokens without that")]
TokensAfter = Annotated[int, Meta(description="Tokens that are sent")]


class NamedFile(Struct, kw_only=True):
    """A file of a message."""

    id: Annotated[str, Meta(description="Its id, as from the upload")]
    name: Annotated[str, Meta(description="Its name")]
    mime: Annotated[str, Meta(description="What it is by its content")]
    size: Annotated[int, Meta(description="Bytes")]


class GivenFile(NamedFile, kw_only=True):
    """A file of a message, and what of it the model was given."""

    width: Pixels
    height: Pixels
    text_chars: Given
    extraction: Extraction
    note: Why = UNSET


class StoredFile(NamedFile, kw_only=True):
    """The same in the history. A question has the first four; an answer has what the model was given."""

    width: Pixels | UnsetType = UNSET
    height: Pixels | UnsetType = UNSET
    text_chars: Given | UnsetType = UNSET
    extraction: Extraction | UnsetType = UNSET
    note: Why = UNSET


class UsedPassage(Struct):
    """A passage of the user's library."""

    doc_id: Annotated[str, Meta(description="Its document")]
    filename: Annotated[str, Meta(description="The document's name")]
    snippet: Annotated[str, Meta(description="Its beginning, at most 200 characters")]
    similarity: Annotated[float, Meta(ge=0, le=1, description="How near it is to the message")]
    page: Annotated[int | UnsetType, Meta(description="The page it is on, where the document has pages")] = UNSET


class UsedPage(Struct):
    """A result of the web, or an address in the message."""

    url: Annotated[str, Meta(description="Its address, http or https")]
    title: Annotated[str, Meta(description="Its title; the address when there is none")]
    snippet: Annotated[str, Meta(description="What it says, in a line")]
    domain: Annotated[str, Meta(description="The host in the address")]


class UsedMemory(Struct):
    """Something that is remembered of the user."""

    id: Annotated[str, Meta(description="Its id")]
    text: Annotated[str, Meta(description="The fact")]
    category: Annotated[str, Meta(description="Like fact, preference, person or project")]
    type: Annotated[Literal["pinned", "recalled"], Meta(description="Always given, or near to the message")]


class AttachmentsFrame(Struct, tag="attachments"):
    """The files of the message, in its order, and what of them the model was given."""

    data: Annotated[list[GivenFile], Meta(description="The files")]


class RagSourcesFrame(Struct, tag="rag_sources"):
    """The passages of the library that the model was given, best first."""

    data: Annotated[list[UsedPassage], Meta(description="The passages")]


class WebSourcesFrame(Struct, tag="web_sources"):
    """The pages and results that the model was given, in the order of their numbers."""

    data: Annotated[list[UsedPage], Meta(description="The sources")]


class MemoriesUsedFrame(Struct, tag="memories_used"):
    """The memories that the model was given."""

    data: Annotated[list[UsedMemory], Meta(description="The memories")]


class CompactedFrame(Struct, tag="compacted", kw_only=True):
    """Older turns were summarised for the model. The history keeps them."""

    context_length: WholeWindow
    messages_compacted: Annotated[int, Meta(description="Messages that the summary newly stands for")]
    block: Blocks = UNSET


class TrimFigures(Struct):
    """What was there, and what is left."""

    context_length: WholeWindow
    messages_before: Before
    messages_after: After
    tokens_before: TokensBefore
    tokens_after: TokensAfter


class ContextTrimmedFrame(Struct, tag="context_trimmed"):
    """The window is full, and something of the conversation was left out for the model. The history keeps it."""

    data: TrimFigures


class StoredTrim(Struct, tag="context_trimmed", kw_only=True):
    """The same as a notice of the history."""

    context_length: WholeWindow
    messages_before: Before
    messages_after: After
    tokens_before: TokensBefore
    tokens_after: TokensAfter
    block: Blocks = UNSET
