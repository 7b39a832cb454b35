"""The stream's pages against the code: every frame with every field, and the clients that they give as examples."""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from contexts import context
from documents import names, page, rows, section
from playing import agent, card, decide
from serving import GUARD, Frame, Server, parse_frame, serving, upstream_config
from upstream import DONE, Pause, Upstream, answer, calls, finish, text_chunk

from odysseus import events
from odysseus.agent import approvals
from odysseus.agent.approvals import Sealed
from odysseus.dialects import chat
from odysseus.dialects.page import block_frame
from odysseus.dialects.sse import gap_frame
from odysseus.events import ModelInfo, UsageReport
from odysseus.providers.base import ToolCall
from odysseus.render.blocks import Block
from odysseus.runs.record import Ending, Failure, Identity, Produced, Timing, metrics, terminal_record
from odysseus.tools.ask import UiEvent, ask_tools
from odysseus.web.chat import ChatBody

STREAM = page("chat-stream.md")
AGENT = page("agent-frames.md")
CONTEXT = page("context.md")
RESEARCH = page("research.md")
ALL = f"{STREAM}\n{AGENT}\n{CONTEXT}\n{RESEARCH}"

INFO = ModelInfo("m", "e", "E")
USAGE = UsageReport(2, 1, 1, 1, 0.1, "m", 1, True)
IDENTITY = Identity("r", "s", "agent", "m", "e", "E", 0.0, 1, "u")
TIMING = Timing(2.0, 1.0)
PRODUCED = Produced("t", INFO, [USAGE])
RECORD = terminal_record(
    IDENTITY,
    Ending("failed", "error", "stop", failure=Failure(500, "f")),
    PRODUCED,
    TIMING,
    message_id="a",
    frames=9,
)
SEALED = Sealed("i", "s", "r", "u", (ToolCall("c", "bash", "{}"),), "c", "f", ("execute",), "/w", "w", {}, 1.0)
QUESTION = {"question": "q", "options": [{"label": "l", "description": "d"}], "multi": False}
EXTRAS = {
    "diff": {"file": "f", "added": 1, "removed": 1, "text": "t"},
    "image_url": "u",
    "doc_id": "d",
    "document_title": "t",
    "document_language": "l",
    "document_version": 1,
    "ask_user": QUESTION,
    "ui_event": {"ui_event": "clear_highlight"},
    "sources": [{"number": 1, "url": "u", "title": "t", "snippet": "s"}],
}
FILE = {"id": "i", "name": "n", "mime": "text/plain", "size": 1, "text_chars": 1, "extraction": "text"}
FINDING = {"text": "t", "source_url": "u", "source_title": "t", "round": 1}
PROGRESS = {
    "phase": "analyzing",
    "started_at": "2026-01-31T09:05:00.250Z",
    "research_id": "i",
    "model": "m",
    "round": 1,
    "queries": ["q"],
    "total_sources": 1,
    "title": "t",
    "url": "u",
    "total_findings": 1,
    "findings": [FINDING],
    "message": "m",
}
UI_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "toggle": {"toggle_name": "web", "state": True},
    "set_mode": {"mode": "agent"},
    "switch_model": {"model": "m", "endpoint_id": "e"},
    "set_theme": {"theme_name": "dark"},
    "open_panel": {"panel": "p"},
    "highlight": {"selector": "s", "label": "l"},
    "clear_highlight": {},
}
SAMPLES: Sequence[events.Event] = (
    events.TextDelta("t"),
    events.ReasoningDelta("t"),
    INFO,
    events.Retrying(1, 2, 1.0, "r"),
    events.FellBack("a", "b", "r", 1, "e", "f", "F"),
    events.AgentPrepared(dict.fromkeys(("request_setup", "tool_selection", "prompt_build", "context_trim"), 0.0)),
    events.RoundBegun(2),
    events.CallWritten("c", "bash", "{", 1),
    events.ToolStarted("c", "bash", "ls", 1),
    events.ToolProgressed("c", "bash", "running", 1.0, 1, "tail"),
    events.ToolEnded("c", "bash", "ls", "o", 0, 1, 1.0, EXTRAS),
    events.UserAsked(QUESTION),
    events.UserAsked(approvals.card(SEALED)),
    events.ApprovalResolved("i", "approve"),
    events.ImageMade("u", "i", "p", "m", "1x1"),
    *(events.UiControlled({"ui_event": action, **fields}) for action, fields in UI_FIELDS.items()),
    events.PlanUpdated("- [ ] p"),
    events.WorkspaceRejected("/", "r"),
    events.FilesAttached([{**FILE, "width": None, "height": None}, {**FILE, "width": 1, "height": 1, "note": "n"}]),
    events.QuestionGiven("g"),
    events.PassagesUsed([{"doc_id": "d", "filename": "f", "snippet": "s", "similarity": 0.5, "page": 1}]),
    events.WebSourcesUsed([{"url": "u", "title": "t", "snippet": "s", "domain": "d"}]),
    events.MemoriesUsed([{"id": "m", "text": "t", "category": "fact", "type": "pinned"}]),
    events.Compacted(8192, 12),
    events.ContextTrimmed(8192, 20, 10, 9000, 5000),
    events.RoundsExhausted(1),
    events.BudgetExceeded("cost", 1.0, 1.0),
    events.LoopBroken("r", "m", 1, "d"),
    events.NudgesExhausted("r", "m", 1, 2, "m"),
    events.DocumentOpened("t", "l"),
    events.DocumentWritten("c"),
    events.DocumentUpdated("d", "c", 1, "t", "l"),
    events.DocumentSuggested("d", [{"id": "i", "find": "f", "replace": "r", "reason": "w"}]),
    events.ResearchProgressed(PROGRESS),
    events.ResearchSourced([{"url": "u", "title": "t", "snippet": "s"}]),
    events.ResearchFound([{**FINDING, "number": 1, "passage": "p"}]),
    events.ResearchDone("s", "r"),
    events.ResearchEnded("done"),
    events.Noted({"role": "assistant", "content": "c"}),
    USAGE,
    events.Metrics(metrics(IDENTITY, PRODUCED, TIMING)),
    events.RunTimedOut("idle_timeout", "m", 1.0, 1.0),
    events.MessageSaved("a"),
    events.RunEnded("chat", RECORD),
    events.RunEnded("agent", RECORD),
    events.RunFailed("m", 500),
    events.StreamDone(),
)
PAGE_TEXT = b'data: {"type":"page_text","text":"","thinking":""}'
INTERNAL = {events.CallWritten, events.Noted, events.QuestionGiven, events.ResearchEnded}
FRAMES = [parse_frame(raw.strip()) for event in SAMPLES if (raw := chat.encode(event))]
FRAMES += [parse_frame(raw.strip()) for raw in (gap_frame(1, 2), block_frame(Block(0, "h", open=True)), PAGE_TEXT)]


