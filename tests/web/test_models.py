"""What can be chosen, and the install calls' bad inputs (section 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from serving import Server, serving, upstream_config
from upstream import Upstream


async def test_every_endpoint_lists_its_models(server: Server, upstream: Upstream) -> None:
    upstream.models = ("one", "two")
    listed = await server.get("/api/models")
    (item,) = listed["items"]
    assert (item["endpoint_id"], item["endpoint_label"], item["online"]) == ("up", "Upstream", True)
    assert [model["id"] for model in item["models"]] == ["one", "two"]
    assert set(item["models"][0]) >= {"id", "context_length", "tools", "vision", "price"}


async def test_an_endpoint_that_is_not_there_is_listed_as_offline(tmp_path: Path) -> None:
    async with serving(upstream_config("http://127.0.0.1:9/v1"), tmp_path) as server:
        (item,) = (await server.get("/api/models"))["items"]
        assert (item["online"], item["models"]) == (False, [])
        assert item["note"].endswith(".")
        assert "127.0.0.1" not in item["note"]


async def test_a_fresh_list_asks_again(server: Server, upstream: Upstream) -> None:
    await server.get("/api/models")
    upstream.models = ("new",)
    assert (await server.get("/api/models"))["items"][0]["models"][0]["id"] == "fake-model"
    assert (await server.get("/api/models?refresh=1"))["items"][0]["models"][0]["id"] == "new"


@pytest.mark.parametrize(
    ("body", "status"),
    [({"name": "no-such-model"}, 404), ({"name": "../../etc"}, 404), ({"name": 5}, 400), ({"name": ["x"]}, 400)],
)
async def test_an_install_of_nothing_known_is_refused(server: Server, body: Any, status: int) -> None:
    await server.post("/api/models/install", body, status)
    assert (await server.get("/api/models/install"))["state"] == "idle"


async def test_a_cancel_without_an_install_is_no_error(server: Server) -> None:
    assert (await server.call("DELETE", "/api/models/install"))["state"] == "idle"


async def test_the_health_counts_the_runs(server: Server) -> None:
    told = await server.get("/api/health")
    assert (told["status"], told["runs"]) == ("ok", 0)
    assert told["uptime"] >= 0
    assert told["version"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/api/", 404),
        ("GET", "/api/session", 405),
        ("PUT", "/api/health", 405),
        ("POST", "/api/health", 405),
        ("DELETE", "/api/sessions", 405),
        ("OPTIONS", "/api/sessions", 405),
        ("PATCH", "/", 405),
        ("TRACE", "/", 405),
        ("GET", "/api/session/x/fork/y", 404),
        ("GET", "//etc/passwd", 404),
        ("GET", "/api/history/", 404),
    ],
)
async def test_what_is_not_there_is_one_json_answer(server: Server, method: str, path: str, status: int) -> None:
    async with server.http.request(method, server.url + path) as response:
        assert response.status == status
        told = await response.json()
        assert (told["status"], told["error"][-1]) == (status, ".")
        assert ("Allow" in response.headers) == (status == 405)
