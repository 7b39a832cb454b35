"""What a real server answers against what its description says: every call, when it goes well and when it does not."""

from __future__ import annotations

import io
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from openapi_schemas import DOCUMENT, check, component
from playing import agent, card, decide
from serving import Server, config_of, parse_frame, serving
from sources import file_server, gguf, known
from upstream import DONE, Upstream, calls, finish, reasoning_chunk, text_chunk

from odysseus.models.catalogue import KNOWN, UrlSource
from odysseus.research.values import Finding, Report, Source, report_json
from odysseus.runs.research import REPORT
from odysseus.web.openapi.operation import Operation
from odysseus.web.openapi.operations import OPERATIONS

EACH = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
WITH_BODY = pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.body], ids=lambda operation: operation.id
)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@dataclass(frozen=True)
class Sent:
    """A request: the values in its path, its query, and what aiohttp takes beside them."""

    values: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


Way = Callable[[Server, Upstream], Awaitable[Sent]]


@asynccontextmanager
async def at(upstream: Upstream, folder: Path, *, token: str = "", limit: int = 8_000_000) -> AsyncIterator[Server]:
    """A server with one endpoint, an agent, and an MCP server that cannot be started."""
    config = config_of(
        f'[chat]\nendpoint = "up"\nmodel = "fake-model"\n[server]\nmax_body_bytes = {limit}\n'
        f"[agents.helper]\nmax_sessions = 1\nmax_files_bytes = 1000\nmax_file_bytes = 1000\n"
        f'[[mcp]]\nname = "gone"\ncommand = ["/nowhere/at/all"]\n'
        f'[[endpoints]]\nid = "up"\nkind = "openai"\nlabel = "Upstream"\nbase_url = "{upstream.base_url}"\n'
    )
    async with serving(config, folder, token=token) as server:
        yield server


def filled(operation: Operation, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], "none"), operation.path)


async def ask(server: Server, operation: Operation, sent: Sent) -> aiohttp.ClientResponse:
    address = server.url + filled(operation, sent.values) + sent.query
    response = await server.http.request(operation.method, address, allow_redirects=False, **sent.more)
    server.open.append(response)
    await response.read()
    return response


def described(operation: Operation, status: int) -> Mapping[str, Any]:
    """What the document says of this status."""
    responses = DOCUMENT["paths"][operation.path][operation.method]["responses"]
    assert str(status) in responses, f"{operation.id} does not say that it answers {status}"
    answer = responses[str(status)]
    if "$ref" in answer:
        return dict(DOCUMENT["components"]["responses"][answer["$ref"].rpartition("/")[2]])
    return dict(answer)


async def conforms(operation: Operation, response: aiohttp.ClientResponse) -> None:
    """The status is described, the content type is one of it, the headers are there, and JSON has only known fields."""
    answer = described(operation, response.status)
    body, kind = await response.read(), response.content_type
    assert set(answer.get("headers", {})) <= set(response.headers)
    if "content" not in answer:
        assert body == b""
        return
    matching = [one for one in answer["content"] if one in {kind, "*/*", f"{kind.partition('/')[0]}/*"}]
    assert matching, f"{kind} is not described"
    if kind.endswith("json"):
        check(json.loads(body), answer["content"][matching[0]]["schema"])
    if kind == "text/event-stream":
        stream(body, dialect_of(operation))


def dialect_of(operation: Operation) -> str:
    if operation.path.startswith("/api/library"):
        return "Library"
    if operation.path.startswith("/api/research"):
        return "Research"
    return "Chat" if operation.path.startswith("/api/") else "Agent"


def stream(body: bytes, dialect: str) -> None:
    """Every event of a stream is as described, and its data too."""
    events = [parse_frame(raw) for raw in body.split(b"\n\n") if raw and not raw.startswith(b":")]
    assert events
    for event in events:
        text = event.data if event.data == "[DONE]" else json.dumps(event.data)
        number = {} if event.number is None else {"id": str(event.number)}
        check({"event": event.event, "data": text, **number}, component(f"{dialect}StreamEvent"))
        if event.data != "[DONE]":
            check(event.data, component("AgentEvent" if dialect == "Agent" else f"{dialect}Frame"))


