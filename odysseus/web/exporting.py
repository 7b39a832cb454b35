"""GET /api/session/{id}/export: a conversation as a file, written stretch by stretch as it is read and rendered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from odysseus.archive.conversation import Since, Writer, files_of
from odysseus.archive.document import END, JsonWriter, file_entry
from odysseus.archive.markdown import MarkdownWriter
from odysseus.archive.page import PageWriter, page_style
from odysseus.clock import iso
from odysseus.errors import BadRequest
from odysseus.store.messages import Message
from odysseus.store.sessions import Session
from odysseus.web.export_files import Pictures, entries
from odysseus.web.services import Services, services
from odysseus.web.sessions import session_id, session_json

MEDIA = {"md": "text/markdown", "json": "application/json", "html": "text/html"}
BATCH = 20
"""Messages that are read and rendered at once."""


async def export(request: web.Request) -> web.StreamResponse:
    """GET /api/session/{id}/export"""
    services_ = services(request)
    kind = request.query.get("fmt", "md")
    if kind not in MEDIA:
        raise BadRequest("`fmt` must be md, json or html.")
    with_bytes = request.query.get("files", "").lower() in {"1", "true"}
    session = await services_.sessions.get(session_id(request))
    writer = await _writer(services_, session, kind)
    response = web.StreamResponse(headers=_headers(session.name, kind))
    await response.prepare(request)
    if request.method != "HEAD":
        async for text in _parts(services_, session, writer, kind, with_bytes=with_bytes):
            await response.write(text.encode())
    await response.write_eof()
    return response


async def _writer(services_: Services, session: Session, kind: str) -> Writer:
    if kind == "md":
        return MarkdownWriter(session.name)
    now = iso(services_.clock.wall())
    if kind == "html":
        about = f"{session.message_count} messages, exported on {now[:10]} from Odysseus"
        return PageWriter(session.name, about, await asyncio.to_thread(_style, services_.assets.root))
    since = Since(await services_.approvals.states(session.id), await services_.changes.undone_runs(session.id))
    shown = await services_.messages.shown_ids(session.id)
    return JsonWriter(session_json(session, running=False), now, since, shown)


async def _parts(
    services_: Services, session: Session, writer: Writer, kind: str, *, with_bytes: bool
) -> AsyncIterator[str]:
    pictures = Pictures(services_.uploads)
    named: dict[str, None] = {}
    yield writer.head()
    async for batch in _batches(services_, session.id, all_branches=kind == "json"):
        shown = await pictures.of(batch) if kind == "html" else {}
        yield await asyncio.to_thread(writer.messages, batch, shown)
        named |= dict.fromkeys(one for message in batch for one in files_of(message.metadata))
    yield writer.tail()
    if kind == "json":
        first = True
        async for entry in entries(services_.uploads, named, with_bytes=with_bytes):
            yield await asyncio.to_thread(file_entry, entry, first=first)
            first = False
        yield END


async def _batches(services_: Services, session_id: str, *, all_branches: bool) -> AsyncIterator[Sequence[Message]]:
    position, store = -1, services_.messages
    while batch := await (
        store.of_all_branches(session_id, position, BATCH)
        if all_branches
        else store.since(session_id, position, limit=BATCH)
    ):
        yield batch
        position = batch[-1].position


@lru_cache(maxsize=1)
def _style(static: Path) -> str:
    return page_style(static)


def _headers(name: str, kind: str) -> dict[str, str]:
    file_name = quote(f"{name or 'chat'}.{kind}", safe="", errors="replace")
    return {
        "Content-Type": f"{MEDIA[kind]}; charset=utf-8",
        "Content-Disposition": f"attachment; filename=\"chat.{kind}\"; filename*=UTF-8''{file_name}",
        "Cache-Control": "no-store",
    }
