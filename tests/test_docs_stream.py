"""docs/chat-stream.md against the code: every frame with every field, and the clients that it gives as examples."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from documents import names, page, rows, section
from serving import GUARD, Frame, Server, parse_frame, serving, upstream_config
from upstream import DONE, Pause, Upstream, answer, finish, text_chunk

from odysseus import events
from odysseus.dialects import chat
from odysseus.dialects.page import block_frame
from odysseus.dialects.sse import gap_frame
from odysseus.events import ModelInfo, UsageReport
from odysseus.render.blocks import Block
from odysseus.runs.record import Ending, Failure, Identity, Produced, Timing, metrics, terminal_record
from odysseus.web.chat import ChatBody

STREAM = page("chat-stream.md")

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
SAMPLES: Sequence[events.Event] = (
    events.TextDelta("t"),
    events.ReasoningDelta("t"),
    INFO,
    events.Retrying(1, 2, 1.0, "r"),
    events.FellBack("a", "b", "r", 1, "e", "f", "F"),
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
FRAMES = [parse_frame(chat.encode(event).strip()) for event in SAMPLES]
FRAMES += [parse_frame(raw.strip()) for raw in (gap_frame(1, 2), block_frame(Block(0, "h", open=True)), PAGE_TEXT)]


def heading_of(kind: str) -> str:
    return "`chat_terminal` and `agent_terminal`" if kind.endswith("_terminal") else f"`{kind}`"


def paths(data: Any) -> set[str]:
    """The names of a frame's fields, with a dot before those of an inner object."""
    if not isinstance(data, dict):
        return set()
    found = set()
    for key, value in data.get("data", data).items():
        inner = {f"{key}.{name}" for name in paths({"data": value})} if isinstance(value, dict) else set()
        found |= {key} if not inner or key == "failure" else set()
        found |= inner
    return found - {"type"}


def documented(kind: str) -> set[str]:
    return {name for cells in rows(section(STREAM, heading_of(kind))) for name in names(cells[0])}


def examples(text: str) -> Iterator[Frame]:
    for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield parse_frame(block.strip().encode())


def test_every_event_has_a_sample() -> None:
    assert {type(event) for event in SAMPLES} == set(get_args(events.Event))


@pytest.mark.parametrize("kind", sorted({frame.kind for frame in FRAMES}))
def test_the_stream_page_names_each_frame_with_all_its_fields_and_no_others(kind: str) -> None:
    sent: set[str] = set().union(*(paths(frame.data) for frame in FRAMES if frame.kind == kind))
    assert documented(kind) == sent


@pytest.mark.parametrize("kind", sorted({frame.kind for frame in FRAMES} - {"agent_terminal"}))
def test_the_stream_page_has_an_example_of_each_frame(kind: str) -> None:
    found = list(examples(section(STREAM, heading_of(kind))))
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
