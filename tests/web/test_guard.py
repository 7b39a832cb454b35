"""What other pages, other names and strangers may not do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from serving import Server, serving, upstream_config
from upstream import Upstream

READS = ["/", "/api/sessions", "/api/health", "/static/app.js", "/nowhere"]
BAD_HOSTS = [
    "evil.example",
    "evil.example:8000",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "",
    "10.0.0.1",
    "[::2]:80",
    "a b",
    "[",
    "evil.example#localhost",
    "localhost@evil.example",
]
GOOD_HOSTS = ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000", "localhost.", "Odysseus.LAN:80"]


@pytest.fixture
async def named(upstream: Upstream, tmp_path: Path) -> AsyncIterator[Server]:
    config = upstream_config(upstream.base_url, server={"allowed_hosts": ["odysseus.lan"]})
    async with serving(config, tmp_path) as server:
        yield server


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("host", BAD_HOSTS)
async def test_another_name_is_refused_everywhere(named: Server, path: str, host: str) -> None:
    answer = await named.call("GET", path, 403, headers={"Host": host})
    assert "allowed_hosts" in answer["error"]


@pytest.mark.parametrize("host", GOOD_HOSTS)
async def test_the_servers_own_names_are_let_in(named: Server, host: str) -> None:
    assert (await named.call("GET", "/api/health", headers={"Host": host}))["status"] == "ok"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://127.0.0.1", "x", "http://[", ""]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/session"),
        ("POST", "/api/chat_stream"),
        ("DELETE", "/api/session/x"),
        ("POST", "/api/endpoints"),
        ("POST", "/api/models/install"),
    ],
)
async def test_other_origins_change_nothing(server: Server, origin: str, method: str, path: str) -> None:
    await server.call(method, path, 403, headers={"Origin": origin}, json={})
    assert await server.get("/api/sessions") == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_other_sites_cannot_even_read_the_api(server: Server, site: str) -> None:
    await server.call("GET", "/api/sessions", 403, headers={"Sec-Fetch-Site": site})


async def test_the_page_itself_can_be_linked_to(server: Server) -> None:
    async with server.http.get(server.url, headers={"Sec-Fetch-Site": "cross-site"}) as response:
        assert response.status == 200


async def test_the_own_page_may_change_things(server: Server) -> None:
    headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    assert (await server.call("POST", "/api/session", json={}, headers=headers))["id"]


@pytest.mark.parametrize("kind", ["text/plain", "text/plain; application/json", "application/x-json", "image/png"])
async def test_json_in_another_type_is_not_read(server: Server, kind: str) -> None:
    session = await server.session()
    body = json.dumps({"session": session, "message": "m"})
    await server.call("POST", "/api/chat_stream", 415, data=body, headers={"Content-Type": kind})
    assert await server.history(session) == []


async def test_answers_close_the_page_and_allow_no_other_origin(server: Server) -> None:
    for path in ("/", "/api/health", "/nowhere"):
        async with server.http.get(server.url + path, headers={"Origin": "http://evil.example"}) as response:
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert "default-src 'none'" in response.headers["Content-Security-Policy"]
            assert "unsafe" not in response.headers["Content-Security-Policy"]
            assert not [name for name in response.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    "path",
    ["../server.py", "..%2fserver.py", "%2e%2e/config.toml", "/etc/passwd", "css", "%00", "css/../../config.toml"],
)
async def test_no_file_outside_the_pages_folder_is_served(server: Server, path: str) -> None:
    from yarl import URL

    async with server.http.get(URL(f"{server.url}/static/{path}", encoded=True)) as response:
        assert response.status == 404


async def test_a_token_is_asked_of_everyone(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path, token="secret-é") as server:
        for path in ("/", "/api/health", "/static/app.js"):
            await server.call("GET", path, 401)
        for wrong in ("", "Bearer", "Bearer wrong", "Basic secret", "bearer "):
            await server.call("GET", "/api/health", 401, headers={"Authorization": wrong})
        await server.call("GET", "/?token=wrong", 401)
        await server.call("GET", "/api/health?token=secret-é", 401)


async def test_the_page_keeps_the_token_in_a_cookie(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path, token="secret") as server:
        bearer = {"Authorization": "Bearer secret"}
        assert (await server.call("GET", "/api/health", headers=bearer))["status"] == "ok"
        async with server.http.get(f"{server.url}/?token=secret", allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, "/")
            cookie = response.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        value = {"Cookie": cookie.split(";")[0]}
        assert (await server.call("GET", "/api/health", headers=value))["status"] == "ok"


async def test_an_error_tells_no_internals(server: Server) -> None:
    await server.services.db.close()
    answer = await server.call("GET", "/api/sessions", 500)
    assert answer == {"error": "The database could not be read or written. The log has the reason.", "status": 500}