async def worked(server: Server, upstream: Upstream) -> str:
    """A session with all that a history can have: rows, notices, a plan, a card that was decided, reasoning, files."""
    session = await server.session()
    await server.post("/api/memories", {"text": "Likes tea.", "pinned": True})
    sent = await server.call("POST", "/api/upload", data={"files": io.BytesIO(b"Tea, two minutes.")})
    work = calls(
        ("update_plan", {"plan": "- [ ] write"}),
        ("create_document", {"title": "t", "content": "text"}),
        ("ui_control", {"action": "clear_highlight"}),
        ("write_file", {"path": "a.txt", "content": "a"}),
    )
    upstream.reply(reasoning_chunk("Hm."), *work)
    upstream.reply(text_chunk("Done."), finish(), DONE).reply(calls(("ask_user", {"question": "Well?"})))
    upstream.reply(text_chunk("cut"), finish("length"), DONE)
    asked = await agent(server, session, workspace="/")
    await decide(server, session, card(asked)["approval_id"], "approve")
    await agent(server, session, "and now")
    await (await server.send(session, "go on", attachments=[sent["files"][0]["id"]])).rest()
    return session


async def nothing(_: Server, __: Upstream) -> Sent:
    return Sent()


async def in_session(server: Server, upstream: Upstream) -> Sent:
    return Sent({"session": await worked(server, upstream)})


async def with_message(server: Server, upstream: Upstream, **more: Any) -> Sent:
    session = await worked(server, upstream)
    message = (await server.history(session))[0]["id"]
    return Sent({"session": session}, more={"json": {"message_id": message, "msg_id": message, "msg_ids": [message]}})


async def edit(server: Server, upstream: Upstream) -> Sent:
    sent = await with_message(server, upstream)
    return Sent(sent.values, more={"json": {**sent.more["json"], "content": "new"}})


async def send(server: Server, _: Upstream) -> Sent:
    return Sent(
        query="?ids=1", more={"data": {"session": await server.session(), "message": "hi", "attachments": "[]"}}
    )


async def stop(server: Server, _: Upstream) -> Sent:
    return Sent({"session": await server.session()}, more={"headers": {"X-Odysseus-Run-Id": "0" * 32}})


async def undo(server: Server, upstream: Upstream) -> Sent:
    upstream.reply(calls(("write_file", {"path": "a.txt", "content": "a"})))
    session = await server.session()
    asked = await agent(server, session)
    return Sent({"run_id": (await decide(server, session, card(asked)["approval_id"], "approve")).run_id})


async def change(server: Server, _: Upstream) -> Sent:
    body = {"name": "n", "fallback": ["up/other"], "pinned": True, "mode": "agent", "workspace": ""}
    return Sent({"session": await server.session()}, more={"json": body})


async def found(server: Server, upstream: Upstream) -> Sent:
    await worked(server, upstream)
    return Sent(query="?q=done")


async def upload(server: Server, _: Upstream) -> Sent:
    return Sent({"upload": (await server.services.uploads.add("dot", "image/png", PNG)).id})


async def address(_: Server, upstream: Upstream) -> Sent:
    return Sent(more={"json": {"base_url": upstream.origin}})


async def endpoint(server: Server, upstream: Upstream) -> Sent:
    added = await server.post("/api/endpoints", {"base_url": upstream.origin, "api_key": "k"})
    return Sent({"endpoint": added["id"]}, more={"json": {"label": "new"}})


async def exported(server: Server, _: Upstream) -> Sent:
    session = await server.session()
    await (await server.send(session)).rest()
    return Sent(more={"json": await server.get(f"/api/session/{session}/export?fmt=json")})


async def tool(_: Server, __: Upstream) -> Sent:
    return Sent({"tool": "calculate"}, more={"json": {"policy": "ask"}})


async def install(_: Server, __: Upstream) -> Sent:
    return Sent(more={"json": {"name": "tiny"}})


async def agent_message(server: Server, upstream: Upstream) -> Sent:
    upstream.reply(calls(("calculate", {"expression": "1+1"})))
    form = aiohttp.FormData({"message": "hi", "include_reasoning": "true"})
    form.add_field("note", "of no use", content_type="text/plain")
    return Sent({"agent_name": "helper"}, more={"data": form})


