"""The chat stream: send, resume, status, stop (contract, sections 1, 2 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from aiohttp import web
from msgspec import Meta, Struct

from odysseus.agent.toolbox import Wishes
from odysseus.clock import iso
from odysseus.context.builder import UserClock
from odysseus.dialects import blind, chat
from odysseus.dialects.page import PageFeed
from odysseus.dialects.sse import EventStream, frame_reader, serve
from odysseus.errors import BadRequest, NotFound
from odysseus.runs.agent_work import AgentWish
from odysseus.runs.ask import Ask
from odysseus.runs.log import Encode
from odysseus.runs.run import Run
from odysseus.runs.sources import ContextWish
from odysseus.store.compare import Comparison, Pane
from odysseus.store.placing import Place
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.body import Chosen, convert, list_field, read_fields
from odysseus.web.compare import pane_route
from odysseus.web.services import Services, services

RUN_ID_HEADER = "X-Odysseus-Run-Id"
MESSAGE_LIMIT = 50_000
MAX_OFFSET_MINUTES = 18 * 60
ROOT = "root"
"""The `parent_id` of a first message."""


class ChatBody(Struct, frozen=True, kw_only=True):
    """The fields of a send that this server acts on; unknown ones are ignored."""

    session: Annotated[str, Meta(description="Id of the session, from POST /api/session")]
    message: Annotated[
        str,
        Meta(
            description="The user's text, 1 to 50,000 characters without spaces at its ends; none is needed with files"
        ),
    ] = ""
    mode: Annotated[
        Literal["chat", "agent"] | None, Meta(description="`agent` may call tools; absent: the session's")
    ] = None
    selected_model: Annotated[Chosen, Meta(description="The model to ask, remembered on the session")] = ""
    selected_endpoint_id: Annotated[Chosen, Meta(description="The endpoint to ask, remembered on the session")] = ""
    compare_mode: Annotated[bool, Meta(description="The answer lives and dies with this connection")] = False
    incognito: Annotated[bool, Meta(description="Nothing of this turn is written to disk")] = False
    tool_approval_id: Annotated[str, Meta(description="Answers an approval card: its id")] = ""
    tool_approval_decision: Annotated[
        Literal["approve", "approve_task", "deny"] | None, Meta(description="Answers an approval card: what is decided")
    ] = None
    approved_plan: Annotated[str, Meta(max_length=8192, description="A plan to carry out")] = ""
    attachments: Annotated[
        tuple[str, ...], Meta(max_length=100, description="Ids of files, from POST /api/upload")
    ] = ()
    active_doc_id: Annotated[
        str, Meta(description="Id of the document that is open beside the chat; the model is given it")
    ] = ""
    use_web: Annotated[bool, Meta(description="Search the web before the answer, and read addresses in it")] = False
    time_filter: Annotated[
        Literal["", "day", "week", "month", "year"], Meta(description="How old web results may be; empty: any age")
    ] = ""
    use_research: Annotated[bool, Meta(description="Answer by a research job, which reads the web in rounds")] = False
    use_rag: Annotated[bool, Meta(description="Give the model passages of the user's library")] = True
    no_memory: Annotated[bool, Meta(description="Give the model no memories")] = False
    allow_web_search: Annotated[
        bool | None, Meta(description="False takes the tools of the web away for this message")
    ] = None
    allow_bash: Annotated[bool | None, Meta(description="False takes the shell and Python away for this message")] = (
        None
    )
    plan_mode: Annotated[bool, Meta(description="Only tools that read; the model is asked for a plan")] = False
    workspace: Annotated[str, Meta(description="Whole path of the folder to work in, for this message")] = ""
    parent_id: Annotated[
        str, Meta(description="The message follows this one and begins a branch; `root`: it is a first message")
    ] = ""
    regenerate: Annotated[
        str, Meta(description="A question, or an answer to it: it is answered once more. No message goes with it")
    ] = ""


async def send(request: web.Request) -> web.StreamResponse:
    """POST /api/chat_stream"""
    as_page = wants_page(request)
    fields = await read_fields(request)
    body = convert({**fields, "attachments": list_field(fields, "attachments")}, ChatBody)
    message = check_message(body, services(request).config.uploads.max_files)
    ask, encode = await _asked(request, body, message)
    run = await services(request).runs.start(ask, encode)
    try:
        return await _stream(request, run, 0, as_page=as_page, encode=encode)
    finally:
        if not run.detached:
            run.stop("client_disconnected")


async def resume(request: web.Request) -> web.StreamResponse:
    """GET /api/chat/resume/{session}"""
    run = _run(request)
    after = cursor(request.query.get("after"), request.headers.get("Last-Event-ID"))
    if after > run.log.end:
        raise BadRequest(f"The run has {run.log.end} frames so far; `after` is beyond them.")
    return await _stream(request, run, after, as_page=wants_page(request))


async def status(request: web.Request) -> web.StreamResponse:
    """GET /api/chat/stream_status/{session}"""
    run = _run(request)
    words = {"completed": "done", "failed": "error", "interrupted": "error", "stopped": "stopped", "timeout": "stopped"}
    return json_answer(
        {
            "status": words[run.ending.status] if run.over and run.ending else "streaming",
            "detached": True,
            "run_id": run.id,
            "frames": run.log.end,
            "partial": run.draft.text,
            "query": run.query,
            "mode": run.identity.mode,
            "is_research": run.is_research,
            "started_at": iso(run.identity.started_at),
        }
    )


@completes
async def stop(request: web.Request) -> web.StreamResponse:
    """POST /api/chat/stop/{session}"""
    run_id = request.headers.get(RUN_ID_HEADER, "")
    return json_answer({"stopped": await services(request).runs.stop(_session_id(request), run_id)})


def check_message(body: ChatBody, most_files: int) -> str:
    """The user's text. Raises what the contract's section 1 lists."""
    if len(body.attachments) > most_files:
        raise BadRequest(f"The message has {len(body.attachments)} files; the limit is {most_files}.")
    message = body.message.strip()
    if bool(body.tool_approval_id) != bool(body.tool_approval_decision):
        raise BadRequest("`tool_approval_id` and `tool_approval_decision` (approve, approve_task or deny) go together.")
    check_branch(body)
    if body.tool_approval_id or body.regenerate:
        return ""
    if not message and not body.attachments:
        raise BadRequest("The message is empty.")
    if len(message) > MESSAGE_LIMIT:
        raise BadRequest(f"The message has {len(message):,} characters; the limit is {MESSAGE_LIMIT:,}.")
    return message


def check_branch(body: ChatBody) -> None:
    """Raises BadRequest for fields that make no sense beside `parent_id` and `regenerate`."""
    name = "regenerate" if body.regenerate else "parent_id"
    if not (body.regenerate or body.parent_id):
        return
    if body.incognito:
        raise BadRequest(f"`{name}` and `incognito` do not go together: an incognito message is in no branch.")
    if body.tool_approval_id:
        raise BadRequest(
            f"`{name}` and `tool_approval_id` do not go together: a decision goes on where it was asked for."
        )
    if body.regenerate and (body.message.strip() or body.attachments or body.parent_id):
        raise BadRequest("With `regenerate` the question is there: leave out `message`, `attachments` and `parent_id`.")


def place_of(body: ChatBody) -> Place:
    """Where in its session the message stands."""
    if body.regenerate or not body.parent_id:
        return Place(again=body.regenerate)
    return Place("" if body.parent_id == ROOT else body.parent_id)


def check_research(body: ChatBody) -> bool:
    """Whether the message is to be researched. Raises BadRequest for what cannot go with that."""
    if not body.use_research or body.tool_approval_id:
        return False
    if body.compare_mode:
        raise BadRequest("A research outlives its connection, so it cannot be part of a comparison.")
    if body.incognito:
        raise BadRequest("A research stores what it reads, so it cannot be incognito.")
    if body.allow_web_search is False:
        raise BadRequest("A research reads the web, and `allow_web_search` is false. Turn one of them off.")
    if body.attachments or not (body.message.strip() or body.regenerate):
        raise BadRequest("A research reads the web, not files: ask a question without any.")
    return True


def cursor(after: str | None, last_event_id: str | None) -> int:
    """The number of frames to skip; the query comes before the header. Raises BadRequest."""
    text = after if after is not None else last_event_id
    if text is None or text == "":
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise BadRequest("`after` must be the number of a frame, like 120.")
    return int(text)


def wants_page(request: web.Request) -> bool:
    """Whether the answer is for the page: `?dialect=page`. Raises BadRequest for an unknown dialect."""
    dialect = request.query.get("dialect", "chat")
    if dialect not in {"chat", "page"}:
        raise BadRequest("`dialect` must be chat or page.")
    return dialect == "page"


def user_clock(headers: Mapping[str, str]) -> UserClock | None:
    """The user's time zone; None when the client does not name one that makes sense."""
    try:
        offset = int(headers.get("X-Tz-Offset", ""))
    except ValueError:
        return None
    name = headers.get("X-Tz-Name", "")
    plain = name if len(name) <= 64 and name.replace("/", "").replace("_", "").replace("-", "").isalnum() else ""
    return UserClock(offset, plain) if abs(offset) <= MAX_OFFSET_MINUTES else None


