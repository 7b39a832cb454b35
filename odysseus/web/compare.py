"""Comparisons: the same question to two to four models, the vote, and what becomes of it.

While a comparison is blind and has no vote, no answer here says which pane is which model.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Annotated, Any, Literal

from aiohttp import web
from msgspec import Meta, Struct

from odysseus.archive.conversation import Since
from odysseus.clock import iso
from odysseus.dialects.blind import masked_metadata
from odysseus.errors import BadRequest, Conflict, OdysseusError
from odysseus.providers.router import Route
from odysseus.store.compare import LETTERS, NONE, TIE, Comparison, Pane, PaneRoute, Score
from odysseus.store.messages import Message
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import Chosen, convert, list_field, read, read_fields
from odysseus.web.messages import message_json
from odysseus.web.services import Services, services
from odysseus.web.sessions import session_json

Letter = Literal["A", "B", "C", "D"]

SHUFFLE = random.SystemRandom().shuffle
CANNOT_ASK = "This model cannot be asked now. Vote to see which it is, and why, or ask again later."
NO_PICTURES = "A comparison is of models that write, and one of these makes pictures. Ask that one in a chat."
GOES_ON = "An answer is still being written. Wait for its end, or stop it."


class PaneChoice(Struct, frozen=True):
    """A model to ask."""

    endpoint_id: Annotated[Chosen, Meta(description="The endpoint to ask; empty for the default")] = ""
    model: Annotated[Chosen, Meta(description="The model to ask; empty for the endpoint's first")] = ""


class NewComparison(Struct, frozen=True):
    """Two to four models. `question` is what the list calls it; without one the first message is."""

    panes: Annotated[tuple[PaneChoice, ...], Meta(min_length=2, description="The models, two to four")]
    blind: Annotated[bool, Meta(description="Shuffle the models, and tell none before the vote")] = False
    question: Annotated[
        str, Meta(max_length=50_000, description="What the list calls it; absent: its first message")
    ] = ""


class Vote(Struct, frozen=True):
    """Which answer is the best."""

    vote: Annotated[
        Literal["A", "B", "C", "D", "tie", "none"],
        Meta(description="The letter of the best pane; `tie`: they are as good; `none`: all are bad"),
    ]


class Keep(Struct, frozen=True):
    """The pane to go on with."""

    pane: Annotated[Letter, Meta(description="The letter of the pane")]


class Close(Struct, frozen=True):
    """A pane that is not to be asked any more."""

    pane: Annotated[Letter, Meta(description="The letter of the pane")]
    closed: Annotated[bool, Meta(description="False brings it back")] = True


@completes
async def create(request: web.Request) -> web.StreamResponse:
    """POST /api/compare"""
    services_ = services(request)
    fields = await read_fields(request)
    body = convert({**fields, "panes": list_field(fields, "panes")}, NewComparison)
    if len(body.panes) > len(LETTERS):
        raise BadRequest(f"Field 'panes': at most {len(LETTERS)} models can be compared.")
    routes = [await _chosen(services_, choice) for choice in body.panes]
    if len({(route.endpoint_id, route.model) for route in routes}) < len(routes):
        raise BadRequest("Field 'panes': each model can be in a comparison once.")
    if body.blind:
        SHUFFLE(routes)
    comparison = await services_.compare.create(routes, body.question.strip(), blind=body.blind)
    return json_answer(comparison_json(services_, comparison))


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/compare"""
    services_ = services(request)
    return json_answer([comparison_json(services_, found) for found in await services_.compare.list()])


async def show(request: web.Request) -> web.StreamResponse:
    """GET /api/compare/{id}: the comparison, with the messages of each pane"""
    services_ = services(request)
    comparison = await services_.compare.get(_id(request))
    shown = comparison_json(services_, comparison)
    for pane, told in zip(comparison.panes, shown["panes"], strict=True):
        messages = await services_.messages.all(pane.session_id)
        told["history"] = await asyncio.to_thread(_history, messages, pane.alias if comparison.veiled else "")
    return json_answer(shown)


@completes
async def vote(request: web.Request) -> web.StreamResponse:
    """POST /api/compare/{id}/vote"""
    services_ = services(request)
    body = await read(request, Vote)
    comparison = await services_.compare.get(_id(request))
    if body.vote not in {TIE, NONE} and body.vote not in _letters(comparison):
        raise BadRequest(f"Field 'vote': there is no pane {body.vote}.")
    await _check_answered(services_, comparison)
    return json_answer(comparison_json(services_, await services_.compare.vote(comparison.id, body.vote)))


async def scores(request: web.Request) -> web.StreamResponse:
    """GET /api/compare/scores"""
    return json_answer([_score_json(score) for score in await services(request).compare.scores()])


