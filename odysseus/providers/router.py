"""The endpoints by id, and the way from a wished model to the provider that answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from odysseus.config import ChatConfig, EndpointConfig, Price
from odysseus.errors import BadRequest, NotFound, ProviderError
from odysseus.providers.base import ModelListing, Provider
from odysseus.providers.fallback import Asker, Candidate, Cooldowns
from odysseus.providers.image_models import makes_pictures
from odysseus.providers.pricing import price_of
from odysseus.providers.windows import careful_window, listed_window

LISTING_SECONDS = 30.0
ASK_SECONDS = 5.0
NOT_INSTALLED = (
    "The embedded model is not installed. Install it from the page, or choose another endpoint. "
    "The command for it is: python server.py model install"
)


async def known_window(candidate: Candidate) -> int:
    """The tokens of a candidate's window, without asking anyone."""
    return candidate.context_length or careful_window(candidate.host.partition(":")[0])


@dataclass(frozen=True, slots=True)
class Route:
    """Who is asked, in order: the chosen model, then its fallbacks."""

    candidates: Sequence[Candidate]
    cooldowns: Cooldowns
    find_window: Callable[[Candidate], Awaitable[int]] = known_window

    async def window(self) -> int:
        """The tokens of the chosen model's window. May ask the endpoint, once in a while; never raises."""
        return await self.find_window(self.first)

    @property
    def first(self) -> Candidate:
        """The chosen model."""
        return self.candidates[0]

    def asker(self) -> Asker:
        """Someone who asks them, for one run."""
        return Asker(self.candidates, self.cooldowns)


@dataclass(frozen=True, slots=True)
class EndpointListing:
    """An endpoint with what it offers. `note` says in words what is in the way."""

    endpoint_id: str
    label: str
    kind: str
    state: str
    note: str
    models: Sequence[ModelListing]


@dataclass(slots=True)
class _Entry:
    config: EndpointConfig
    provider: Provider
    listing: EndpointListing | None = None
    asked_at: float = float("-inf")


