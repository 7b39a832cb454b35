"""Endpoints: those that the user adds with an address and a key, tested before they are kept."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from odysseus.config import ADDED_PREFIX, EndpointConfig, EndpointKind
from odysseus.errors import BadRequest, ConfigError, NotFound
from odysseus.providers.address import check_base_url
from odysseus.providers.discovery import Found, find_local, identify
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import read
from odysseus.web.services import Services, services

Address = Annotated[str, Meta(min_length=1, max_length=2000)]
Label = Annotated[str, Meta(max_length=80)]
Key = Annotated[str, Meta(max_length=4000)]


class NewEndpoint(Struct, frozen=True):
    """An address and a key are enough; what speaks there is found out, unless `kind` says it."""

    base_url: Annotated[Address, Meta(description="Its address, http or https")]
    api_key: Annotated[Key, Meta(description="Its key; it is kept, and never told")] = ""
    label: Annotated[Label, Meta(description="Its name for people")] = ""
    kind: Annotated[EndpointKind | None, Meta(description="What speaks there; absent: it is found out")] = None


class EndpointChange(Struct, frozen=True):
    """What is given is set. Another address drops the key, which belongs to the old one."""

    base_url: Annotated[Address | UnsetType, Meta(description="Its address, http or https")] = UNSET
    api_key: Annotated[Key | UnsetType, Meta(description="Its key; it is kept, and never told")] = UNSET
    label: Annotated[Label | UnsetType, Meta(description="Its name for people")] = UNSET
    kind: Annotated[EndpointKind | UnsetType, Meta(description="What speaks there")] = UNSET


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/endpoints"""
    services_ = services(request)
    added = await _added(services_)
    return json_answer([endpoint_json(config, removable=config.id in added) for config in services_.router.configs()])


async def found(request: web.Request) -> web.StreamResponse:
    """GET /api/endpoints/found: local servers that answer and are not among the endpoints yet."""
    return json_answer([_found_json(one) for one in await new_local(services(request), request.url.port or 0)])


async def new_local(services_: Services, own_port: int) -> Sequence[Found]:
    """Local servers that answer and are not among the endpoints yet; `own_port` is this one's."""
    known = {urlsplit(config.base_url).port for config in services_.router.configs()}
    servers = await find_local(services_.router.make, own_port)
    return [one for one in servers if urlsplit(one.endpoint.base_url).port not in known]


async def test(request: web.Request) -> web.StreamResponse:
    """POST /api/endpoints/test: what speaks there, and its models; nothing is kept."""
    body = await read(request, NewEndpoint)
    return json_answer(_found_json(await _identify(services(request), _endpoint(body))))


@completes
async def add(request: web.Request) -> web.StreamResponse:
    """POST /api/endpoints: kept as it was found. With `kind` it is kept as given, though it may not answer now."""
    services_ = services(request)
    body = await read(request, NewEndpoint)
    endpoint = _endpoint(body)
    if body.kind is None:
        endpoint = (await _identify(services_, endpoint)).endpoint
    _make_sure(services_, endpoint)
    await services_.endpoints.add(endpoint)
    services_.router.add(endpoint)
    return json_answer(endpoint_json(endpoint, removable=True))


@completes
async def change(request: web.Request) -> web.StreamResponse:
    """PATCH /api/endpoints/{id}"""
    services_ = services(request)
    body = await read(request, EndpointChange)
    old = await _one(services_, request)
    fields: dict[str, Any] = {name: value for name, value in structs.asdict(body).items() if value is not UNSET}
    if "base_url" in fields:
        fields["base_url"] = check_base_url(fields["base_url"])
        if fields["base_url"] != old.base_url:
            fields.setdefault("api_key", "")
    endpoint = structs.replace(old, **fields)
    _make_sure(services_, endpoint)
    await services_.endpoints.replace(endpoint)
    await services_.router.replace(endpoint)
    return json_answer(endpoint_json(endpoint, removable=True))


@completes
async def remove(request: web.Request) -> web.StreamResponse:
    """DELETE /api/endpoints/{id}"""
    services_ = services(request)
    endpoint = await _one(services_, request)
    await services_.endpoints.remove(endpoint.id)
    await services_.router.remove(endpoint.id)
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


def _found_json(one: Found) -> dict[str, Any]:
    endpoint = one.endpoint
    return {
        "label": endpoint.name,
        "kind": endpoint.kind,
        "base_url": endpoint.base_url,
        "models": [model.id for model in one.models],
    }


def _endpoint(body: NewEndpoint) -> EndpointConfig:
    base_url = check_base_url(body.base_url)
    return EndpointConfig(
        id=f"{ADDED_PREFIX}{uuid.uuid4().hex[:12]}",
        kind=body.kind or "openai",
        label=body.label.strip() or (urlsplit(base_url).hostname or ""),
        base_url=base_url,
        api_key=body.api_key.strip(),
    )


async def _identify(services_: Services, endpoint: EndpointConfig) -> Found:
    try:
        return await identify(endpoint, services_.router.make)
    except ConfigError as error:
        raise BadRequest(error.message) from error


def _make_sure(services_: Services, endpoint: EndpointConfig) -> None:
    """Raises BadRequest for an address or a key that cannot be used at all."""
    try:
        services_.router.make(endpoint)
    except ConfigError as error:
        raise BadRequest(error.message) from error


async def _added(services_: Services) -> Mapping[str, EndpointConfig]:
    return {endpoint.id: endpoint for endpoint in await services_.endpoints.list()}


async def _one(services_: Services, request: web.Request) -> EndpointConfig:
    endpoint = (await _added(services_)).get(clean_text(request.match_info["endpoint"]))
    if endpoint is None:
        raise NotFound("There is no such endpoint among those added here. Those of config.toml are changed there.")
    return endpoint
