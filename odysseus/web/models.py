"""Models and endpoints: what can be chosen, the install of the embedded one, endpoints that the user adds."""

from __future__ import annotations

import asyncio
import re
import uuid
from typing import Annotated, Any

from aiohttp import web
from msgspec import Meta, Struct

from odysseus.config import EndpointConfig
from odysseus.errors import BadRequest, NotFound
from odysseus.models.installer import InstallProgress
from odysseus.providers.router import EndpointListing
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import read
from odysseus.web.services import services


class InstallRequest(Struct, frozen=True):
    """The embedded model to install; empty takes the configured one."""

    name: str = ""


class NewEndpoint(Struct, frozen=True):
    """An OpenAI-compatible server: its address up to `/v1`, and a key if it wants one."""

    base_url: Annotated[str, Meta(min_length=1, max_length=2000)]
    label: Annotated[str, Meta(max_length=80)] = ""
    api_key: Annotated[str, Meta(max_length=4000)] = ""


async def models(request: web.Request) -> web.StreamResponse:
    """GET /api/models"""
    router = services(request).router
    listings = await router.listings(fresh=request.query.get("refresh") == "1")
    endpoint_id, model = router.default()
    items = [listing_json(listing) for listing in listings]
    return json_answer({"items": items, "default": {"endpoint_id": endpoint_id, "model": model}})


def listing_json(listing: EndpointListing) -> dict[str, Any]:
    """An endpoint and its models as clients see them."""
    return {
        "endpoint_id": listing.endpoint_id,
        "endpoint_label": listing.label,
        "kind": listing.kind,
        "online": listing.state not in {"missing", "failed", "unreachable"},
        "state": listing.state,
        "note": listing.note,
        "models": [
            {
                "id": model.id,
                "context_length": model.context_length,
                "tools": model.tools,
                "vision": model.vision,
                "price": None if model.price is None else {"input": model.price[0], "output": model.price[1]},
            }
            for model in listing.models
        ],
    }


@completes
async def start_install(request: web.Request) -> web.StreamResponse:
    """POST /api/models/install"""
    services_ = services(request)
    body = await read(request, InstallRequest)
    services_.installer.start(body.name or services_.config.local.model)
    return json_answer(progress_json(services_.installer.progress()), 202)


async def install_progress(request: web.Request) -> web.StreamResponse:
    """GET /api/models/install"""
    return json_answer(progress_json(services(request).installer.progress()))


@completes
async def cancel_install(request: web.Request) -> web.StreamResponse:
    """DELETE /api/models/install"""
    installer = services(request).installer
    await installer.cancel()
    return json_answer(progress_json(installer.progress()))


def progress_json(progress: InstallProgress) -> dict[str, Any]:
    """Bytes so far and in all."""
    return {
        "state": progress.state,
        "name": progress.name,
        "received": progress.received,
        "total": progress.total,
        "message": progress.message,
    }


async def endpoints(request: web.Request) -> web.StreamResponse:
    """GET /api/endpoints"""
    services_ = services(request)
    added = {endpoint.id for endpoint in await services_.endpoints.list()}
    return json_answer(
        [endpoint_json(endpoint, removable=endpoint.id in added) for endpoint in services_.router.configs()]
    )


@completes
async def add_endpoint(request: web.Request) -> web.StreamResponse:
    """POST /api/endpoints"""
    services_ = services(request)
    body = await read(request, NewEndpoint)
    base_url = body.base_url.strip().rstrip("/")
    host = re.match(r"https?://(?:[^/@\s]*@)?([^/\s:?#]+|\[[0-9a-fA-F:]+\])(?::\d+)?(?:/[^\s?#]*)?$", base_url)
    if not host:
        raise BadRequest("Field 'base_url': give an address like http://127.0.0.1:11434/v1.")
    endpoint = EndpointConfig(
        id=f"added-{uuid.uuid4().hex[:12]}",
        kind="openai",
        label=body.label.strip() or host[1],
        base_url=base_url,
        api_key=body.api_key.strip(),
    )
    await services_.endpoints.add(endpoint)
    services_.router.add(endpoint)
    return json_answer(endpoint_json(endpoint, removable=True))


@completes
async def remove_endpoint(request: web.Request) -> web.StreamResponse:
    """DELETE /api/endpoints/{id}"""
    services_ = services(request)
    endpoint_id = clean_text(request.match_info["endpoint"])
    if endpoint_id not in {endpoint.id for endpoint in await services_.endpoints.list()}:
        raise NotFound("There is no such endpoint among those added here. Those of config.toml are removed there.")
    await asyncio.gather(services_.endpoints.remove(endpoint_id), services_.router.remove(endpoint_id))
    return json_answer({"status": "deleted"})


def endpoint_json(endpoint: EndpointConfig, *, removable: bool) -> dict[str, Any]:
    """An endpoint without its key."""
    return {
        "id": endpoint.id,
        "label": endpoint.name,
        "kind": endpoint.kind,
        "base_url": endpoint.base_url,
        "has_key": bool(endpoint.key()),
        "removable": removable,
    }
