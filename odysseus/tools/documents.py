"""Tools for the chat's documents: write, edit, suggest, read. Each change is a version of its own.

Knows the store's documents and nothing of the editor that shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from odysseus.errors import NotFound
from odysseus.events import DocumentOpened, DocumentSuggested, DocumentUpdated, DocumentWritten
from odysseus.store.documents import CONTENT_LIMIT, MARKDOWN, Document, DocumentStore
from odysseus.text import clean_text
from odysseus.tools.base import Arguments, Preview, Tool, ToolContext, ToolError, ToolResult, make_tool, one_line

READ_LIMIT = 15_000
LINES = 2000
_LINE = re.compile(r"[^\n]*\n|[^\n]+")

DocId = Annotated[str, Meta(min_length=1, max_length=64, description="The document's id.")]
Content = Annotated[str, Meta(max_length=CONTENT_LIMIT, description="The whole text.")]
Find = Annotated[
    str,
    Meta(min_length=1, max_length=CONTENT_LIMIT, description="Text exactly as in the document; it must occur once."),
]
Replace = Annotated[str, Meta(max_length=CONTENT_LIMIT, description="Text to put there; empty deletes it.")]


class CreateDocument(Arguments, frozen=True):
    """Arguments of create_document."""

    title: Annotated[str, Meta(min_length=1, max_length=200, description="A short title.")]
    content: Content
    language: Annotated[
        str,
        Meta(pattern=r"^([A-Za-z0-9][A-Za-z0-9+#._-]{0,39})?$", description="Like markdown, text, python or html."),
    ] = MARKDOWN


class Edit(Arguments, frozen=True):
    """One exact replacement."""

    find: Find
    replace: Replace


class EditDocument(Arguments, frozen=True):
    """Arguments of edit_document."""

    doc_id: DocId
    edits: Annotated[tuple[Edit, ...], Meta(max_length=50, description="Replacements, made one after the other.")] = ()
    content: (
        Annotated[
            str, Meta(max_length=CONTENT_LIMIT, description="The whole new text, in place of edits, for a rewrite.")
        ]
        | UnsetType
    ) = UNSET
    version: Annotated[int, Meta(ge=0, description="The version you have read; 0 is whatever is newest.")] = 0


class Suggested(Arguments, frozen=True):
    """One change to suggest."""

    find: Find
    replace: Replace
    reason: Annotated[str, Meta(max_length=500, description="Why, in one sentence.")] = ""


class SuggestDocument(Arguments, frozen=True):
    """Arguments of suggest_document."""

    doc_id: DocId
    suggestions: Annotated[tuple[Suggested, ...], Meta(min_length=1, max_length=50)]


class ReadDocument(Arguments, frozen=True):
    """Arguments of read_document."""

    doc_id: Annotated[str, Meta(max_length=64, description="The document's id; empty lists the documents.")] = ""
    offset: Annotated[int, Meta(ge=1, description="The first line to read, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=LINES, description="How many lines.")] = LINES


def document_tools(store: DocumentStore) -> Sequence[Tool]:
    """The document tools over this store."""
    documents = _Documents(store)
    return (
        make_tool(
            "create_document",
            "Write a new document that the user sees beside the chat, for texts to keep and work on.",
            CreateDocument,
            documents.create,
            ["write"],
            command=lambda given: one_line(given.title),
            preview=documents.preview_create,
        ),
        make_tool(
            "edit_document",
            "Change a document of this chat by exact replacements, or write it anew.",
            EditDocument,
            documents.edit,
            ["write"],
            preview=documents.preview_edit,
        ),
        make_tool(
            "suggest_document",
            "Suggest changes to a document that the user may take or leave; the text stays as it is.",
            SuggestDocument,
            documents.suggest,
            ["write"],
            preview=documents.preview_suggest,
        ),
        make_tool(
            "read_document",
            "Read a document of this chat, or list the documents.",
            ReadDocument,
            documents.read,
            ["read"],
        ),
    )


class _Documents:
    """The work of the tools."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store

    async def create(self, given: CreateDocument, context: ToolContext) -> ToolResult:
        title = one_line(clean_text(given.title)) or "Untitled"
        language = given.language.strip() or MARKDOWN
        made = await self._store.create(context.session_id, title, _text(given.content), language)
        return _written(made, f"Created document {_called(made)}.")

    async def preview_create(self, given: CreateDocument, _: ToolContext) -> Preview:
        return Preview(f"# {one_line(given.title)} ({given.language})\n\n{given.content}")

    async def edit(self, given: EditDocument, context: ToolContext) -> ToolResult:
        with _finding():
            made = await self._store.revise(
                context.session_id, given.doc_id.strip(), "agent", lambda newest: _edited(newest, given)
            )
        return _written(made, f"Edited document {_called(made)}.")

    async def preview_edit(self, given: EditDocument, context: ToolContext) -> Preview:
        document = await self._found(given.doc_id, context)
        _edited(document, given)
        changes = _changes((edit.find, edit.replace, "") for edit in given.edits)
        return _preview(document, changes if given.edits else str(given.content))

    async def suggest(self, given: SuggestDocument, context: ToolContext) -> ToolResult:
        with _finding():
            document, kept = await self._store.suggest(
                context.session_id, given.doc_id.strip(), lambda newest: _suggestions(newest, given)
            )
        shown = [{"id": one.id, "find": one.find, "replace": one.replacement, "reason": one.reason} for one in kept]
        return ToolResult(
            f"Suggested {len(kept)} change{'s' if len(kept) > 1 else ''} to document {_called(document)}. "
            "The user takes or leaves each.",
            extras=_extras(document),
            events=[DocumentSuggested(document.id, shown)],
        )

    async def preview_suggest(self, given: SuggestDocument, context: ToolContext) -> Preview:
        document = await self._found(given.doc_id, context)
        _suggestions(document, given)
        return _preview(document, _changes((one.find, one.replace, one.reason) for one in given.suggestions))

    async def read(self, given: ReadDocument, context: ToolContext) -> ToolResult:
        if not given.doc_id.strip():
            return await self._list(context)
        document = await self._found(given.doc_id, context)
        lines = _LINE.findall(document.content)
        if given.offset > max(1, len(lines)):
            raise ToolError(f"The document has {len(lines):,} lines; an offset of {given.offset:,} is behind its end.")
        text, last = _slice(lines, given.offset, given.limit)
        head = f"Document {_called(document)}, {document.language}, lines {given.offset} to {last} of {len(lines)}:"
        more = f"\n[Read on with offset {last + 1}.]" if last < len(lines) else ""
        return ToolResult(f"{head}\n{text}{more}" if lines else f"{head.rpartition(',')[0]}, empty.")

    async def _list(self, context: ToolContext) -> ToolResult:
        entries = await self._store.list(context.session_id)
        lines = [
            f"{entry.id}  {entry.title} ({entry.language}, version {entry.version}, {entry.characters:,} characters)"
            for entry in entries
        ]
        return ToolResult("\n".join(lines) or "This chat has no documents yet.")

    async def _found(self, doc_id: str, context: ToolContext) -> Document:
        with _finding():
            return await self._store.get(context.session_id, doc_id.strip())


