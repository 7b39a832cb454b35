"""Sloppy and hostile clients: whatever bytes come, one plain answer or a closed socket, and nobody else notices."""

from __future__ import annotations

import asyncio
import gzip
import logging

import pytest
from raw import connected, get, post
from serving import GUARD, Server
from upstream import Hang, Upstream, text_chunk

JSON = ("Host: localhost", "Content-Type: application/json")


def request(*lines: str, body: bytes = b"") -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


HOSTILE: dict[str, tuple[bytes, int]] = {
    "a line of nonsense": (request("GARBAGE"), 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a header of 100 kB": (request("GET / HTTP/1.1", "Host: localhost", "X: " + "a" * 100_000), 400),
    "40,000 headers": (request("GET / HTTP/1.1", "Host: localhost", *(["X: y"] * 40_000)), 400),
    "an address of 100 kB": (request(f"GET /{'a' * 100_000} HTTP/1.1", "Host: localhost"), 400),
    "a NUL in a header": (request("GET / HTTP/1.1", "Host: localhost", "X: a\x00b"), 400),
    "no Host": (request("GET /api/health HTTP/1.1"), 400),
    "no Host in HTTP/1.0": (request("GET /api/health HTTP/1.0"), 403),
    "two Hosts": (request("GET /api/health HTTP/1.1", "Host: localhost", "Host: evil.example"), 400),
    "a length that is none": (request("POST /api/session HTTP/1.1", *JSON, "Content-Length: x", body=b"{}"), 400),
    "a length below zero": (request("POST /api/session HTTP/1.1", *JSON, "Content-Length: -1", body=b"{}"), 400),
    "two lengths": (
        request("POST /api/session HTTP/1.1", *JSON, "Content-Length: 2", "Content-Length: 3", body=b"{} "),
        400,
    ),
    "a length and chunks": (
        request(
            "POST /api/session HTTP/1.1",
            *JSON,
            "Content-Length: 2",
            "Transfer-Encoding: chunked",
            body=b"2\r\n{}\r\n0\r\n\r\n",
        ),
        400,
    ),
    "a chunk that is none": (
        request("POST /api/session HTTP/1.1", *JSON, "Transfer-Encoding: chunked", body=b"zz\r\n{}\r\n0\r\n\r\n"),
        400,
    ),
    "a body packed by nobody": (
        request("POST /api/session HTTP/1.1", *JSON, "Content-Encoding: gzip", "Content-Length: 2", body=b"{}"),
        400,
    ),
    "another Host in the address": (request("GET http://evil.example/api/health HTTP/1.1", "Host: evil.example"), 403),
    "a tunnel": (request("CONNECT evil.example:443 HTTP/1.1", "Host: evil.example:443"), 403),
    "a path of raw bytes": (request("GET /api/history/\xff\xfe HTTP/1.1", "Host: localhost"), 400),
    "a path of broken escapes": (request("GET /api/history/%ff%fe%zz HTTP/1.1", "Host: localhost"), 404),
    "an unknown method": (request("FROB / HTTP/1.1", "Host: localhost"), 400),
    "every address": (request("OPTIONS * HTTP/1.1", "Host: localhost"), 404),
    "an unknown expectation": (
        request("POST /api/session HTTP/1.1", *JSON, "Expect: wonders", "Content-Length: 2", body=b"{}"),
        417,
    ),
}


@pytest.mark.parametrize(("data", "status"), HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_bytes_get_one_plain_answer_and_change_nothing(server: Server, data: bytes, status: int) -> None:
    async with connected(server) as socket:
        socket.write(data)
        told = await socket.answer()
        assert told.status == status
        assert b"Traceback" not in told.body
        assert b"/odysseus/" not in told.body
    assert (await server.get("/api/health"))["status"] == "ok"
    assert await server.get("/api/sessions") == []


async def test_a_body_in_pieces_and_one_asked_for_first_are_read(server: Server) -> None:
    async with connected(server) as socket:
        for byte in post("/api/session", {"name": "slow"}):
            socket.write(bytes([byte]))
            await asyncio.sleep(0)
        assert (await socket.answer()).status == 200
        data = post("/api/session", {"name": "asked"}, "Expect: 100-continue")
        head, _, body = data.partition(b"\r\n\r\n")
        socket.write(head + b"\r\n\r\n")
        assert (await socket.head()).status == 100
        socket.write(body)
        assert (await socket.answer()).status == 200
        socket.write(
            request(
                "POST /api/session HTTP/1.1", *JSON, "Transfer-Encoding: chunked", body=b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
            )
        )
        assert (await socket.answer()).status == 200
    assert len(await server.get("/api/sessions")) == 3


async def test_a_packed_body_may_not_unpack_beyond_the_limit(server: Server) -> None:
    body = gzip.compress(b'{"name": "' + b"x" * 50_000_000 + b'"}')
    async with connected(server) as socket:
        lengths = ("Content-Encoding: gzip", f"Content-Length: {len(body)}")
        socket.write(request("POST /api/session HTTP/1.1", *JSON, *lengths, body=body))
        assert (await socket.answer()).status == 413


@pytest.mark.parametrize("cut", [1, 30, 100, -20, -1])
@pytest.mark.parametrize("path", ["/api/session", "/api/chat_stream", "/api/session/x/truncate"])
async def test_half_a_request_changes_nothing_and_leaves_no_trace(
    server: Server, cut: int, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    data = post(path, {"name": "half", "session": "x", "message": "m", "message_id": "y"})[:cut]
    async with connected(server) as socket:
        socket.write(data)
        socket.writer.write_eof()
        await socket.rest()
    async with connected(server) as socket:
        socket.write(data)
    assert await server.get("/api/sessions") == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_two_hundred_silent_connections_hold_up_nobody(server: Server) -> None:
    sockets = [connected(server) for _ in range(200)]
    for number, one in enumerate(sockets):
        socket = await one.__aenter__()
        socket.write(b"POST /api/chat_stream HTTP/1.1\r\nHost: localhost\r\n"[: number % 50])
    async with asyncio.timeout(GUARD):
        assert (await (await server.send(await server.session())).rest()).record["status"] == "completed"
    for one in sockets:
        await one.__aexit__(None, None, None)


async def test_a_client_that_resets_in_mid_stream_disturbs_nobody(
    server: Server, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    upstream.reply(text_chunk("going"), Hang())
    session = await server.session()
    stream = await (await server.send(session)).until_text("going")
    for _ in range(30):
        async with connected(server) as socket:
            socket.write(get(f"/api/chat/resume/{session}"))
            await socket.until(b"going")
    await server.stop(session, stream.run_id)
    assert (await stream.rest()).record["status"] == "stopped"
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
