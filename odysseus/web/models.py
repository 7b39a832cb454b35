"""Models: what can be chosen at which endpoint, and the install of the embedded one."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from aiohttp import web
from msgspec import Meta, Struct

from odysseus.models.catalogue import KNOWN
from odysseus.models.installer import InstallProgress
from odysseus.providers.router import EndpointListing
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import Chosen, read
from odysseus.web.services import services


class InstallRequest(Struct, frozen=True):
    """The embedded model to install; empty takes the configured one."""

    name: Annotated[Chosen, Meta(description="The model; absent: the configured one")] = ""


async def models(request: web.Request) -> web.StreamResponse:
    """GET /api/models"""
    router = services(request).router
    listings = await router.listings(fresh=request.query.get("refresh") == "1")
    endpoint_id, model = router.default()
    items = [listing_json(listing) for listing in listings]
    default = {"endpoint_id": endpoint_id, "model": model, "mode": services(request).config.chat.mode}
    return json_answer({"items": items, "default": default})


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
                "images": model.images,
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
    """GET /api/models/install: how far it is; before any, the model that would be installed."""
    services_ = services(request)
    progress = services_.installer.progress()
    name = progress.name or services_.config.local.model
    size = KNOWN[name].size if name in KNOWN else None
    return json_answer(progress_json(replace(progress, name=name, total=progress.total or size)))


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