@contextmanager
def _finding() -> Iterator[None]:
    """A document that is not there is told with the way to those that are."""
    try:
        yield
    except NotFound as error:
        raise ToolError(f"{error.message} read_document without doc_id lists them.") from error


def _edited(newest: Document, given: EditDocument) -> str:
    """The document's text after the edit. Raises ToolError when it does not fit."""
    stale = _check_version(newest, given.version)
    if bool(given.edits) == (given.content is not UNSET):
        raise ToolError("Give either edits or content.")
    if given.content is not UNSET:
        if stale:
            raise ToolError(f"{stale} The whole text would undo what has changed since. Read it again, then edit it.")
        text = _text(given.content)
    else:
        text = newest.content
        for number, edit in enumerate(given.edits, 1):
            find = _text(edit.find)
            _check_once(text, find, f"Edit {number}", stale)
            text = text.replace(find, _text(edit.replace), 1)
    if len(text) > CONTENT_LIMIT:
        raise ToolError(f"The document would be over {CONTENT_LIMIT:,} characters. Make it shorter, or two of it.")
    if text == newest.content:
        raise ToolError("The edit changes nothing: the document has this text already.")
    return text


def _suggestions(newest: Document, given: SuggestDocument) -> Sequence[Mapping[str, str]]:
    """The suggestions to keep. Raises ToolError when one does not fit."""
    kept = []
    for number, one in enumerate(given.suggestions, 1):
        find, replace = _text(one.find), _text(one.replace)
        _check_once(newest.content, find, f"Suggestion {number}")
        if find == replace:
            raise ToolError(f"Suggestion {number} changes nothing.")
        kept.append({"find": find, "replace": replace, "reason": clean_text(one.reason)})
    return kept


def _check_version(newest: Document, version: int) -> str:
    """A sentence when the document has moved on since `version`, else nothing."""
    if version > newest.version:
        raise ToolError(f"The document has no version {version}; the newest is {newest.version}.")
    if version and version < newest.version:
        return f"You edit version {version}, and the document is at version {newest.version} by now."
    return ""


def _check_once(text: str, find: str, what: str, stale: str = "") -> None:
    first = text.find(find)
    if first >= 0 and text.find(find, first + 1) < 0:
        return
    why = "the text to find is not in it" if first < 0 else "the text to find is in it more than once"
    cure = "Copy it exactly from read_document" if first < 0 else "Take more of the text around it"
    raise ToolError(f"{stale} {what} does not fit the document: {why}. {cure}. Nothing was changed.".strip())


def _written(document: Document, said: str) -> ToolResult:
    return ToolResult(
        said,
        extras=_extras(document),
        events=[
            DocumentOpened(document.title, document.language),
            DocumentWritten(document.content),
            DocumentUpdated(document.id, document.content, document.version, document.title, document.language),
        ],
    )


def _extras(document: Document) -> Mapping[str, Any]:
    return {
        "doc_id": document.id,
        "document_title": document.title,
        "document_language": document.language,
        "document_version": document.version,
    }


def _called(document: Document) -> str:
    return f"{document.id} “{document.title}” (version {document.version}, {len(document.content):,} characters)"


def _text(text: str) -> str:
    """Text as documents hold it: line feeds only."""
    return clean_text(text).replace("\r\n", "\n").replace("\r", "\n")


def _slice(lines: Sequence[str], offset: int, limit: int) -> tuple[str, int]:
    """Whole lines from `offset` within the limits, at least one, and the number of the last."""
    taken: list[str] = []
    room = READ_LIMIT
    for line in lines[offset - 1 : offset - 1 + limit]:
        if taken and len(line) > room:
            break
        taken.append(line)
        room -= len(line)
    return "".join(taken), offset - 1 + len(taken)


def _preview(document: Document, content: str) -> Preview:
    return Preview(f"{_called(document)}\n\n{content}", f"{document.id}:{document.version}")


def _changes(changes: Iterable[tuple[str, str, str]]) -> str:
    """Find, replace and reason of each change, for people."""
    shown = []
    for find, replace, reason in changes:
        lines = [f"- {line}" for line in find.split("\n")] + [f"+ {line}" for line in replace.split("\n")]
        shown.append("\n".join([*lines, *([f"  ({reason})"] if reason else [])]))
    return "\n\n".join(shown)