LEAVES = {"ask_user", "ui_event"}
"""Objects that are another frame's data, and told there."""


def heading_of(kind: str) -> str:
    return "`chat_terminal` and `agent_terminal`" if kind.endswith("_terminal") else f"`{kind}`"


def paths(data: Any) -> set[str]:
    """The names of a frame's fields, with a dot before those of an inner object; of rows in `data` those of a row."""
    if not isinstance(data, dict):
        return set()
    inside = data.get("data", data)
    if isinstance(inside, list):
        return {name for row in inside for name in row}
    found = set()
    for key, value in inside.items():
        parts = value if isinstance(value, dict) and key not in LEAVES else {}
        inner = {f"{key}.{name}" for name in paths({"data": parts})}
        found |= {key} if not inner or key == "failure" else set()
        found |= inner
    return found - {"type"}


def documented(kind: str) -> set[str]:
    return {name for cells in rows(section(ALL, heading_of(kind))) for name in names(cells[0])}


def examples(text: str) -> Iterator[Frame]:
    for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield parse_frame(block.strip().encode())


def test_every_event_has_a_sample() -> None:
    assert {type(event) for event in SAMPLES} == set(get_args(events.Event))


def test_only_internal_events_have_no_frame() -> None:
    assert {type(event) for event in SAMPLES if chat.encode(event) is None} == INTERNAL


