"""The chat stream's requests, framing and errors on the wire (contract, sections 1 and 2)."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from serving import Server, serving, upstream_config
from upstream import DONE, Hang, Pause, Upstream, answer, finish, text_chunk

ENCODINGS = ("json", "urlencoded", "multipart")


def encoded(fields: dict[str, Any], encoding: str) -> dict[str, Any]:
    """Keyword arguments of a request that carries `fields`."""
    if encoding == "json":
        return {"json": fields}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in fields.items()}
    if encoding == "urlencoded":
        return {"data": texts}
    form = aiohttp.FormData(default_to_multipart=True)
    for key, text in texts.items():
        form.add_field(key, text)
    return {"data": form}


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_three_content_types_mean_the_same(server: Server, upstream: Upstream, encoding: str) -> None:
    session = await server.session()
    fields = {"session": session, "message": " grüße 🚲 ", "attachments": [], "incognito": False, "unknown": "x"}
    stream = await (await server.stream("POST", "/api/chat_stream", **encoded(fields, encoding))).rest()
    assert stream.record["status"] == "completed"
    assert (await server.history(session))[0]["content"] == "grüße 🚲"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("word", ["true", "TRUE", "True"])
async def test_booleans_are_read_in_any_case(server: Server, encoding: str, word: str) -> None:
    session = await server.session()
    fields = {"session": session, "message": "m", "incognito": word}
    await (await server.stream("POST", "/api/chat_stream", **encoded(fields, encoding))).rest()
    assert await server.history(session) == []


async def test_the_head_is_that_of_an_event_stream(server: Server) -> None:
    stream = await server.send(await server.session())
    headers = stream.response.headers
    assert headers["Content-Type"] == "text/event-stream"
    assert headers["Cache-Control"] == "no-cache"
    assert headers["X-Accel-Buffering"] == "no"
    assert "Content-Encoding" not in headers
    assert len(stream.run_id) == 32
    assert set(stream.run_id) <= set("0123456789abcdef")
    await stream.rest()


async def test_frames_are_one_line_of_utf8_json(server: Server, upstream: Upstream) -> None:
    text = 'snow ☃ bike 🚲 line\u2028break\r\n\ttab "quote"'
    upstream.reply(answer(text, pieces=5))
    stream = await server.send(await server.session())
    raw = await stream.response.read()
    assert b"\r" not in raw
    for frame in raw.split(b"\n\n")[:-1]:
        assert frame.startswith(b"data: ")
        assert b"\n" not in frame
    assert "☃".encode() in raw
    assert raw.endswith(b"data: [DONE]\n\n")


async def test_ids_are_dense_and_off_by_default(server: Server, upstream: Upstream) -> None:
    upstream.reply(answer("some words here", pieces=6))
    session = await server.session()
    stream = await (await server.send(session, query="?ids=1")).rest()
    assert [frame.number for frame in stream.frames] == list(range(1, len(stream.frames) + 1))
    again = await (await server.resume(session)).rest()
    assert {frame.number for frame in again.frames} == {None}


async def test_heartbeats_fill_silence_and_are_not_replayed(upstream: Upstream, tmp_path: Path) -> None:
    more = asyncio.Event()
    upstream.reply(Pause(more), text_chunk("late"), finish(), DONE)
    config = upstream_config(upstream.base_url, server={"heartbeat": 0.02})
    async with serving(config, tmp_path) as server:
        session = await server.session()
        stream = await (await server.send(session)).until(lambda s: len(s.comments) >= 3)
        assert stream.comments[:3] == [": heartbeat 1", ": heartbeat 2", ": heartbeat 3"]
        more.set()
        await stream.rest()
        assert (await (await server.resume(session)).rest()).frames == stream.frames


BAD_FIELDS: list[tuple[str, dict[str, Any], int]] = [
    ("no message", {}, 400),
    ("an empty message", {"message": " \n "}, 400),
    ("a message too long", {"message": "x" * 50_001}, 400),
    ("a message of another type", {"message": 5}, 400),
    ("an unknown mode", {"message": "m", "mode": "dream"}, 400),
    ("a bad decision", {"message": "m", "tool_approval_decision": "perhaps"}, 400),
    ("a boolean that is none", {"message": "m", "incognito": "perhaps"}, 400),
    ("a plan too long", {"message": "m", "approved_plan": "x" * 8193}, 400),
    ("attachments that are no array", {"message": "m", "attachments": "abc"}, 400),
    ("an unknown session", {"message": "m", "session": "nope"}, 404),
    ("an odd session id", {"message": "m", "session": "../\u0000\ud800'\"%00"}, 404),
    ("an unknown upload", {"message": "m", "attachments": ["nope"]}, 404),
    ("an unknown approval", {"tool_approval_id": "nope", "tool_approval_decision": "approve"}, 409),
    ("an unknown endpoint", {"message": "m", "selected_endpoint_id": "nope"}, 400),
]


@pytest.mark.parametrize(("fields", "status"), [case[1:] for case in BAD_FIELDS], ids=[case[0] for case in BAD_FIELDS])
async def test_a_rejected_request_says_why_and_stores_nothing(
    server: Server, fields: dict[str, Any], status: int
) -> None:
    session = await server.session()
    body = json.dumps({"session": session, **fields})
    headers = {"Content-Type": "application/json"}
    answer = await server.call("POST", "/api/chat_stream", status, data=body, headers=headers)
    assert answer["status"] == status
    assert answer["error"]
    await nothing_stored(server)


BAD_BODIES: list[tuple[str, bytes, str, int]] = [
    ("broken JSON", b'{"message": ', "application/json", 400),
    ("JSON that is no object", b"[1]", "application/json", 400),
    ("a number that is no JSON", b'{"message": NaN}', "application/json", 400),
    ("nesting without end", b"[" * 100_000, "application/json", 400),
    ("bytes that are no UTF-8", b'{"message": "\xff"}', "application/json", 400),
    ("plain text with JSON inside", b'{"message": "m"}', "text/plain", 415),
    ("no content type", b'{"message": "m"}', "", 415),
    ("a multipart form without a boundary", b"x", "multipart/form-data", 400),
    ("a multipart form with a broken head", b"--b\r\nnonsense", "multipart/form-data; boundary=b", 400),
    (
        "a multipart form without its end",
        b"--b\r\nContent-Disposition: form-data",
        "multipart/form-data; boundary=b",
        400,
    ),
    ("a form in an unknown encoding", b"message=m", "application/x-www-form-urlencoded; charset=klingon", 400),
    ("a body over the limit", b'{"message": "' + b"x" * 1_048_576 + b'"}', "application/json", 413),
]


@pytest.mark.parametrize(("body", "kind", "status"), [case[1:] for case in BAD_BODIES], ids=[c[0] for c in BAD_BODIES])
async def test_a_body_that_cannot_be_read_is_refused(server: Server, body: bytes, kind: str, status: int) -> None:
    data = io.BytesIO(body)
    answer = await server.call("POST", "/api/chat_stream", status, data=data, headers={"Content-Type": kind})
    assert answer["status"] == status
    assert answer["error"].endswith(".")
    await nothing_stored(server)


async def test_no_model_is_a_400(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.models = ()
        config = upstream_config(upstream.base_url, chat={"endpoint": "up"})
        async with serving(config, tmp_path) as server:
            session = await server.session()
            answer = await server.post("/api/chat_stream", {"session": session, "message": "m"}, 400)
            assert "No model is configured" in answer["error"]
            await nothing_stored(server)


@pytest.mark.parametrize("cut", [0, 1, 20, 60, 90, 150, 169])
async def test_a_request_cut_anywhere_stores_nothing(server: Server, cut: int) -> None:
    session = await server.session()
    body = json.dumps({"session": session, "message": "hello"}).encode()
    request = b"POST /api/chat_stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    request += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    assert cut < len(request)
    host, port = server.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(request[:cut])
    writer.close()
    await writer.wait_closed()
    assert (await server.get("/api/health"))["runs"] == 0
    await nothing_stored(server)


TEXTS = {
    "every plane": "".join(chr(0x10000 * plane + 0xABC) for plane in range(17)) + "é日𝄞",
    "control characters": "a\x01\x1b\x7f\u0085\u2028\ufeff b",
    "looks like a frame": "data: {}\n\nevent: error\ndata: x",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_text_comes_back_as_it_was_sent(server: Server, upstream: Upstream, text: str) -> None:
    upstream.reply(answer(text, pieces=3))
    session = await server.session()
    stream = await (await server.send(session, f"x{text}x")).rest()
    assert stream.text == text
    assert [message["content"] for message in await server.history(session)] == [f"x{text}x", text]


async def test_what_cannot_be_stored_is_replaced_once_at_the_entry(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("a\x00b"), b'data: {"choices":[{"delta":{"content":"c\\ud800d"}}]}\n\n', finish(), DONE)
    session = await server.session()
    body = json.dumps({"session": session, "message": "nul \x00 half \ud83d pair \ud83d\ude00"})
    headers = {"Content-Type": "application/json"}
    stream = await (await server.stream("POST", "/api/chat_stream", data=body, headers=headers)).rest()
    said = [message["content"] for message in await server.history(session)]
    assert said == ["nul \ufffd half \ufffd pair 😀", "a\ufffdbc\ufffdd"]
    assert stream.text == said[1]
    assert upstream.requests[0].json["messages"][-1]["content"] == said[0]


async def test_the_users_clock_reaches_the_model_and_not_the_store(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    headers = {"X-Tz-Offset": "120", "X-Tz-Name": "Europe/Berlin"}
    body = {"session": session, "message": "m"}
    await (await server.stream("POST", "/api/chat_stream", json=body, headers=headers)).rest()
    assert "Europe/Berlin" in upstream.requests[0].json["messages"][0]["content"]
    rows = await server.services.db.read("SELECT content, metadata FROM messages")
    assert not any("Berlin" in part for row in rows for part in row)


async def test_the_chosen_route_is_remembered_on_the_session(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    await (await server.send(session, selected_model="other", selected_endpoint_id="up")).rest()
    await (await server.send(session)).rest()
    assert [request.json["model"] for request in upstream.requests] == ["other", "other"]
    assert (await server.get("/api/sessions"))[0]["model"] == "other"


async def test_agent_mode_has_its_own_terminal(server: Server) -> None:
    stream = await (await server.send(await server.session(), mode="agent")).rest()
    assert stream.kinds[-2:] == ["agent_terminal", "[DONE]"]
    assert stream.one("metrics")["data"]["agent_rounds"] == 1


async def test_no_ordinary_event_has_a_top_level_status(server: Server, upstream: Upstream) -> None:
    upstream.reply(text_chunk("half"), b'data: {"error": {"message": "boom", "code": 500}}\n\n')
    stream = await (await server.send(await server.session())).rest()
    assert stream.frames[-1].kind == "error"
    assert not any("status" in frame.data for frame in stream.frames[:-1] if isinstance(frame.data, dict))


async def test_a_message_at_the_limit_is_taken(server: Server, upstream: Upstream) -> None:
    stream = await (await server.send(await server.session(), "é" * 50_000)).rest()
    assert stream.record["status"] == "completed"


async def test_a_client_that_never_reads_holds_up_nobody(server: Server, upstream: Upstream) -> None:
    upstream.reply([text_chunk("x" * 1000)] * 3000, finish(), DONE).reply(Hang())
    session = await server.session()
    await server.send(session)
    good = await (await server.resume(session)).rest()
    assert len(good.text) == 3_000_000
    assert good.record["status"] == "completed"


async def nothing_stored(server: Server) -> None:
    """No message and no run is in the database."""
    for table in ("messages", "runs"):
        assert await server.services.db.read(f"SELECT * FROM {table}") == []
