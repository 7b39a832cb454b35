"""The library: what the user adds to it and takes out, how far its indexing is, and a search to try it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from aiohttp import web
from msgspec import Meta, Struct

from odysseus.clock import iso
from odysseus.dialects.sse import EventStream, NextBytes, data_frame, serve
from odysseus.errors import BadRequest
from odysseus.retrieval.index import Passage
from odysseus.retrieval.library import Entry, Library
from odysseus.retrieval.progress import Progress
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import read
from odysseus.web.services import services

FOUND = 10
"""How many passages a search gives."""
QUERY_MOST = 2_000


class NewSource(Struct, frozen=True, kw_only=True):
    """What to add: one of the two. What is in the library already is compared with the disk again."""

    path: Annotated[str, Meta(description="Whole path of a file or folder on the server's machine")] = ""
    upload_id: Annotated[str, Meta(description="The id of a file that was sent")] = ""


@completes
async def add(request: web.Request) -> web.StreamResponse:
    """POST /api/library"""
    body = await read(request, NewSource)
    if bool(body.path.strip()) == bool(body.upload_id):
        raise BadRequest("Give either `path` or `upload_id`.")
    library = services(request).library
    source = await (library.add_upload(body.upload_id) if body.upload_id else library.add_path(body.path))
    return json_answer(entry_json(await library.entry(source.id)), 202)


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/library"""
    library = services(request).library
    entries = await library.entries()
    return json_answer({"items": [entry_json(entry) for entry in entries], **_totals(library, entries)})


@completes
async def remove(request: web.Request) -> web.StreamResponse:
    """DELETE /api/library/{source}"""
    await services(request).library.remove(_id(request))
    return json_answer({"status": "deleted"})


@completes
async def refresh(request: web.Request) -> web.StreamResponse:
    """POST /api/library/{source}/refresh"""
    library = services(request).library
    source = await library.refresh(_id(request))
    return json_answer(entry_json(await library.entry(source.id)), 202)


async def search(request: web.Request) -> web.StreamResponse:
    """GET /api/library/search"""
    retrieval = services(request).library.retrieval
    found = await retrieval.search(clean_text(request.query.get("q", ""))[:QUERY_MOST], FOUND)
    mode, note = retrieval.mode()
    return json_answer({"items": [passage_json(passage) for passage in found], "mode": mode, "note": note})


async def progress(request: web.Request) -> web.StreamResponse:
    """GET /api/library/progress"""
    services_ = services(request)
    await services_.library.entries()  # a store that cannot be read is told before the stream begins
    server = services_.config.server
    stream = EventStream(heartbeat=server.heartbeat, send_timeout=server.send_timeout, headers={})
    return await serve(request, stream, _frames(services_.library))


def _frames(library: Library) -> NextBytes:
    """A frame for each change that is seen, then `final`. A slow reader misses some of those between."""
    seen, ended = -1, False

    async def next_bytes() -> bytes:
        nonlocal seen, ended
        if ended:
            return b""
        now = await library.board.after(seen)
        seen = library.board.version
        if now.running:
            return data_frame(progress_json(now))
        ended = True
        return data_frame({"type": "final", **_totals(library, await library.entries())})

    return next_bytes


def progress_json(now: Progress) -> dict[str, Any]:
    """How far the indexing is."""
    return {
        "type": "progress",
        "source_id": now.source_id or None,
        "name": now.name,
        "done": now.done,
        "total": now.total,
        "file": now.file,
        "failed": now.failed,
    }


def _totals(library: Library, entries: Sequence[Entry]) -> dict[str, Any]:
    mode, note = library.retrieval.mode()
    return {
        "mode": mode,
        "note": note,
        "documents": sum(entry.counts.documents for entry in entries),
        "chunks": sum(entry.counts.chunks for entry in entries),
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """A source as clients see it."""
    source, counts = entry.source, entry.counts
    return {
        "id": source.id,
        "kind": source.kind,
        "name": source.name,
        "path": None if source.kind == "upload" else source.place,
        "upload_id": source.place if source.kind == "upload" else None,
        "state": "indexing" if entry.indexing and source.state == "waiting" else source.state,
        "note": source.note,
        "documents": counts.documents,
        "chunks": counts.chunks,
        "failed": counts.failed,
        "empty": counts.empty,
        "problems": [{"path": path, "note": note} for path, note in entry.problems],
        "added_at": iso(source.added_at),
        "checked_at": None if source.checked_at is None else iso(source.checked_at),
    }


def passage_json(passage: Passage) -> dict[str, Any]:
    """A passage that was found."""
    return {
        "doc_id": passage.doc_id,
        "filename": passage.filename,
        "heading": passage.heading,
        "page": passage.page,
        "snippet": passage.snippet,
        "similarity": passage.similarity,
    }


def _id(request: web.Request) -> str:
    return clean_text(request.match_info["source"])