@pytest.mark.parametrize("kind", sorted({frame.kind for frame in FRAMES}))
def test_the_stream_page_names_each_frame_with_all_its_fields_and_no_others(kind: str) -> None:
    sent: set[str] = set().union(*(paths(frame.data) for frame in FRAMES if frame.kind == kind))
    assert documented(kind) == sent


@pytest.mark.parametrize("kind", sorted({frame.kind for frame in FRAMES} - {"agent_terminal"}))
def test_the_stream_page_has_an_example_of_each_frame(kind: str) -> None:
    found = list(examples(section(ALL, heading_of(kind))))
    assert {frame.kind for frame in found} == {kind}
    assert all(paths(frame.data) <= documented(kind) for frame in found)


@pytest.mark.parametrize("dialect", ["chat", "page"])
async def test_what_a_server_really_sends_is_documented(upstream: Upstream, tmp_path: Path, dialect: str) -> None:
    upstream.reply([text_chunk("x" * 1000)] * 90, finish(), DONE)
    small = upstream_config(upstream.base_url, server={"replay_bytes": 65_536})
    async with serving(small, tmp_path) as server:
        session = await server.session()
        live = await (await server.send(session)).rest()
        again = await (await server.resume(session, f"?dialect={dialect}")).rest()
    seen = [*live.frames, *again.frames]
    assert {frame.kind for frame in again.frames} >= {
        "replay_gap",
        *(["page_text", "block"] if dialect == "page" else []),
    }
    assert [frame.kind for frame in seen if not paths(frame.data) <= documented(frame.kind)] == []


WORK = (
    ("update_plan", {"plan": "- [ ] write"}),
    ("write_file", {"path": "a.txt", "content": "a"}),
    ("create_document", {"title": "t", "content": "text"}),
    ("ui_control", {"action": "clear_highlight"}),
    ("generate_image", {"prompt": "a dot"}),
    ("bash", {"command": "echo done"}),
)
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


