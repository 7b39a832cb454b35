"""Streams beside files that are read: what a PDF of 500 pages, sent and read meanwhile, does to their rhythm."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from benchmarks.client import Reader, call, connect
from benchmarks.delay import delays_of, pair
from benchmarks.plan import Plan
from benchmarks.processes import Program, model, odysseus
from benchmarks.report import Figure, high, middle

PAGES = 500
STREAMS = 10
RATE = 25.0
SECONDS = 12
WORDS = "The harbour kept its ledgers in salt water and pencil, one line for each ship. "


@dataclass
class Sent:
    """What was sent and read while streams went on: seconds of each file, and whether it is enough."""

    seconds: list[float] = field(default_factory=list)
    enough: bool = False


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream, odysseus(upstream.port) as server:
        await _streams(upstream, server, "warm", 1)
        quiet = await _streams(upstream, server, "quiet", SECONDS)
        async with _sending(server) as sent:
            beside = await _streams(upstream, server, "beside", SECONDS)
    return [
        Figure(f"{STREAMS} streams at {RATE:g} a second, added, p50", middle(quiet) * 1e3, "ms"),
        Figure("  p99", high(quiet) * 1e3, "ms"),
        Figure(f"beside PDFs of {PAGES} pages, one after the other, p50", middle(beside) * 1e3, "ms", most=2.0),
        Figure("  p99", high(beside) * 1e3, "ms", most=20.0),
        Figure("  the longest", max(beside) * 1e3, "ms"),
        Figure("a file, sent and read, median", middle(sent.seconds), "s", detail=f"{len(sent.seconds)} files"),
    ]


async def _streams(upstream: Program, server: Program, key: str, seconds: int) -> Sequence[float]:
    """Seconds that the way through the server adds to each frame of some streams, out of step."""
    plans = [Plan(frames=int(seconds * RATE), rate=RATE, key=f"{key}{number}") for number in range(STREAMS)]
    pairs: list[tuple[Reader, Reader]] = [await pair(upstream, server, plan) for plan in plans]
    for plan in plans:
        await call(upstream.port, "GET", f"/go/{plan.key}/2")
        await asyncio.sleep(1 / RATE / STREAMS)
    found = [delays for direct, through in pairs for delays in await delays_of(direct, through)]
    return [later - sooner for sooner, later in found]


@asynccontextmanager
async def _sending(server: Program) -> AsyncIterator[Sent]:
    """Files sent one after the other, each a new one, until the block ends."""
    sent = Sent()
    task = asyncio.create_task(_send_all(server.port, await asyncio.to_thread(_pdf), sent))
    try:
        yield sent
    finally:
        sent.enough = True
        await task


async def _send_all(port: int, file: bytes, sent: Sent) -> None:
    while not sent.enough:
        begun = time.monotonic()
        other = b"%s\n%% %d" % (file, len(sent.seconds))  # what has been read is not read again
        answer = (await (await connect(port, _upload(other))).end()).body
        assert b'"extraction":"text"' in answer, answer[-500:]
        sent.seconds.append(time.monotonic() - begun)


def _upload(file: bytes) -> bytes:
    """A form with one file, as a request."""
    part = b'--b\r\nContent-Disposition: form-data; name="files"; filename="book.pdf"\r\n'
    body = part + b"Content-Type: application/pdf\r\n\r\n" + file + b"\r\n--b--\r\n"
    head = "POST /api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    kind = "Content-Type: multipart/form-data; boundary=b\r\n"
    return f"{head}{kind}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _pdf() -> bytes:
    """A book of full pages."""
    writer = PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    fonts = DictionaryObject({NameObject("/F1"): DictionaryObject(_names(font))})
    for number in range(PAGES):
        page = writer.add_blank_page(612, 792)
        content = DecodedStreamObject()
        content.set_data(b"BT /F1 11 Tf 14 TL 72 740 Td " + f"(Page {number}. {WORDS}) Tj T* ".encode() * 45 + b"ET")
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        page[NameObject("/Contents")] = writer._add_object(content)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _names(entries: dict[str, str]) -> dict[NameObject, NameObject]:
    return {NameObject(key): NameObject(value) for key, value in entries.items()}
