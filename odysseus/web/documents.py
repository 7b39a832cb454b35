"""Documents: the texts that user and agent work on, their versions, what is suggested for them, how they look."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any, Literal
from urllib.parse import quote

from aiohttp import web
from msgspec import UNSET, Meta, Struct, UnsetType

from odysseus.clock import iso
from odysseus.errors import BadRequest, NotFound
from odysseus.render.preview import preview
from odysseus.store.documents import (
    CONTENT_LIMIT,
    MARKDOWN,
    Document,
    DocumentEntry,
    DocumentStore,
    Suggestion,
    VersionEntry,
)
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import read
from odysseus.web.document_saving import Clash, Edit, applied, check_length, save
from odysseus.web.services import services
from odysseus.web.uploads import CLOSED

TITLE = "Untitled"
QUERY_MOST = 200

Title = Annotated[str, Meta(max_length=200, description="One line; an empty one is `Untitled`")]
Language = Annotated[
    str,
    Meta(
        pattern=r"^([A-Za-z0-9][A-Za-z0-9+#._-]{0,39})?$",
        description="`markdown`, `text`, `csv`, `html` or a language of code; empty is markdown",
    ),
]
Content = Annotated[str, Meta(description=f"The whole text, at most {CONTENT_LIMIT:,} characters")]
Number = Annotated[int, Meta(ge=1, le=2**53, description="A version")]


class NewDocument(Struct, frozen=True, kw_only=True):
    """A document to begin."""

    title: Title = TITLE
    language: Language = MARKDOWN
    content: Content = ""
    session: Annotated[str, Meta(description="The chat it belongs to; empty for none")] = ""


class DocumentChange(Struct, frozen=True, kw_only=True):
    """What is given is set. A text goes with the version it was made on."""

    title: Title | UnsetType = UNSET
    language: Language | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    version: Annotated[Number | UnsetType, Meta(description="The version that the text was made on")] = UNSET
    base: Annotated[
        str | UnsetType, Meta(description="The text that it was made on, where that is not the version's own")
    ] = UNSET


class Restore(Struct, frozen=True, kw_only=True):
    """An old version to take up again."""

    version: Number


class SuggestionDecision(Struct, frozen=True, kw_only=True):
    """What becomes of a suggestion."""

    decision: Annotated[Literal["accept", "reject"], Meta(description="Take it into the text, or leave it")]


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/documents"""
    session = clean_text(request.query.get("session", "")) or None
    query = clean_text(request.query.get("q", "")).strip()[:QUERY_MOST]
    return json_answer([_entry(one) for one in await _store(request).list(session, query)])


@completes
async def create(request: web.Request) -> web.StreamResponse:
    """POST /api/documents"""
    body = await read(request, NewDocument)
    content = check_length(body.content, CONTENT_LIMIT)
    made = await _store(request).create(
        body.session or None, _title(body.title), content, body.language or MARKDOWN, "user"
    )
    return json_answer(_document(made))


async def show(request: web.Request) -> web.StreamResponse:
    """GET /api/documents/{document}"""
    return json_answer(_document(await _store(request).get(None, _id(request))))


@completes
async def change(request: web.Request) -> web.StreamResponse:
    """PATCH /api/documents/{document}: a text that cannot be merged is refused with all texts."""
    body = await read(request, DocumentChange)
    store, document_id, merged = _store(request), _id(request), False
    edit = _edit(body)
    if edit:
        try:
            merged = (await save(store, document_id, edit)).merged
        except Clash as clash:
            return json_answer(clash.told(), 409)
    title = None if body.title is UNSET else _title(body.title)
    language = None if body.language is UNSET else body.language or MARKDOWN
    document = await store.describe(document_id, title, language)
    return json_answer({**_document(document), "merged": merged})


@completes
async def delete(request: web.Request) -> web.StreamResponse:
    """DELETE /api/documents/{document}"""
    await _store(request).delete(_id(request))
    return json_answer({"status": "deleted"})


async def versions(request: web.Request) -> web.StreamResponse:
    """GET /api/documents/{document}/versions"""
    return json_answer([_version(one) for one in await _store(request).versions(_id(request))])


async def version(request: web.Request) -> web.StreamResponse:
    """GET /api/documents/{document}/versions/{version}"""
    number = request.match_info["version"]
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise NotFound("There is no such version: a version is a number, like 3.")
    return json_answer(_document(await _store(request).get(None, _id(request), int(number))))