async def test_what_an_agent_really_sends_and_keeps_is_documented(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(
        upstream.base_url,
        agent={"max_tool_calls": len(WORK), "workspace": "/"},
        tools={"write_file": "allow"},
        images={"endpoint": "up", "model": "painter"},
    )
    upstream.reply(calls(*WORK)).reply_json({"data": [{"b64_json": DOT}]})
    upstream.reply(calls(*[("ask_user", {"question": "Well?"})] * (len(WORK) + 1)))
    async with serving(config, tmp_path) as server:
        session = await server.session()
        asked = await agent(server, session)
        decided = await decide(server, session, card(asked)["approval_id"], "approve")
        messages = await server.history(session)
    seen = [*asked.frames, *decided.frames]
    assert {frame.kind for frame in seen} >= {"generated_image", "doc_update", "workspace_rejected", "ask_user"}
    assert [frame.kind for frame in seen if not paths(frame.data) <= documented(frame.kind)] == []
    kept = {name for cells in rows(section(AGENT, "What the history keeps")) for name in names(cells[0])}
    found = {name for message in messages[1:] for name in message["metadata"]}
    assert found - {name.partition(".")[0] for name in documented("agent_terminal")} == kept


async def test_what_a_message_is_really_given_is_documented(upstream: Upstream, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "bees.md").write_text("# Bees\n\nThe hive behind the barn is painted turquoise.\n")
    async with serving(upstream_config(upstream.base_url), tmp_path / "data") as server:
        await server.post("/api/library", {"path": str(notes)}, 202)
        await server.services.library.quiet()
        await server.post("/api/memories", {"text": "Ann keeps bees.", "pinned": True})
        sent = await server.call("POST", "/api/upload", data={"files": io.BytesIO(b"Bees fly.")})
        session = await server.session()
        words, files = "Which colour is the hive behind the barn painted?", [sent["files"][0]["id"]]
        seen = await (await server.send(session, words, attachments=files)).rest()
        messages = await server.history(session)
    given = [frame for frame in seen.frames if frame.kind in {"attachments", "rag_sources", "memories_used"}]
    assert len(given) == 3
    assert [frame.kind for frame in given if not paths(frame.data) <= documented(frame.kind)] == []
    told = rows(section(CONTEXT, "What the history has of it"))
    for message, whose in zip(messages, ("question", "answer"), strict=True):
        kept = {name for cells in told if cells[1] == whose for name in names(cells[0])}
        found = set(message["metadata"]) - {name.partition(".")[0] for name in documented("chat_terminal")}
        assert found == kept - {"web_sources", "notices"}


def test_every_action_of_the_page_has_a_sample() -> None:
    assert set(UI_FIELDS) == set(get_args(UiEvent))


@pytest.mark.parametrize("action", UI_FIELDS)
async def test_the_page_names_the_fields_of_each_action(action: str, tmp_path: Path) -> None:
    (tool,) = [tool for tool in ask_tools() if tool.name == "ui_control"]
    given = tool.parse({"action": action, **UI_FIELDS[action]})
    (event,) = (await tool.run(given, context(tmp_path))).events
    assert isinstance(event, events.UiControlled)
    told = {names(cells[0])[0]: names(cells[1]) for cells in rows(section(AGENT, "Actions of the page"))}
    assert {"ui_event"} | set(told[action]) >= set(event.data)
    assert set(told[action]) >= set(UI_FIELDS[action])


def test_the_stream_page_names_every_field_of_a_send() -> None:
    told = set(names(section(STREAM, "Send")))
    assert {item.name for item in msgspec.structs.fields(ChatBody)} <= told


def code(language: str) -> str:
    """The example in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", STREAM, re.MULTILINE | re.DOTALL)
    return str(found)


def program(language: str, folder: Path) -> list[str]:
    """The command that runs an example."""
    runner = sys.executable if language == "python" else shutil.which("node")
    if runner is None:
        (pytest.fail if os.environ.get("ODYSSEUS_REQUIRE_ALL") else pytest.skip)("there is no Node here")
    path = folder / {"python": "client.py", "js": "client.mjs"}[language]
    path.write_text(code(language), "utf-8")
    return [runner, str(path)]


async def output(command: Sequence[str], address: str) -> str:
    """What an example prints."""
    process = await asyncio.create_subprocess_exec(
        *command, address, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(3 * GUARD):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


@asynccontextmanager
async def line_that_breaks(server: Server, after: bytes, cut: asyncio.Event) -> AsyncIterator[str]:
    """An address of the server behind a line that is cut once, when these bytes have passed; it sets `cut`."""
    port = int(server.url.rpartition(":")[2])
    carrying: list[asyncio.Task[None] | None] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
                if after in data and not cut.is_set():
                    cut.set()
                    break
        finally:
            writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carrying.append(asyncio.current_task())
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer), return_exceptions=True)

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as line:
        yield f"http://127.0.0.1:{line.sockets[0].getsockname()[1]}"
        assert cut.is_set()
    async with asyncio.timeout(GUARD):
        await asyncio.gather(*filter(None, carrying))


@pytest.mark.parametrize("language", ["python", "js"])
async def test_the_example_client_prints_the_answer(
    server: Server, upstream: Upstream, tmp_path: Path, language: str
) -> None:
    upstream.reply(answer("grüße 🚲, plainly said", pieces=4))
    assert await output(program(language, tmp_path), server.url) == "grüße 🚲, plainly said\n"


@pytest.mark.parametrize("language", ["python", "js"])
async def test_the_example_client_survives_a_broken_line(
    server: Server, upstream: Upstream, tmp_path: Path, language: str
) -> None:
    cut = asyncio.Event()
    upstream.reply(text_chunk("first half, "), Pause(cut), text_chunk("second half"), finish(), DONE)
    async with line_that_breaks(server, b"first half", cut) as address:
        assert await output(program(language, tmp_path), address) == "first half, second half\n"
