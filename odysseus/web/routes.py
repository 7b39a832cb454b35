"""Every call of the server, in one table."""

from __future__ import annotations

from aiohttp import web

from odysseus.web import (
    agents,
    chat,
    compare,
    context,
    documents,
    endpoints,
    exporting,
    importing,
    library,
    memories,
    messages,
    models,
    pages,
    research,
    search,
    sessions,
    tools,
    undo,
    uploads,
)
from odysseus.web.openapi import pages as description


def routes() -> list[web.RouteDef]:
    """The addresses and who answers them."""
    return [
        *_page(),
        web.get("/api/health", pages.health),
        web.post("/agent/{agent_name}/chat", agents.chat),
        web.post("/agent/{agent_name}/chat/stream", agents.stream),
        web.delete("/sessions/{session_id}", agents.end_session),
        web.get("/health", agents.health),
        web.get("/health/agent", agents.health),
        web.get("/health/agent/{agent_name}", agents.agent_health),
        web.get("/ready", agents.ready),
        web.post("/api/chat_stream", chat.send),
        web.get("/api/chat/resume/{session}", chat.resume, allow_head=False),
        web.get("/api/chat/stream_status/{session}", chat.status),
        web.post("/api/chat/stop/{session}", chat.stop),
        web.post("/api/runs/{run_id}/undo", undo.undo),
        web.get("/api/sessions", sessions.list_all),
        web.post("/api/session", sessions.create),
        web.patch("/api/session/{session}", sessions.change),
        web.delete("/api/session/{session}", sessions.delete),
        web.post("/api/session/{session}/fork", sessions.fork),
        web.get("/api/session/{session}/export", exporting.export),
        web.post("/api/sessions/import", importing.take_in),
        web.get("/api/session/{session}/context", context.show),
        web.get("/api/history/{session}", messages.history),
        web.post("/api/session/{session}/branch", messages.branch),
        web.post("/api/session/{session}/edit-message", messages.edit),
        web.post("/api/session/{session}/delete-messages", messages.delete),
        web.post("/api/session/{session}/truncate", messages.truncate),
        web.get("/api/search", messages.search),
        web.get("/api/search/all", search.everything),
        web.post("/api/upload", uploads.upload),
        web.get("/api/upload/{upload}", uploads.download),
        *_kept(),
        *_compared(),
        web.get("/api/tools", tools.list_all),
        web.patch("/api/tools/{tool}", tools.change),
        web.get("/api/agents", agents.list_all),
        web.get("/api/models", models.models),
        web.get("/api/models/install", models.install_progress),
        web.post("/api/models/install", models.start_install),
        web.delete("/api/models/install", models.cancel_install),
        web.get("/api/endpoints", endpoints.list_all),
        web.get("/api/endpoints/found", endpoints.found),
        web.post("/api/endpoints", endpoints.add),
        web.post("/api/endpoints/test", endpoints.test),
        web.patch("/api/endpoints/{endpoint}", endpoints.change),
        web.delete("/api/endpoints/{endpoint}", endpoints.remove),
    ]


def _compared() -> list[web.RouteDef]:
    """Models side by side."""
    return [
        web.get("/api/compare", compare.list_all),
        web.post("/api/compare", compare.create),
        web.get("/api/compare/scores", compare.scores),
        web.get("/api/compare/{comparison}", compare.show),
        web.delete("/api/compare/{comparison}", compare.delete),
        web.post("/api/compare/{comparison}/vote", compare.vote),
        web.post("/api/compare/{comparison}/keep", compare.keep),
        web.post("/api/compare/{comparison}/close", compare.close),
    ]


def _page() -> list[web.RouteDef]:
    """The page and its files, and the description."""
    return [
        web.get("/", pages.index),
        web.get("/static/{path:.+}", pages.static_file),
        web.get("/sw.js", pages.worker),
        web.get("/docs", description.docs),
        web.get("/openapi.json", description.openapi),
    ]


def _documents() -> list[web.RouteDef]:
    """Texts to work on."""
    one = "/api/documents/{document}"
    return [
        web.get("/api/documents", documents.list_all),
        web.post("/api/documents", documents.create),
        web.get(one, documents.show),
        web.patch(one, documents.change),
        web.delete(one, documents.delete),
        web.get(f"{one}/versions", documents.versions),
        web.get(f"{one}/versions/{{version}}", documents.version),
        web.post(f"{one}/restore", documents.restore),
        web.get(f"{one}/suggestions", documents.suggestions),
        web.post(f"{one}/suggestions/{{suggestion}}", documents.decide),
        web.get(f"{one}/preview", documents.look),
        web.get(f"{one}/download", documents.download),
    ]


def _kept() -> list[web.RouteDef]:
    """What outlives a chat."""
    return [
        *_documents(),
        web.get("/api/memories", memories.list_all),
        web.post("/api/memories", memories.create),
        web.patch("/api/memories/{memory}", memories.change),
        web.delete("/api/memories/{memory}", memories.delete),
        web.get("/api/library", library.list_all),
        web.post("/api/library", library.add),
        web.get("/api/library/progress", library.progress, allow_head=False),
        web.get("/api/library/search", library.search),
        web.delete("/api/library/{source}", library.remove),
        web.post("/api/library/{source}/refresh", library.refresh),
        web.get("/api/research", research.list_all),
        web.post("/api/research/start", research.start),
        web.get("/api/research/active", research.active),
        web.get("/api/research/stream/{research}", research.stream, allow_head=False),
        web.get("/api/research/status/{research}", research.status),
        web.get("/api/research/report/{research}", research.report),
        web.post("/api/research/cancel/{research}", research.cancel),
        web.delete("/api/research/{research}", research.delete),
    ]