@completes
async def keep(request: web.Request) -> web.StreamResponse:
    """POST /api/compare/{id}/keep: one pane's messages as a chat of its own"""
    services_ = services(request)
    body = await read(request, Keep)
    comparison = await services_.compare.get(_id(request))
    pane = _pane(comparison, body.pane)
    if comparison.veiled:
        raise Conflict("Vote first: a chat tells which model it is.")
    await _check_answered(services_, comparison)
    session = await services_.sessions.of_pane(pane.session_id)
    page = await services_.messages.page(session.id, 1, None)
    if not page.messages:
        raise Conflict("This model was asked nothing yet.")
    fork = await services_.messages.fork(session, page.messages[-1].id)
    return json_answer(session_json(await services_.sessions.change(fork.id, {"name": session.name}), running=False))


@completes
async def close(request: web.Request) -> web.StreamResponse:
    """POST /api/compare/{id}/close"""
    services_ = services(request)
    body = await read(request, Close)
    comparison = await services_.compare.get(_id(request))
    await services_.compare.close_pane(_pane(comparison, body.pane), closed=body.closed)
    return json_answer(comparison_json(services_, await services_.compare.get(comparison.id)))


@completes
async def delete(request: web.Request) -> web.StreamResponse:
    """DELETE /api/compare/{id}"""
    services_ = services(request)
    comparison = await services_.compare.get(_id(request))
    async with AsyncExitStack() as quiet:
        for pane in comparison.panes:
            await quiet.enter_async_context(services_.runs.quiet(pane.session_id, discard=True))
        await services_.compare.delete(comparison.id)
    return json_answer({"status": "deleted"})


async def pane_route(services_: Services, comparison: Comparison, pane: Pane) -> Route:
    """The way to a pane's model, and to no other in its place. Raises BadRequest, which is blind too."""
    try:
        route = await services_.router.route(pane.route.endpoint_id, pane.route.model)
    except OdysseusError as error:
        if comparison.veiled:
            raise BadRequest(CANNOT_ASK) from error
        raise
    _check_writes(route)
    return replace(route, candidates=route.candidates[:1])


def comparison_json(services_: Services, comparison: Comparison) -> dict[str, Any]:
    """A comparison as clients see it. `models` is in an order that says nothing of the panes."""
    routes = sorted((pane.route for pane in comparison.panes), key=lambda route: (route.model, route.endpoint_id))
    panes = [
        {
            "pane": pane.letter,
            "name": pane.alias if comparison.veiled else pane.route.model,
            "session": pane.session_id,
            "running": services_.runs.is_running(pane.session_id),
            "closed": pane.closed,
            **_route_json(None if comparison.veiled else pane.route),
        }
        for pane in comparison.panes
    ]
    return {
        "id": comparison.id,
        "question": comparison.question,
        "blind": comparison.blind,
        "vote": comparison.vote,
        "revealed": not comparison.veiled,
        "running": any(pane["running"] for pane in panes),
        "created_at": iso(comparison.created_at),
        "models": [_route_json(route) for route in routes],
        "panes": panes,
    }


def _route_json(route: PaneRoute | None) -> Mapping[str, str | None]:
    return {name: getattr(route, name, None) for name in ("model", "endpoint_id", "endpoint_label")}


def _score_json(score: Score) -> Mapping[str, Any]:
    counts = {name: getattr(score, name) for name in ("wins", "ties", "losses", "none")}
    return {**_route_json(score.route), **counts}


def _history(messages: Sequence[Message], alias: str) -> list[dict[str, Any]]:
    """The messages as in a history; with an alias, so that they do not tell their model. Renders."""
    since = Since({}, frozenset())
    if alias:
        messages = [replace(message, metadata=masked_metadata(message.metadata, alias)) for message in messages]
    return [message_json(message, since) for message in messages]


def _pane(comparison: Comparison, letter: str) -> Pane:
    pane = next((pane for pane in comparison.panes if pane.letter == letter), None)
    if pane is None:
        raise BadRequest(f"Field 'pane': there is no pane {letter}.")
    return pane


def _letters(comparison: Comparison) -> set[str]:
    return {pane.letter for pane in comparison.panes}


async def _chosen(services_: Services, choice: PaneChoice) -> PaneRoute:
    """A model by its whole name. Raises BadRequest when it cannot be had."""
    route = await services_.router.route(choice.endpoint_id, choice.model)
    _check_writes(route)
    first = route.first
    return PaneRoute(first.endpoint_id, first.endpoint_label, first.model)


def _check_writes(route: Route) -> None:
    """Raises BadRequest for a model whose answers are pictures, which would tell a blind one."""
    if route.first.pictures:
        raise BadRequest(NO_PICTURES)


async def _check_answered(services_: Services, comparison: Comparison) -> None:
    """Raises Conflict while an answer is being written, or when nothing was asked."""
    if any(services_.runs.is_running(pane.session_id) for pane in comparison.panes):
        raise Conflict(GOES_ON)
    sessions = [await services_.sessions.of_pane(pane.session_id) for pane in comparison.panes]
    if not any(session.message_count for session in sessions):
        raise Conflict("Nothing was asked yet.")


def _id(request: web.Request) -> str:
    return clean_text(request.match_info["comparison"])