async def agent_session(_: Server, __: Upstream) -> Sent:
    return Sent({"session_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})


async def helper(_: Server, __: Upstream) -> Sent:
    return Sent({"agent_name": "helper"})


async def a_file(_: Server, __: Upstream) -> Sent:
    return Sent({"path": "css/base.css"})


async def send_file(_: Server, __: Upstream) -> Sent:
    form = aiohttp.FormData()
    form.add_field("files", PNG, filename="dot.png")
    form.add_field("note", "of no use")
    return Sent(more={"data": form})


async def new_memory(_: Server, __: Upstream) -> Sent:
    return Sent(more={"json": {"text": "Likes tea.", "pinned": True}})


async def memory(server: Server, _: Upstream) -> Sent:
    made = await server.post("/api/memories", {"text": "Likes tea."})
    return Sent({"memory": made["id"]}, more={"json": {"state": "proposed", "category": "taste"}})


async def memory_list(server: Server, upstream: Upstream) -> Sent:
    await memory(server, upstream)
    return Sent(query="?q=tea&state=kept")


async def new_source(server: Server, _: Upstream) -> Sent:
    folder = server.data.with_name(f"{server.data.name}-notes")
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea draws for two minutes.\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    return Sent(more={"json": {"path": str(folder)}})


async def source(server: Server, upstream: Upstream) -> Sent:
    made = await server.post("/api/library", (await new_source(server, upstream)).more["json"], 202)
    await server.services.library.quiet()
    return Sent({"source": made["id"]})


async def library_search(server: Server, upstream: Upstream) -> Sent:
    await source(server, upstream)
    return Sent(query="?q=tea")


async def new_comparison(_: Server, __: Upstream) -> Sent:
    return Sent(more={"json": {"panes": [{"model": "one"}, {"model": "two"}], "blind": True, "question": "Why?"}})


async def comparison(server: Server, upstream: Upstream) -> Sent:
    made = await server.post("/api/compare", (await new_comparison(server, upstream)).more["json"])
    for pane in made["panes"]:
        await (await server.send(pane["session"], compare_mode=True)).rest()
    return Sent({"comparison": made["id"]}, more={"json": {"vote": "A", "pane": "A"}})


async def voted(server: Server, upstream: Upstream) -> Sent:
    sent = await comparison(server, upstream)
    await server.post(f"/api/compare/{sent.values['comparison']}/vote", {"vote": "B"})
    return sent


async def research(server: Server, _: Upstream) -> Sent:
    made = await server.post("/api/research/start", {"question": "Which tea?"})
    async with server.http.get(f"{server.url}/api/research/stream/{made['id']}") as stream:
        await stream.read()
    return Sent({"research": made["id"]})


async def new_research(server: Server, _: Upstream) -> Sent:
    return Sent(more={"json": {"question": "Which tea?", "session": await server.session()}})


async def finished_research(server: Server, upstream: Upstream) -> Sent:
    sent = await research(server, upstream)
    report = Report(
        "Which tea?", "Green [1].", [Finding(1, "Green.", "Green it is.", 1, 1)], [Source(1, "http://a.b", "t")]
    )
    job = sent.values["research"]
    await server.services.research.store.add_step(job, REPORT, report_json(report), 1.0)
    await server.services.research.store.finish(job, "done", "")
    return sent


async def document(server: Server, upstream: Upstream) -> Sent:
    made = await server.post("/api/documents", {"title": "t", "content": "one two", "session": await server.session()})
    change = {"find": "two", "replace": "2"}
    upstream.reply(calls(("suggest_document", {"doc_id": made["id"], "suggestions": [change]})))
    told = (await agent(server, made["session_id"])).one("doc_suggestions")
    values = {"document": made["id"], "version": "1", "suggestion": told["suggestions"][0]["id"]}
    return Sent(values, more={"json": {"content": "one", "version": 1, "decision": "accept"}})


WAYS: Mapping[str, Way] = {
    "send": send,
    "resume": in_session,
    "streamStatus": in_session,
    "stop": stop,
    "undoRun": undo,
    "listSessions": found,
    "changeSession": change,
    "deleteSession": in_session,
    "forkSession": with_message,
    "exportSession": in_session,
    "history": in_session,
    "context": in_session,
    "switchBranch": with_message,
    "editMessage": edit,
    "deleteMessages": with_message,
    "truncateSession": with_message,
    "search": found,
    "searchEverything": found,
    "upload": send_file,
    "download": upload,
    "listComparisons": voted,
    "createComparison": new_comparison,
    "listScores": voted,
    "getComparison": comparison,
    "deleteComparison": comparison,
    "voteInComparison": comparison,
    "keepPane": voted,
    "closePane": comparison,
    "listDocuments": document,
    "getDocument": document,
    "changeDocument": document,
    "deleteDocument": document,
    "listVersions": document,
    "getVersion": document,
    "restoreVersion": document,
    "listSuggestions": document,
    "decideSuggestion": document,
    "previewDocument": document,
    "downloadDocument": document,
    "listMemories": memory_list,
    "addMemory": new_memory,
    "changeMemory": memory,
    "deleteMemory": memory,
    "listLibrary": source,
    "addToLibrary": new_source,
    "removeFromLibrary": source,
    "refreshLibrary": source,
    "libraryProgress": source,
    "searchLibrary": library_search,
    "listResearch": research,
    "startResearch": new_research,
    "researchStream": research,
    "researchStatus": finished_research,
    "researchReport": finished_research,
    "cancelResearch": research,
    "deleteResearch": research,
    "startInstall": install,
    "addEndpoint": address,
    "testEndpoint": address,
    "changeEndpoint": endpoint,
    "removeEndpoint": endpoint,
    "changeTool": tool,
    "importSession": exported,
    "agentChat": agent_message,
    "agentStream": agent_message,
    "endAgentSession": agent_session,
    "agentHealth": helper,
    "staticFile": a_file,
}
"""How to have a call go well, where it needs anything."""


@EACH
async def test_a_call_that_goes_well_is_as_described(
    operation: Operation, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = gguf()
    with file_server(data) as files:
        monkeypatch.setitem(KNOWN, "tiny", known(data, UrlSource("the hub", files.url)))
        async with at(upstream, tmp_path) as server:
            response = await ask(server, operation, await WAYS.get(operation.id, nothing)(server, upstream))
            assert response.status == next(iter(operation.answers)), await response.text()
            await conforms(operation, response)
            await server.services.installer.wait()


async def test_an_export_as_json_is_as_described(upstream: Upstream, tmp_path: Path) -> None:
    (export,) = [one for one in OPERATIONS if one.id == "exportSession"]
    async with at(upstream, tmp_path) as server:
        session = await worked(server, upstream)
        response = await ask(server, export, Sent({"session": session}, "?fmt=json"))
        assert response.content_type == "application/json"
        await conforms(export, response)


@EACH
async def test_a_stranger_is_refused_as_described(operation: Operation, upstream: Upstream, tmp_path: Path) -> None:
    async with at(upstream, tmp_path, token="secret") as server:
        for status, headers in ((401, {}), (403, {"Host": "evil.example"})):
            response = await ask(server, operation, Sent(more={"headers": headers}))
            assert response.status == status
            await conforms(operation, response)


@EACH
async def test_a_broken_store_is_told_as_described(operation: Operation, upstream: Upstream, tmp_path: Path) -> None:
    async with at(upstream, tmp_path) as server:
        sent = await WAYS.get(operation.id, nothing)(server, upstream)
        await server.services.db.close()
        response = await ask(server, operation, sent)
        await conforms(operation, response)


REFUSED: Sequence[tuple[int, bytes, str]] = (
    (400, b"{", "application/json"),
    (400, b"[]", "application/json"),
    (400, b"--x\r\nno head", "multipart/form-data; boundary=x"),
    (
        400,
        b'--x\r\nContent-Disposition: form-data; name="\x08"\r\n\r\n1\r\n--x--\r\n',
        "multipart/form-data; boundary=x",
    ),
    (400, b"x", "multipart/form-data"),
    (413, b'{"message": "' + b"x" * 1_200_000 + b'"}', "application/json"),
    (415, b"x", "text/plain"),
)


LARGE = {"importSession"}
"""Calls with a limit of their own, far over that of others."""


@WITH_BODY
async def test_a_body_that_cannot_be_taken_is_refused_as_described(
    operation: Operation, upstream: Upstream, tmp_path: Path
) -> None:
    async with at(upstream, tmp_path, limit=100_000) as server:
        values = {"agent_name": "helper", "session": await server.session()}
        for status, body, kind in REFUSED:
            sent = Sent(values, more={"data": io.BytesIO(body), "headers": {"Content-Type": kind}})
            response = await ask(server, operation, sent)
            taken = operation.body is not None and kind.partition(";")[0] in operation.body.media
            wanted = status if taken else 415
            if operation.id in LARGE and wanted == 413:
                wanted = 400
            assert response.status == wanted, (body[:40], kind)
            await conforms(operation, response)


@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if 404 in one.statuses], ids=lambda operation: operation.id
)
async def test_what_is_not_there_is_told_as_described(operation: Operation, upstream: Upstream, tmp_path: Path) -> None:
    async with at(upstream, tmp_path) as server:
        body = {
            "session": "none",
            "message": "m",
            "message_id": "m",
            "msg_id": "m",
            "msg_ids": ["m"],
            "content": "c",
            "upload_id": "none",
            "policy": "ask",
            "version": 1,
            "decision": "accept",
            "vote": "A",
            "pane": "A",
            "question": "q",
        }
        response = await ask(server, operation, Sent(more={"json": {**body, "name": "none"}} if operation.body else {}))
        assert response.status == 404
        await conforms(operation, response)


async def test_too_many_sessions_are_told_as_described(upstream: Upstream, tmp_path: Path) -> None:
    (chat,) = [one for one in OPERATIONS if one.id == "agentChat"]
    async with at(upstream, tmp_path) as server:
        sent = Sent({"agent_name": "helper"}, more={"json": {"message": "m"}})
        for status in (200, 429):
            response = await ask(server, chat, sent)
            assert response.status == status
            await conforms(chat, response)
        assert "Retry-After" in response.headers