@completes
async def restore(request: web.Request) -> web.StreamResponse:
    """POST /api/documents/{document}/restore: the old text as a new version."""
    body = await read(request, Restore)
    old = await _store(request).get(None, _id(request), body.version)
    return json_answer(_document(await _store(request).revise(None, old.id, "user", lambda _: old.content)))


async def suggestions(request: web.Request) -> web.StreamResponse:
    """GET /api/documents/{document}/suggestions"""
    document = await _store(request).get(None, _id(request))
    return json_answer([_suggestion(one) for one in await _store(request).suggestions(None, document.id)])


@completes
async def decide(request: web.Request) -> web.StreamResponse:
    """POST /api/documents/{document}/suggestions/{suggestion}"""
    body = await read(request, SuggestionDecision)
    suggestion = clean_text(request.match_info["suggestion"])
    taken = applied if body.decision == "accept" else None
    return json_answer(_document(await _store(request).decide(_id(request), suggestion, taken)))


async def look(request: web.Request) -> web.StreamResponse:
    """GET /api/documents/{document}/preview"""
    document = await _store(request).get(None, _id(request))
    made = await asyncio.to_thread(preview, document.content, document.language)
    return json_answer({"version": document.version, "kind": made.kind, "html": made.html, "note": made.note})


async def download(request: web.Request) -> web.StreamResponse:
    """GET /api/documents/{document}/download"""
    document = await _store(request).get(None, _id(request))
    name = quote(await asyncio.to_thread(file_name, document.title, document.language), safe="", errors="replace")
    return web.Response(
        body=document.content.encode(),
        headers={
            "Content-Type": "application/octet-stream",
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
            "Content-Security-Policy": CLOSED,
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )


_ENDINGS = {"markdown": ".md", "md": ".md", "text": ".txt", "csv": ".csv", "tsv": ".tsv", "html": ".html"}
_UNFIT = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\u202a-\u202e\u2066-\u2069]+')


def file_name(title: str, language: str) -> str:
    """A name that any system takes, with the language's ending once. Slow at first: call it in a thread."""
    name = " ".join(_UNFIT.sub(" ", title).split()).strip(" .")[:150] or TITLE
    ending = _ENDINGS.get(language.lower()) or _code_ending(language)
    return name if name.lower().endswith(ending) else name + ending


def _code_ending(language: str) -> str:
    from pygments.lexers import find_lexer_class_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        patterns = find_lexer_class_by_name(language).filenames
    except ClassNotFound:
        return ".txt"
    return next((one[1:] for one in patterns if re.fullmatch(r"\*\.\w+", one)), ".txt")


def _store(request: web.Request) -> DocumentStore:
    return services(request).documents


def _id(request: web.Request) -> str:
    return clean_text(request.match_info["document"])


def _title(title: str) -> str:
    return " ".join(title.split()) or TITLE


def _edit(body: DocumentChange) -> Edit | None:
    if body.content is UNSET:
        return None
    if body.version is UNSET:
        raise BadRequest("Field 'version' is required with `content`: the version that the text was made on.")
    content = check_length(body.content, CONTENT_LIMIT)
    return Edit(content, body.version, None if body.base is UNSET else check_length(body.base, CONTENT_LIMIT))


def _document(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "session_id": document.session_id,
        "title": document.title,
        "language": document.language,
        "version": document.version,
        "content": document.content,
        "created_at": iso(document.created_at),
        "updated_at": iso(document.updated_at),
    }


def _entry(entry: DocumentEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "session_id": entry.session_id,
        "title": entry.title,
        "language": entry.language,
        "version": entry.version,
        "characters": entry.characters,
        "updated_at": iso(entry.updated_at),
    }


def _version(entry: VersionEntry) -> dict[str, Any]:
    return {
        "version": entry.version,
        "author": entry.author,
        "characters": entry.characters,
        "created_at": iso(entry.created_at),
    }


def _suggestion(suggestion: Suggestion) -> dict[str, Any]:
    return {
        "id": suggestion.id,
        "version": suggestion.version,
        "find": suggestion.find,
        "replace": suggestion.replacement,
        "reason": suggestion.reason,
        "state": suggestion.state,
    }
