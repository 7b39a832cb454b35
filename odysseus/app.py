"""The composition root: what is made, in what order, and closed in reverse. Nothing else knows all the parts."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from odysseus.agent import loop
from odysseus.agent.pictures import picture_maker
from odysseus.clock import Clock, SystemClock
from odysseus.config import Config, EndpointConfig, ImagesConfig
from odysseus.context.files import FileReader
from odysseus.context.keeper import Keeper
from odysseus.context.thumbnails import Thumbnails
from odysseus.context.web import Fetch, Hit, Page, Search
from odysseus.dialects import research as research_dialect
from odysseus.errors import ConfigError
from odysseus.events import ImageMade
from odysseus.models.installer import Installer
from odysseus.providers.base import Provider
from odysseus.providers.fallback import Candidate
from odysseus.providers.router import Router
from odysseus.research.values import Budget as ResearchBudget
from odysseus.retrieval.library import Library, LibrarySettings
from odysseus.runs.afterwards import Afterwards
from odysseus.runs.agent_work import AgentDesk, AgentSettings
from odysseus.runs.approvals import ApprovalBook
from odysseus.runs.briefing import Briefing
from odysseus.runs.picture_turn import Draw
from odysseus.runs.places import Places
from odysseus.runs.policies import Policies
from odysseus.runs.recovery import recover
from odysseus.runs.registry import RunRegistry, RunSettings
from odysseus.runs.research import ResearchDesk, ResearchSettings
from odysseus.runs.run import Limits
from odysseus.runs.sources import Budget, Sources, TimeFilter
from odysseus.runs.turns import turns_of
from odysseus.store.agent_sessions import AgentSessionStore
from odysseus.store.approvals import ApprovalStore
from odysseus.store.changes import ChangeStore
from odysseus.store.compare import CompareStore
from odysseus.store.db import Database
from odysseus.store.documents import DocumentStore
from odysseus.store.endpoints import EndpointStore
from odysseus.store.file_texts import FileTextStore
from odysseus.store.memories import MemoryStore
from odysseus.store.messages import MessageStore
from odysseus.store.policies import PolicyStore
from odysseus.store.research import ResearchStore
from odysseus.store.runs import RunStore
from odysseus.store.sessions import SessionStore
from odysseus.store.summaries import SummaryStore
from odysseus.store.sweeper import Sweeper
from odysseus.store.uploads import UploadStore
from odysseus.tools.base import Tool
from odysseus.tools.mcp import McpServers
from odysseus.tools.shelf import Shelf, Stores
from odysseus.web.assets import Assets
from odysseus.web.cors import add_cors, cors_of
from odysseus.web.guard import Guard, add_headers, host_name
from odysseus.web.problems import note_begun, problems
from odysseus.web.routes import routes
from odysseus.web.services import SERVICES, Services

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent.parent / "static"
DATABASE = "odysseus.sqlite3"
MODELS = "models"
UPLOADS = "uploads"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server stands: its data folder, and the address it is bound to with its token."""

    data: Path
    host: str
    token: str = ""


def make_app(config: Config, place: Place, clock: Clock | None = None) -> web.Application:
    """The application, with everything in it that lives as long as it runs."""
    clock = clock or SystemClock()
    hosts = frozenset(host_name(name) for name in config.server.allowed_hosts)
    guard = Guard(
        host_name(f"[{place.host}]" if ":" in place.host else place.host), hosts, place.token, cors_of(config.agents)
    )
    app = web.Application(
        client_max_size=config.server.max_body_bytes, middlewares=[problems, guard.__call__], logger=log
    )
    app.on_response_prepare.append(note_begun)
    app.on_response_prepare.append(add_headers)
    app.on_response_prepare.append(add_cors)
    app.add_routes(routes())

    async def live(app: web.Application) -> AsyncIterator[None]:
        services = await open_services(config, place, clock)
        app[SERVICES] = services
        services.library.start()
        services.sweeper.start()
        if resumed := await services.research.resume():
            log.info("went on with %d research jobs of the last process", resumed)
        yield
        await close_services(services)

    app.cleanup_ctx.append(live)
    app.on_shutdown.append(_end_runs)
    return app


