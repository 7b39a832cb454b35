"""A research by the embedded model itself, over pages on loopback: plan, reading, report, with its claims checked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from aiohttp import web
from local_models import real_model
from serving import config_of, serving
from sites import serve_site

DEFAULT_SIZE = 400_000_000
SECONDS = 280

PAGES = {
    "/length": "The Halden bridge crosses the river Vey. The Halden bridge is 214 metres long. It has five arches.",
    "/opening": "Trains came late to Halden. The Halden bridge was opened in 1931 by the mayor. People danced.",
}

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


async def test_the_embedded_model_researches(tmp_path: Path) -> None:
    folder = real_model(DEFAULT_SIZE).parent
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models").symlink_to(folder, target_is_directory=True)

    async def search(request: web.Request) -> web.StreamResponse:
        rows = [{"title": path[1:], "url": site.origin + path, "content": ""} for path in PAGES]
        return web.Response(text=json.dumps({"results": rows}), content_type="application/json")

    async with serve_site() as site:
        site.play("/search", search)
        for path, text in PAGES.items():
            site.page(path, text, "text/plain; charset=utf-8")
        config = config_of(
            f'[web]\nsearch = "searxng"\nsearxng_url = "{site.origin}"\nallow_hosts = ["{site.exempt}"]\n'
            "[research]\nrounds = 1\nqueries = 1\n"
        )
        async with serving(config, tmp_path / "data") as server:
            question = "How long is the Halden bridge, and when was it opened?"
            job = await server.post("/api/research/start", {"question": question})
            frames = (await (await server.stream("GET", f"/api/research/stream/{job['id']}")).rest(SECONDS)).frames
            assert frames[-1].data == {"status": "done", "final": True}
            state = await server.get(f"/api/research/status/{job['id']}")
            async with server.http.get(f"{server.url}/api/research/report/{job['id']}?fmt=md") as response:
                report = await response.text()
    found = " ".join(finding["text"] for finding in state["findings"])
    assert "214" in found, state
    assert "1931" in found, state
    text = report.partition("## ")[0] + report
    assert re.search(r"214 met.*\[\d+\]", text), report
