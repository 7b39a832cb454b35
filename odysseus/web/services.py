"""What the handlers work with, as one typed value on the application."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from odysseus.clock import Clock
from odysseus.config import Config
from odysseus.context.files import FileReader
from odysseus.context.keeper import Keeper
from odysseus.context.thumbnails import Thumbnails
from odysseus.models.installer import Installer
from odysseus.providers.router import Router
from odysseus.retrieval.library import Library
from odysseus.runs.agent_work import AgentDesk
from odysseus.runs.policies import Policies
from odysseus.runs.registry import RunRegistry
from odysseus.runs.research import ResearchDesk
from odysseus.store.agent_sessions import AgentSessionStore
from odysseus.store.approvals import ApprovalStore
from odysseus.store.changes import ChangeStore
from odysseus.store.compare import CompareStore
from odysseus.store.db import Database
from odysseus.store.documents import DocumentStore
from odysseus.store.endpoints import EndpointStore
from odysseus.store.memories import MemoryStore
from odysseus.store.messages import MessageStore
from odysseus.store.sessions import SessionStore
from odysseus.store.sweeper import Sweeper
from odysseus.store.uploads import UploadStore
from odysseus.tools.mcp import McpServers
from odysseus.tools.shelf import Shelf
from odysseus.web.assets import Assets


@dataclass(frozen=True, slots=True)
class Services:
    """Made by app.py, closed there too."""

    config: Config
    clock: Clock
    db: Database
    sessions: SessionStore
    messages: MessageStore
    keeper: Keeper
    endpoints: EndpointStore
    agent_sessions: AgentSessionStore
    approvals: ApprovalStore
    compare: CompareStore
    changes: ChangeStore
    documents: DocumentStore
    uploads: UploadStore
    files: FileReader
    thumbnails: Thumbnails
    sweeper: Sweeper
    memories: MemoryStore
    library: Library
    desk: AgentDesk
    shelf: Shelf
    policies: Policies
    mcp: McpServers
    research: ResearchDesk
    runs: RunRegistry
    router: Router
    installer: Installer
    assets: Assets
    started_at: float


SERVICES = web.AppKey("services", Services)


def services(request: web.Request) -> Services:
    """The application's services."""
    return request.app[SERVICES]