async def _asked(request: web.Request, body: ChatBody, message: str) -> tuple[Ask, Encode]:
    """The turn that is wanted, and how it is told. The session of a comparison's pane is found in compare mode only."""
    found = await services(request).compare.of_session(body.session) if body.compare_mode else None
    if found is None:
        return await _ask(request, body, message), chat.encode
    comparison, pane = found
    encode = blind.encoder(pane.alias) if comparison.veiled else chat.encode
    return await _pane_ask(request, body, message, comparison, pane), encode


async def _pane_ask(request: web.Request, body: ChatBody, message: str, comparison: Comparison, pane: Pane) -> Ask:
    """A turn of a comparison: a chat with the pane's own model, whatever else is selected."""
    if body.mode == "agent" or body.tool_approval_id:
        raise BadRequest("Field 'mode': models are compared in the mode chat, without tools.")
    if body.incognito:
        raise BadRequest("Field 'incognito': a comparison is kept until you delete it.")
    if body.regenerate or body.parent_id:
        raise BadRequest("`regenerate` and `parent_id` are for chats: the panes of a comparison have no branches.")
    services_ = services(request)
    return Ask(
        session_id=pane.session_id,
        message=message,
        mode="chat",
        route=await pane_route(services_, comparison, pane),
        system_prompt=services_.config.chat.system_prompt,
        user_clock=user_clock(request.headers),
        detached=False,
        context=context_wish(body),
    )


