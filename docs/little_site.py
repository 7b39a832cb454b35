"""A few pages of a made-up lighthouse and a searcher for them, on this machine: what the picture of a research reads.

The searcher speaks as SearXNG does. It knows nothing of the pictures.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

PAGES = {
    "history": (
        "The history of Skerry Point light",
        "The lighthouse at Skerry Point was first lit on 4 May 1871. Before that, eleven ships had been lost on the "
        "skerries within twenty years, and the harbour had asked for a light each spring.\n\n"
        "The engineer Ada Thorsen built the tower in three years. It stands on a foundation of granite, which was cut "
        "on the mainland and brought over in small boats. Two of the boats were lost, but none of the workers.",
    ),
    "lamp": (
        "The lamp of Skerry Point",
        "The lamp of Skerry Point burned rape oil until 1902, and paraffin after that. It has been electric since "
        "1938, when a cable was laid from the harbour.\n\n"
        "Its light is seen for 22 nautical miles and flashes twice every ten seconds. The lens is the one that was put "
        "in at the beginning. It weighs as much as two horses and turns on a bath of oil.",
    ),
    "keepers": (
        "The keepers of the light",
        "Nineteen keepers have served at Skerry Point. They lived on the rock with their families, and kept goats and "
        "a garden behind a wall.\n\n"
        "The last keeper, Jon Eide, left in 1986, when the light became automatic. The keeper's house is a hostel with "
        "fourteen beds today. Guests bring their own food and share one large stove.",
    ),
    "visit": (
        "Visiting Skerry Point",
        "The tower is 31 metres high and has 142 steps. It is open to visitors from May to September, on Saturdays. A "
        "boat leaves the harbour at ten in the morning and comes back at four.\n\n"
        "From the gallery one sees the whole of the bay and, in clear weather, the next light to the north. Children "
        "under six stay below, since the last steps are a ladder.",
    ),
}
"""By path: the title and the text."""


def settings(origin: str) -> str:
    """The sections of a settings file that have a research read here, and be short."""
    host = origin.removeprefix("http://")
    return (
        f'[web]\nsearch = "searxng"\nsearxng_url = "{origin}"\nallow_hosts = ["{host}"]\n'
        f"[research]\nrounds = 1\nqueries = 2\npages = {len(PAGES)}\n"
    )


@asynccontextmanager
async def little_site() -> AsyncIterator[str]:
    """The running site; gives its origin."""
    app = web.Application()
    app.router.add_get("/search", _search)
    app.router.add_get("/{page}", _page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _search(request: web.Request) -> web.Response:
    origin = f"{request.scheme}://{request.host}"
    rows = [{"title": title, "url": f"{origin}/{path}", "content": text[:90]} for path, (title, text) in PAGES.items()]
    return web.json_response({"results": rows})


async def _page(request: web.Request) -> web.Response:
    title, text = PAGES.get(request.match_info["page"]) or ("", "")
    if not title:
        raise web.HTTPNotFound
    told = "".join(f"<p>{part}</p>" for part in text.split("\n\n"))
    html = f"<!doctype html><title>{title}</title><body><main><article><h1>{title}</h1>{told}</article></main></body>"
    return web.Response(text=html, content_type="text/html")
