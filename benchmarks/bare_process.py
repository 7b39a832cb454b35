"""The references, a process of its own: the plainest aiohttp handlers that write the same frames from memory."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from odysseus.dialects.chat import text_frame

HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
RESPONSES: list[web.StreamResponse] = []
DONE = asyncio.Event()


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


async def main() -> None:
    """Serve until killed; the first line says the port."""
    app = web.Application()
    app.add_routes(
        [
            web.get("/flood", flood),
            web.get("/subscribe", subscribe),
            web.get("/broadcast", broadcast),
            web.get("/end", end),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print(f"READY {runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