async def _ask(request: web.Request, body: ChatBody, message: str) -> Ask:
    services_ = services(request)
    session = await services_.sessions.get(body.session)
    if body.active_doc_id:
        await _open_document(services_, session.id, body)
    clock = user_clock(request.headers)
    endpoint_id = body.selected_endpoint_id or session.endpoint_id
    kept = session.model if endpoint_id == session.endpoint_id else ""
    return Ask(
        session_id=session.id,
        message=message,
        mode=body.mode or session.mode,
        route=await services_.router.route(endpoint_id, body.selected_model or kept, session.fallback),
        system_prompt=services_.config.chat.system_prompt,
        user_clock=clock,
        detached=not body.compare_mode,
        context=context_wish(body),
        agent=agent_wish(body, session.workspace, clock),
        place=place_of(body),
        research=check_research(body),
    )


async def _open_document(services_: Services, session_id: str, body: ChatBody) -> None:
    """The agent of the session finds the document from now on. Raises NotFound."""
    if body.incognito:
        await services_.documents.get(None, body.active_doc_id)
    else:
        await services_.documents.invite(session_id, body.active_doc_id)


def context_wish(body: ChatBody) -> ContextWish:
    """What the message asks to be given with it; a turned off search beats the wish for one."""
    return ContextWish(
        body.attachments,
        body.active_doc_id,
        use_rag=body.use_rag,
        use_memory=not body.no_memory and not body.incognito,
        use_web=body.use_web and body.allow_web_search is not False,
        time_filter=body.time_filter,
    )


def agent_wish(body: ChatBody, workspace: str, clock: UserClock | None) -> AgentWish:
    """What the message says of tools; without a word on the workspace it is the session's."""
    wishes = Wishes(body.use_web, body.allow_web_search, body.allow_bash, body.plan_mode, body.incognito)
    return AgentWish(
        wishes,
        body.workspace or workspace,
        body.approved_plan.strip(),
        clock.name if clock else "",
        body.tool_approval_id,
        body.tool_approval_decision,
    )


def _session_id(request: web.Request) -> str:
    return clean_text(request.match_info["session"])


def _run(request: web.Request) -> Run:
    run = services(request).runs.get(_session_id(request))
    if run is None:
        raise NotFound("There is no run of this session to resume. Its history has what was said.")
    return run


async def _stream(
    request: web.Request, run: Run, after: int, *, as_page: bool, encode: Encode = chat.encode
) -> web.StreamResponse:
    stream = _event_stream(services(request), run)
    ids = request.query.get("ids") == "1"
    subscription = run.log.subscribe(after, None if ids or as_page else stream.push)
    try:
        feed = PageFeed(run, subscription, encode).next_bytes if as_page else frame_reader(subscription, ids=ids)
        return await serve(request, stream, feed)
    finally:
        subscription.close()


def _event_stream(services_: Services, run: Run) -> EventStream:
    server = services_.config.server
    headers = {RUN_ID_HEADER: run.id} if run.detached else {}
    return EventStream(heartbeat=server.heartbeat, send_timeout=server.send_timeout, headers=headers)
