"""The calls for documents: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from odysseus.web import documents
from odysseus.web.openapi import answers
from odysseus.web.openapi.operation import CHANGES, JSON, Answer, Body, Operation, Parameter, of_file, said
from odysseus.web.openapi.run_shapes import Time

DocumentId = Annotated[str, Meta(description="Its id")]
OfSession = Annotated[str | None, Meta(description="The chat it belongs to; null for none")]
DocumentTitle = Annotated[str, Meta(description="Its title, on one line")]
DocumentLanguage = Annotated[str, Meta(description="Like markdown, text, csv, html or python")]
Version = Annotated[int, Meta(description="The version, from 1")]
Characters = Annotated[int, Meta(description="How long its text is")]
Text = Annotated[str, Meta(description="The whole text")]


class DocumentEntry(Struct, kw_only=True):
    """A document in a list."""

    id: DocumentId
    session_id: OfSession
    title: DocumentTitle
    language: DocumentLanguage
    version: Version
    characters: Characters
    updated_at: Time


class Document(Struct, kw_only=True):
    """A document in one of its versions."""

    id: DocumentId
    session_id: OfSession
    title: DocumentTitle
    language: DocumentLanguage
    version: Version
    content: Text
    created_at: Time
    updated_at: Time


class SavedDocument(Document, kw_only=True):
    """A document as it is now."""

    merged: Annotated[bool, Meta(description="Whether it holds more than was sent, since others have written too")]


class DocumentClash(Struct, kw_only=True):
    """Both have changed the same place. Nothing was stored."""

    error: Annotated[str, Meta(description="Words for the user")]
    status: Annotated[int, Meta(description="The HTTP status")]
    yours: Annotated[str, Meta(description="The text that was sent")]
    base: Annotated[str, Meta(description="The text that it was made on")]
    current: Annotated[str, Meta(description="The text of the newest version")]
    version: Annotated[int, Meta(description="The newest version; send it with the text that is chosen")]
    both: Annotated[str, Meta(description="A text that holds both, one after the other where they touch")]


class DocumentVersion(Struct, kw_only=True):
    """A version, without its text."""

    version: Version
    author: Annotated[Literal["user", "agent"], Meta(description="Who wrote it")]
    characters: Characters
    created_at: Time


class DocumentSuggestion(Struct, kw_only=True):
    """A change that may be taken or left."""

    id: DocumentId
    version: Annotated[int, Meta(description="The version that it was made on")]
    find: Annotated[str, Meta(description="The text that it replaces")]
    replace: Annotated[str, Meta(description="The text in its place")]
    reason: Annotated[str, Meta(description="Why; may be empty")]
    state: Annotated[Literal["open", "accepted", "rejected"], Meta(description="What became of it")]


class DocumentPreview(Struct, kw_only=True):
    """A document to look at."""

    version: Version
    kind: Annotated[Literal["markdown", "table", "html", "code"], Meta(description="What it is shown as")]
    html: Annotated[str, Meta(description="Safe HTML. Pages are inert: no scripts, styles, links, nothing loaded")]
    note: Annotated[str, Meta(description="What is left out; empty when nothing is")]


DOCUMENT = Parameter("document", "path", "The document's id")

DOCUMENTS: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/documents",
        id="listDocuments",
        tag="Documents",
        summary="List documents",
        parameters=(
            Parameter("session", "query", "Only those of this chat, and those that were opened in it"),
            Parameter("q", "query", "Only those that have this in title or text"),
        ),
        answers=said("The documents, the last changed first, at most 500", list[DocumentEntry]),
    ),
    Operation(
        method="post",
        path="/api/documents",
        id="addDocument",
        tag="Documents",
        summary="Begin a document",
        body=Body(documents.NewDocument, required=False, example={"title": "Letter", "content": "Dear Ann,"}),
        answers=said("The document", Document),
        errors=(*CHANGES, 409),
    ),
    Operation(
        method="get",
        path="/api/documents/{document}",
        id="getDocument",
        tag="Documents",
        summary="Read a document in its newest version",
        parameters=(DOCUMENT,),
        answers=said("The document", Document),
        errors=(404,),
    ),
    Operation(
        method="patch",
        path="/api/documents/{document}",
        id="changeDocument",
        tag="Documents",
        summary="Save a text, or set title and language",
        description="A text that was made on an old version is merged with what was written since. Where both touch "
        "the same place it is refused with 409 and all texts, and nothing is stored. The same text makes no version.",
        parameters=(DOCUMENT,),
        body=Body(documents.DocumentChange, required=False, example={"content": "Dear Ann, dear Bo,", "version": 1}),
        answers={
            **said("The document as it is now", SavedDocument),
            409: Answer("Both have changed the same place", {JSON: DocumentClash}),
        },
        errors=CHANGES,
    ),
    Operation(
        method="delete",
        path="/api/documents/{document}",
        id="deleteDocument",
        tag="Documents",
        summary="Delete a document with all its versions",
        parameters=(DOCUMENT,),
        answers=said("It is gone", answers.Deleted),
        errors=CHANGES,
    ),
    Operation(
        method="get",
        path="/api/documents/{document}/versions",
        id="listVersions",
        tag="Documents",
        summary="List a document's versions",
        parameters=(DOCUMENT,),
        answers=said("The versions, the newest first", list[DocumentVersion]),
        errors=(404,),
    ),
    Operation(
        method="get",
        path="/api/documents/{document}/versions/{version}",
        id="getVersion",
        tag="Documents",
        summary="Read one version",
        parameters=(DOCUMENT, Parameter("version", "path", "The version's number")),
        answers=said("The document in this version", Document),
        errors=(404,),
    ),
    Operation(
        method="post",
        path="/api/documents/{document}/restore",
        id="restoreVersion",
        tag="Documents",
        summary="Make an old version the newest",
        parameters=(DOCUMENT,),
        body=Body(documents.Restore, example={"version": 1}),
        answers=said("The document as it is now", Document),
        errors=CHANGES,
    ),
    Operation(
        method="get",
        path="/api/documents/{document}/suggestions",
        id="listSuggestions",
        tag="Documents",
        summary="List what was suggested for a document",
        parameters=(DOCUMENT,),
        answers=said("The suggestions, oldest first, whatever became of them", list[DocumentSuggestion]),
        errors=(404,),
    ),
    Operation(
        method="post",
        path="/api/documents/{document}/suggestions/{suggestion}",
        id="decideSuggestion",
        tag="Documents",
        summary="Take or leave a suggestion",
        description="One that no longer fits the text is refused with 409 and stays open.",
        parameters=(DOCUMENT, Parameter("suggestion", "path", "The suggestion's id")),
        body=Body(documents.SuggestionDecision, example={"decision": "accept"}),
        answers=said("The document as it is now", Document),
        errors=(*CHANGES, 409),
    ),
    Operation(
        method="get",
        path="/api/documents/{document}/preview",
        id="previewDocument",
        tag="Documents",
        summary="Look at a document",
        description="Markdown is rendered, code coloured, CSV is a table of at most 500 rows, and HTML is shown inert.",
        parameters=(DOCUMENT,),
        answers=said("The newest version as HTML", DocumentPreview),
        errors=(404,),
    ),
    Operation(
        method="get",
        path="/api/documents/{document}/download",
        id="downloadDocument",
        tag="Documents",
        summary="Download a document as a file",
        parameters=(DOCUMENT,),
        answers={200: of_file("The text, in UTF-8", "application/octet-stream")[200]},
        errors=(404,),
    ),
)
