"""Research jobs: start, follow, look at, cancel, and the finished report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

from aiohttp import web
from msgspec import Meta, Struct

from odysseus.clock import iso
from odysseus.dialects.research import encode
from odysseus.dialects.sse import EventStream, frame_reader, serve
from odysseus.errors import BadRequest
from odysseus.events import ResearchEnded
from odysseus.research.job import finding_json
from odysseus.research.sheet import POLICY, report_html
from odysseus.research.values import Report
from odysseus.research.written import report_markdown
from odysseus.runs.research import ResearchJob
from odysseus.store.research import ResearchRow
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import Chosen, read
from odysseus.web.services import services

QUESTION_LIMIT = 10_000
NAME_LIMIT = 60


class NewResearch(Struct, frozen=True, kw_only=True):
    """What is to be found out."""

    question: Annotated[str, Meta(max_length=QUESTION_LIMIT, description="The question, in words of any language")]
    session: Annotated[str, Meta(description="A chat that it belongs to and is deleted with")] = ""
    endpoint_id: Annotated[
        Chosen, Meta(description="Who is asked; empty: the chat's endpoint, else the default one")
    ] = ""
    model: Annotated[Chosen, Meta(description="Its model; empty: the chat's, else the first")] = ""


@completes
async def start(request: web.Request) -> web.StreamResponse:
    """POST /api/research/start"""
    services_ = services(request)
    body = await read(request, NewResearch)
    question = body.question.strip()
    if not question:
        raise BadRequest("Field 'question': it may not be empty.")
    endpoint_id, model = body.endpoint_id, body.model
    fallback: Sequence[str] = ()
    if body.session:
        session = await services_.sessions.get(body.session)
        endpoint_id, fallback = endpoint_id or session.endpoint_id, session.fallback
        model = model or (session.model if endpoint_id == session.endpoint_id else "")
    route = await services_.router.route(endpoint_id, model, fallback)
    job = await services_.research.start(question, route, body.session or None)
    return json_answer(job_json(job.row, job))


async def list_all(request: web.Request) -> web.StreamResponse:
    """GET /api/research"""
    desk = services(request).research
    return json_answer([job_json(row, desk.get(row.id)) for row in await desk.store.list()])


async def active(request: web.Request) -> web.StreamResponse:
    """GET /api/research/active"""
    return json_answer([job_json(job.row, job) for job in services(request).research.active()])


async def status(request: web.Request) -> web.StreamResponse:
    """GET /api/research/status/{research}"""
    desk = services(request).research
    row = await desk.store.get(_id(request))
    job = desk.get(row.id)
    report_ = await desk.report(row.id) if row.status == "done" else None
    return json_answer({**job_json(row, job), **_found(job, report_)})


@completes
async def cancel(request: web.Request) -> web.StreamResponse:
    """POST /api/research/cancel/{research}"""
    desk = services(request).research
    row = await desk.store.get(_id(request))
    return json_answer({"cancelled": await desk.cancel(row.id)})


@completes
async def delete(request: web.Request) -> web.StreamResponse:
    """DELETE /api/research/{research}"""
    await services(request).research.delete(_id(request))
    return json_answer({"status": "deleted"})


async def report(request: web.Request) -> web.StreamResponse:
    """GET /api/research/report/{research}"""
    kind = request.query.get("fmt", "html")
    if kind not in {"html", "md"}:
        raise BadRequest("`fmt` must be html or md.")
    found = await services(request).research.report(_id(request))
    text = await asyncio.to_thread(report_html if kind == "html" else report_markdown, found)
    headers = {"Content-Security-Policy": POLICY} if kind == "html" else {}
    if kind == "md" or request.query.get("download") == "1":
        name = quote(f"{' '.join(found.question.split())[:NAME_LIMIT]}.{kind}", safe="")
        headers["Content-Disposition"] = f"attachment; filename=\"report.{kind}\"; filename*=UTF-8''{name}"
    content_type = "text/html" if kind == "html" else "text/markdown"
    return web.Response(body=text.encode(), content_type=content_type, charset="utf-8", headers=headers)


async def stream(request: web.Request) -> web.StreamResponse:
    """GET /api/research/stream/{research}"""
    services_ = services(request)
    row = await services_.research.store.get(_id(request))
    server = services_.config.server
    out = EventStream(heartbeat=server.heartbeat, send_timeout=server.send_timeout, headers={})
    job = services_.research.get(row.id)
    if job is None:
        return await serve(request, out, _only(encode(ResearchEnded(row.status, row.message)) or b""))
    subscription = job.log.subscribe(0, out.push)
    try:
        return await serve(request, out, frame_reader(subscription, ids=False))
    finally:
        subscription.close()


def job_json(row: ResearchRow, job: ResearchJob | None) -> dict[str, Any]:
    """A job as clients see it; one that is in memory tells how far it is."""
    progress = job.progress if job else {}
    return {
        "id": row.id,
        "session_id": row.session_id,
        "question": row.question,
        "endpoint_id": row.endpoint_id,
        "model": row.model,
        "status": job.status if job else row.status,
        "message": job.failure.message if job and job.failure else row.message,
        "phase": progress.get("phase"),
        "total_sources": len(job.pages) if job else None,
        "total_findings": len(job.findings) if job else None,
        "started_at": iso(row.started_at),
        "finished_at": None if row.finished_at is None else iso(row.finished_at),
    }


def _found(job: ResearchJob | None, report_: Report | None) -> dict[str, Any]:
    """Sources and findings: those of the report, else those so far."""
    if report_:
        sources = [{"url": one.url, "title": one.title} for one in report_.sources]
        findings = [finding_json(one, report_.sources) for one in report_.findings]
        keys = ("text", "source_url", "source_title", "round")
        return {"sources": sources, "findings": [{key: one[key] for key in keys} for one in findings]}
    return {"sources": list(job.pages.values()) if job else [], "findings": job.findings if job else []}


def _only(frame: bytes) -> Any:
    """A stream of one frame."""
    left = [frame, b""]

    async def next_bytes() -> bytes:
        return left.pop(0)

    return next_bytes


def _id(request: web.Request) -> str:
    return clean_text(request.match_info["research"])
