"""The references, a process of its own: the plainest aiohttp handlers and client that do the same work from memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import orjson
from aiohttp import ClientSession, web

from odysseus.dialects.agent import event_frame, start_frame
from odysseus.dialects.chat import text_frame

HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
RESPONSES: list[web.StreamResponse] = []
DONE = asyncio.Event()
HTTP = web.AppKey("HTTP", ClientSession)
IDS = ("01JZ0000000000000000000000", "01JZ0000000000000000000001")
USAGE = {"prompt_tokens": 12, "completion_tokens": 20, "total_tokens": 32}


async def flood(request: web.Request) -> web.StreamResponse:
    """GET /flood?frames=N: the same frame N times, one by one."""
    frame = text_frame("word ")
    response = web.StreamResponse(headers=HEADERS)
    await response.prepare(request)
    for _ in range(int(request.query["frames"])):
        await response.write(frame)
    await response.write_eof()
    return response


async def subscribe(request: web.Request) -> web.StreamResponse:
    """GET /subscribe: stay open for the broadcast."""
    response = web.StreamResponse(headers=HEADERS)
    await response.prepare(request)
    RESPONSES.append(response)
    await DONE.wait()
    await response.write_eof()
    return response


async def broadcast(request: web.Request) -> web.StreamResponse:
    """GET /broadcast?frames=N&rate=R: frames with their send time, each to every subscriber in turn."""
    loop = asyncio.get_running_loop()
    start, rate = loop.time(), float(request.query["rate"])
    for number in range(int(request.query["frames"])):
        await asyncio.sleep(max(0.0, start + number / rate - loop.time()))
        frame = text_frame(f"{time.monotonic():.6f} ")
        for response in RESPONSES:
            await response.write(frame)
    return web.json_response({})


async def end(_: web.Request) -> web.StreamResponse:
    """GET /end: let every subscriber go."""
    RESPONSES.clear()
    DONE.set()
    DONE.clear()
    return web.json_response({})


async def rounds(request: web.Request) -> web.StreamResponse:
    """POST /rounds {port, request}: ask the model until it calls no tool any more; every call has the same result."""
    given = await request.json()
    asked, count = given["request"], 0
    async with ClientSession() as http:
        while called := await _called(http, f"http://127.0.0.1:{given['port']}/v1/chat/completions", asked):
            count += 1
            asked["messages"] += [
                {"role": "assistant", "content": None, "tool_calls": [called]},
                {"role": "tool", "tool_call_id": called["id"], "content": given["result"]},
            ]
    return web.json_response({"rounds": count})


async def turn(request: web.Request) -> web.StreamResponse:
    """POST /turn?frames=N: a short answer of a named agent, frame by frame; with `model` once that port was asked."""
    asked = await request.json()
    if port := request.query.get("model"):
        await _called(request.app[HTTP], f"http://127.0.0.1:{port}/v1/chat/completions", _chat(asked["message"]))
    session_id, message_id = IDS
    response = web.StreamResponse(headers={**HEADERS, "X-Session-Id": session_id})
    await response.prepare(request)
    await response.write(start_frame(session_id, message_id))
    for _ in range(int(request.query["frames"])):
        await response.write(event_frame("message_delta", {"delta": "word ", "message_id": message_id}))
    await response.write(
        event_frame("stream_end", {"message_id": message_id, "tokens_used": USAGE, "execution_time_ms": 10})
    )
    await response.write_eof()
    return response


def _chat(message: str) -> dict[str, Any]:
    return {"model": "fake-model", "stream": True, "messages": [{"role": "user", "content": message}]}


async def _http(app: web.Application) -> AsyncIterator[None]:
    async with ClientSession() as app[HTTP]:
        yield


async def _called(http: ClientSession, url: str, asked: Any) -> Any:
    """The call in the answer, None when there is none."""
    called = None
    async with http.post(url, data=orjson.dumps(asked), headers={"Content-Type": "application/json"}) as response:
        for line in (await response.read()).split(b"\n"):
            if line.startswith(b"data: {"):
                choices = orjson.loads(line[6:])["choices"]
                called = (choices[0]["delta"].get("tool_calls") or [called])[0] if choices else called
    return called


async def main() -> None:
    """Serve until killed; the first line says the port."""
    app = web.Application(client_max_size=2**20)
    app.add_routes(
        [
            web.get("/flood", flood),
            web.get("/subscribe", subscribe),
            web.get("/broadcast", broadcast),
            web.get("/end", end),
            web.post("/rounds", rounds),
            web.post("/turn", turn),
        ]
    )
    app.cleanup_ctx.append(_http)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print(f"READY {runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