async def open_services(config: Config, place: Place, clock: Clock) -> Services:
    """Everything that the handlers work with, runs of a dead process recovered. Raises StoreError."""
    db = await Database.open(place.data / DATABASE)
    try:
        return await _services(config, place, clock, db)
    except BaseException:
        await db.close()
        raise


async def _services(config: Config, place: Place, clock: Clock, db: Database) -> Services:
    runs = RunStore(db, clock)
    await _recover(runs, clock)
    endpoints, messages, approvals = EndpointStore(db), MessageStore(db, clock), ApprovalStore(db, clock)
    stores = make_stores(db, place, clock)
    router = await make_router(config, place, endpoints, clock)
    mcp = McpServers(config.mcp, clock)
    mcp.start()
    shelf = Shelf(lambda: make_tools(config, stores, clock, router), mcp.tools)
    _check_names(config, shelf)
    book = ApprovalBook(approvals, clock, config.agent.approval_seconds)
    library = make_library(config, clock, (db, stores.uploads), place.data, router)
    files = FileReader(stores.uploads, FileTextStore(db, clock))
    keeper = Keeper(messages, SummaryStore(db, clock), turns_of)
    briefing = Briefing(make_sources(config, stores, files, library), keeper)
    afterwards = Afterwards(stores.memories, on=config.memory.propose_after_turn)
    policies = await make_policies(config, shelf, db)
    draw = make_draw(stores, router)
    research = make_research(config, db, router, clock)
    desk = AgentDesk(policies, briefing, book, Places(place.data.resolve()), agent_settings(config))
    return Services(
        config=config,
        clock=clock,
        db=db,
        sessions=SessionStore(db, clock),
        messages=messages,
        keeper=keeper,
        endpoints=endpoints,
        agent_sessions=AgentSessionStore(db, clock),
        approvals=approvals,
        compare=CompareStore(db, clock),
        changes=stores.changes,
        documents=stores.documents,
        uploads=stores.uploads,
        files=files,
        thumbnails=Thumbnails(stores.uploads),
        sweeper=Sweeper(stores.uploads, clock),
        memories=stores.memories,
        library=library,
        desk=desk,
        shelf=shelf,
        policies=policies,
        mcp=mcp,
        research=research,
        runs=RunRegistry(runs, desk, afterwards, clock, run_settings(config), research=research, draw=draw),
        router=router,
        installer=Installer(place.data / MODELS),
        assets=Assets(STATIC.resolve()),
        started_at=clock.monotonic(),
    )


async def _recover(runs: RunStore, clock: Clock) -> None:
    recovered = await recover(runs, clock)
    if recovered:
        log.info("marked %d runs of the last process as interrupted", recovered)


async def make_policies(config: Config, shelf: Shelf, db: Database) -> Policies:
    """What may be done with each tool: by the settings, and by what the user has chosen since."""
    policies = Policies(shelf.tools, config.tools, PolicyStore(db))
    await policies.load()
    return policies


def make_stores(db: Database, place: Place, clock: Clock) -> Stores:
    """Where tools keep things."""
    return Stores(
        ChangeStore(db, clock),
        DocumentStore(db, clock),
        MemoryStore(db, clock),
        UploadStore(db, place.data / UPLOADS, clock),
    )


def make_draw(stores: Stores, router: Router) -> Draw:
    """Who makes the pictures of chats with a model for them, and keeps them."""

    async def draw(candidate: Candidate, prompt: str) -> ImageMade:
        from odysseus.tools.images import keep_picture

        make = picture_maker(ImagesConfig(endpoint=candidate.endpoint_id, model=candidate.model), router.configs)
        assert make
        return await keep_picture(await make(prompt, ""), prompt, "", stores.uploads)

    return draw


async def make_router(config: Config, place: Place, endpoints: EndpointStore, clock: Clock) -> Router:
    """The router with all endpoints: those of the settings, and those that were added."""
    models = place.data / MODELS
    router = Router(config.chat, lambda endpoint: make_provider(endpoint, config, models, clock), config.prices)
    for endpoint in (*config.endpoints, *await endpoints.list()):
        router.add(endpoint)
    return router


async def close_services(services: Services) -> None:
    """End the runs, then let go of models, downloads and the database."""
    await services.runs.close()
    await services.research.close()
    await services.library.close()
    await services.mcp.close()
    await services.installer.close()
    await services.router.close()
    await services.sweeper.close()
    await services.db.close()


