"""Search over everything that the user has, in one call: chats, messages, documents, memories, the library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from aiohttp import web

from odysseus.clock import iso
from odysseus.errors import BadRequest
from odysseus.store.search import search_documents, search_messages, words_of
from odysseus.store.snippets import snippet_of
from odysseus.text import clean_text
from odysseus.web.answers import json_answer
from odysseus.web.messages import hit_json
from odysseus.web.services import Services, services

Group = Literal["chats", "messages", "documents", "memories", "library"]

FEW = 5
"""Of each group at first."""
MANY = 100
"""Of one group that is asked for by its name."""

Items = Sequence[Mapping[str, Any]]


async def everything(request: web.Request) -> web.StreamResponse:
    """GET /api/search/all"""
    query = clean_text(request.query.get("q", ""))
    has_words = bool(words_of(query))
    group = request.query.get("group", "")
    if group and group not in GROUPS:
        raise BadRequest(f"`group` must be one of {', '.join(GROUPS)}.")
    limit = MANY if group else FEW
    found = {}
    for name, search in GROUPS.items():
        wanted = has_words and group in ("", name)
        items = await search(services(request), query, limit + 1) if wanted else []
        found[name] = {"items": items[:limit], "more": len(items) > limit}
    return json_answer(found)


async def _chats(services_: Services, query: str, limit: int) -> Items:
    return [{"id": one.id, "name": one.name} for one in await services_.sessions.named(query, limit)]


async def _messages(services_: Services, query: str, limit: int) -> Items:
    return [hit_json(hit) for hit in await search_messages(services_.db, query, limit=limit)]


async def _documents(services_: Services, query: str, limit: int) -> Items:
    found = await search_documents(services_.db, query, limit)
    return [
        {"id": hit.id, "title": hit.title, "snippet": hit.snippet, "updated_at": iso(hit.updated_at)} for hit in found
    ]


async def _memories(services_: Services, query: str, limit: int) -> Items:
    words = words_of(query)
    found = await services_.memories.list(query, limit)
    return [{"id": one.id, "snippet": snippet_of(one.text, words), "state": one.state} for one in found]


async def _library(services_: Services, query: str, limit: int) -> Items:
    return [
        {
            "source_id": one.source_id,
            "source": one.source_name,
            "path": one.path,
            "heading": one.heading,
            "page": one.page,
            "snippet": one.snippet,
        }
        for one in await services_.library.find(query, limit)
    ]


Search = Callable[[Services, str, int], Awaitable[Items]]

GROUPS: Mapping[Group, Search] = {
    "chats": _chats,
    "messages": _messages,
    "documents": _documents,
    "memories": _memories,
    "library": _library,
}