class Router:
    """Knows every endpoint. Owns their providers."""

    def __init__(
        self, default: ChatConfig, make: Callable[[EndpointConfig], Provider], prices: Mapping[str, Price] | None = None
    ) -> None:
        self._default = default
        self._prices = prices or {}
        self._cooldowns = Cooldowns(time.monotonic)
        self._make = make
        self._entries: dict[str, _Entry] = {}
        self._loading: asyncio.Task[None] | None = None

    def add(self, config: EndpointConfig) -> None:
        """Take in an endpoint; its id must be free."""
        self._entries[config.id] = _Entry(config, self._make(config))

    async def replace(self, config: EndpointConfig) -> None:
        """Put an endpoint in the place of the one with its id. Runs that use the old one end with its provider."""
        old, new = self._entries[config.id], _Entry(config, self._make(config))
        self._entries[config.id] = new
        await old.provider.close()

    async def remove(self, endpoint_id: str) -> None:
        """Let an endpoint go. Runs that use it end with its provider. Raises NotFound."""
        entry = self._entries.pop(endpoint_id, None)
        if entry is None:
            raise NotFound("There is no such endpoint.")
        await entry.provider.close()

    def make(self, config: EndpointConfig) -> Provider:
        """A provider that is not one of the endpoints, for a test. Raises ConfigError."""
        return self._make(config)

    def configs(self) -> Sequence[EndpointConfig]:
        """All endpoints, in the order they were added."""
        return [entry.config for entry in self._entries.values()]

    async def route(self, endpoint_id: str, model: str, fallback: Sequence[str] = ()) -> Route:
        """The way to a model; empty names take the defaults. Raises BadRequest when there is none.

        `fallback` comes in place of the endpoint's own list of who is asked next.
        """
        wanted = endpoint_id or self._default.endpoint
        entry = self._entries.get(wanted)
        if entry is None:
            raise BadRequest(f"No model is configured: there is no endpoint {wanted!r}. Choose another one.")
        if entry.provider.state() == "missing":
            raise BadRequest(NOT_INSTALLED)
        name = model or self._default_model(wanted) or await self._first_model(entry)
        fallbacks = [await self._fallback(text) for text in fallback or entry.config.fallback]
        return Route([self._candidate(entry, name), *filter(None, fallbacks)], self._cooldowns, self.window)

    async def window(self, candidate: Candidate) -> int:
        """The tokens of a candidate's window: as set, as its endpoint tells, as published, else a careful guess."""
        if candidate.context_length:
            return candidate.context_length
        entry = self._entries.get(candidate.endpoint_id)
        host = urlsplit(entry.config.base_url).hostname or "" if entry else ""
        if entry and self._may_tell(entry, candidate):
            await self._listing(entry)
        known = self._candidate(entry, candidate.model).context_length if entry else None
        return known or careful_window(host)

    def _may_tell(self, entry: _Entry, candidate: Candidate) -> bool:
        """Whether it is worth asking an endpoint for its list: not if it has told it, or could not a moment ago."""
        told = bool(entry.listing and entry.listing.models)
        asked_now = time.monotonic() - entry.asked_at < LISTING_SECONDS
        return not (told or asked_now or self._cooldowns.cooling(candidate.host))

    async def _fallback(self, text: str) -> Candidate | None:
        """A candidate named `endpoint` or `endpoint/model`; one that cannot be had now is left out."""
        endpoint_id, _, model = text.partition("/")
        entry = self._entries.get(endpoint_id)
        if entry is None or entry.provider.state() == "missing":
            return None
        try:
            return self._candidate(entry, model or await self._first_model(entry))
        except BadRequest:
            return None

    def _candidate(self, entry: _Entry, model: str) -> Candidate:
        listed = next((found for found in (entry.listing.models if entry.listing else ()) if found.id == model), None)
        host = urlsplit(entry.config.base_url).hostname or ""
        price = price_of(host, model, self._prices) or (_price(listed.price) if listed and listed.price else None)
        return Candidate(
            entry.config.id,
            entry.config.name,
            model,
            entry.provider,
            host=urlsplit(entry.config.base_url).netloc,
            context_length=entry.config.context_length
            or (listed.context_length if listed else None)
            or listed_window(host, model),
            vision=bool(listed and listed.vision),
            price=price,
            shows_tools=entry.config.kind != "local",
            pictures=makes_pictures(entry.config, model),
        )

    def is_ready(self, endpoint_id: str) -> bool:
        """Whether an endpoint, empty for the default one, can be asked as far as is known without asking."""
        entry = self._entries.get(endpoint_id or self._default.endpoint)
        return entry is not None and entry.provider.state() not in {"missing", "failed"}

    def default(self) -> tuple[str, str]:
        """The endpoint and the model that a new session starts with, the model empty while it is not known."""
        return self._default.endpoint, self._default_model(self._default.endpoint)

    def preload(self) -> None:
        """Let the default endpoint get ready in the background."""
        entry = self._entries.get(self._default.endpoint)
        if entry is not None:
            self._loading = asyncio.create_task(entry.provider.preload(), name="preload")

    async def listings(self, *, fresh: bool = False) -> Sequence[EndpointListing]:
        """What every endpoint offers now. One that does not answer within seconds is told as unreachable."""
        return await asyncio.gather(*(self._listing(entry, fresh=fresh) for entry in list(self._entries.values())))

    async def close(self) -> None:
        """Close every provider."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])
        await asyncio.gather(*(entry.provider.close() for entry in self._entries.values()))

    def _default_model(self, endpoint_id: str) -> str:
        return self._default.model if endpoint_id == self._default.endpoint else ""

    async def _first_model(self, entry: _Entry) -> str:
        listing = await self._listing(entry)
        if not listing.models:
            raise BadRequest(
                f"No model is configured: the endpoint {entry.config.name!r} offers none. {listing.note}".strip()
            )
        return listing.models[0].id

    async def _listing(self, entry: _Entry, *, fresh: bool = False) -> EndpointListing:
        kept = entry.listing
        if kept and kept.models and not fresh and time.monotonic() - entry.asked_at < LISTING_SECONDS:
            return _listed(entry, entry.provider.state(), kept.note, kept.models)
        entry.listing, entry.asked_at = await _ask(entry), time.monotonic()
        return entry.listing


async def _ask(entry: _Entry) -> EndpointListing:
    try:
        async with asyncio.timeout(ASK_SECONDS):
            models = await entry.provider.models()
    except TimeoutError:
        return _listed(entry, "unreachable", "It did not answer in time.", ())
    except ProviderError as error:
        return _listed(entry, "unreachable", error.message, ())
    state = entry.provider.state()
    return _listed(entry, state, NOT_INSTALLED if state == "missing" else "", models)


def _listed(entry: _Entry, state: str, note: str, models: Sequence[ModelListing]) -> EndpointListing:
    config = entry.config
    marked = [replace(model, images=makes_pictures(config, model.id)) for model in models]
    return EndpointListing(config.id, config.name, config.kind, state, note, marked)


def _price(listed: tuple[float, float]) -> Price | None:
    """The endpoint's own price; nothing for free ones, whose zero may only mean that none was set."""
    return Price(input=listed[0], output=listed[1]) if any(listed) else None