def make_library(
    config: Config, clock: Clock, stores: tuple[Database, UploadStore], data: Path, router: Router
) -> Library:
    """The library, with an endpoint that makes its vectors where the settings name one."""
    remote = None
    if config.retrieval.endpoint:
        from odysseus.providers.embeddings import EndpointEmbedding

        remote = EndpointEmbedding(config.retrieval, router.configs)
    db, uploads = stores
    return Library(db, uploads, clock, LibrarySettings(config.retrieval, [data.resolve()]), remote)


def make_web(config: Config) -> tuple[Search, Fetch]:
    """Who searches the web and reads its pages. The tools for it are imported with the first question."""

    async def search(query: str, time_filter: TimeFilter) -> Sequence[Hit]:
        from odysseus.tools.web_search import search

        return await search(config.web, query, time_filter)

    async def fetch(url: str) -> Page:
        from odysseus.tools.web_fetch import read_page

        return await read_page(url, config.web)

    return search, fetch


def make_sources(config: Config, stores: Stores, files: FileReader, library: Library) -> Sources:
    """What questions are given."""
    budget = Budget(config.retrieval.passages, config.retrieval.tokens)
    own = stores.documents, stores.memories
    return Sources((stores.uploads, files), own, (library.retrieval, budget), *make_web(config))


def make_provider(endpoint: EndpointConfig, config: Config, models: Path, clock: Clock) -> Provider:
    """The provider of an endpoint's kind. Each is imported with its first endpoint, so that the start stays short."""
    match endpoint.kind:
        case "local":
            from odysseus.providers.local import LocalProvider

            return LocalProvider(config.local, models, clock)
        case "openai":
            from odysseus.providers.openai import OpenAIProvider

            return OpenAIProvider(endpoint)
        case "openai-responses":
            from odysseus.providers.responses import ResponsesProvider

            return ResponsesProvider(endpoint)
        case "anthropic":
            from odysseus.providers.anthropic import AnthropicProvider

            return AnthropicProvider(endpoint)
        case "ollama":
            from odysseus.providers.ollama import OllamaProvider

            return OllamaProvider(endpoint)


def make_tools(config: Config, stores: Stores, clock: Clock, router: Router) -> Sequence[Tool]:
    """The server's own tools. They are imported here, so that the start stays short."""
    from odysseus.tools.families import own_tools

    return own_tools(config, stores, clock, picture_maker(config.images, router.configs))


def run_settings(config: Config) -> RunSettings:
    """The limits of a run, from the settings."""
    server = config.server
    return RunSettings(
        Limits(server.max_wall_seconds, server.idle_seconds),
        server.replay_seconds,
        server.replay_bytes,
        server.checkpoint_seconds,
    )


def make_research(config: Config, db: Database, router: Router, clock: Clock) -> ResearchDesk:
    """Where research jobs live."""
    given = config.research
    budget = ResearchBudget(given.rounds, given.queries, given.pages, given.minutes)
    settings = ResearchSettings(budget, config.server.replay_seconds, config.server.replay_bytes)
    store, found = ResearchStore(db, clock), make_web(config)
    return ResearchDesk(store, router.route, found, clock, settings, encode=research_dialect.encode)


def _check_names(config: Config, shelf: Shelf) -> None:
    """Raises ConfigError for a tool that is not there."""
    for name, profile in config.agents.items():
        if unknown := shelf.unnamed(profile.tools):
            raise ConfigError(f"Setting agents.{name}.tools: there is no tool {unknown[0]!r}.")
    for tool in shelf.unnamed(config.tools):
        log.warning("Setting tools.%s: there is no such tool here.", tool)


def agent_settings(config: Config) -> AgentSettings:
    """What holds for every agent run, from the settings."""
    agent = config.agent
    return AgentSettings(
        loop.Limits(agent.max_rounds, agent.max_tool_calls, agent.max_cost),
        agent.ask_after_outside,
        agent.system_prompt,
        agent.workspace,
    )


async def _end_runs(app: web.Application) -> None:
    """On shutdown the streams get their last frames while their sockets are still open."""
    await app[SERVICES].runs.close()
    await app[SERVICES].research.close()
