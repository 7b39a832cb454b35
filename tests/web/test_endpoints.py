"""Endpoints added from the page: found out, tested, kept, and never told with their key."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from serving import Server, serving, upstream_config
from upstream import Hang, Upstream, answer, text_chunk

from odysseus.providers.address import is_forbidden_host

BAD_ADDRESSES = [
    "",
    "x",
    "ftp://host/v1",
    "http://",
    "http://user:pw@host/v1",
    "http://host/v1?key=1",
    "http://host:99999",
    "http://ho st/v1",
    "http://[::1",
    "javascript:alert(1)",
]
FORBIDDEN = [
    "169.254.169.254",
    "169.254.1.1",
    "0xA9FEA9FE",
    "2852039166",
    "0251.0376.0251.0376",
    "169.254.43518",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "[fe80::1]",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "100.100.100.200",
]
GOOD = ["127.0.0.1", "localhost", "192.168.1.5", "10.0.0.2", "example.com", "[::1]", "fe80.example.com"]


async def test_two_fields_are_enough_to_chat(server: Server, upstream: Upstream) -> None:
    added = await server.post("/api/endpoints", {"base_url": upstream.origin + "/", "api_key": "sk-secret-1"})
    assert (added["kind"], added["base_url"], added["label"]) == ("openai", upstream.base_url, "127.0.0.1")
    assert added["has_key"] is True
    upstream.reply(answer("from the added one"))
    stream = await server.send(await server.session(endpoint_id=added["id"]))
    assert (await stream.rest()).text == "from the added one"
    assert upstream.requests[-1].headers["Authorization"] == "Bearer sk-secret-1"
    assert upstream.requests[-1].json["model"] == "fake-model"


async def test_a_key_never_comes_back(server: Server, upstream: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    added = await server.post("/api/endpoints", {"base_url": upstream.base_url, "api_key": "sk-secret-1"})
    upstream.reply(b'{"error": "wrong key sk-secret-1"}', status=401, headers={"Content-Type": "application/json"})
    session = await server.session(endpoint_id=added["id"])
    stream = await (await server.send(session)).rest()
    told: list[Any] = [added, [frame.data for frame in stream.frames]]
    told += [await server.get(path) for path in ("/api/endpoints", "/api/models", f"/api/history/{session}")]
    assert "sk-secret-1" not in json.dumps(told)
    assert "sk-secret-1" not in caplog.text


async def test_the_database_is_for_the_user_alone(server: Server, upstream: Upstream) -> None:
    await server.post("/api/endpoints", {"base_url": upstream.base_url, "api_key": "sk-secret-1"})
    for path in server.data.glob("odysseus.sqlite3*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


async def test_added_endpoints_outlive_the_process(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(upstream.base_url)
    async with serving(config, tmp_path) as server:
        added = await server.post("/api/endpoints", {"base_url": upstream.base_url, "label": "Mine"})
    async with serving(config, tmp_path) as server:
        assert [one["label"] for one in await server.get("/api/endpoints")] == ["Upstream", "Mine"]
        assert await server.call("DELETE", f"/api/endpoints/{added['id']}") == {"status": "deleted"}
        await server.call("DELETE", f"/api/endpoints/{added['id']}", 404)
    async with serving(config, tmp_path) as server:
        assert [one["id"] for one in await server.get("/api/endpoints")] == ["up"]


async def test_another_address_drops_the_key(server: Server, upstream: Upstream) -> None:
    added = await server.post("/api/endpoints", {"base_url": upstream.base_url, "api_key": "sk-secret-1"})
    path = f"/api/endpoints/{added['id']}"
    renamed = await server.call("PATCH", path, json={"label": "New", "base_url": upstream.base_url})
    assert (renamed["label"], renamed["has_key"]) == ("New", True)
    moved = await server.call("PATCH", path, json={"base_url": upstream.origin + "/v2"})
    assert moved["has_key"] is False


async def test_endpoints_of_the_config_are_not_changed_here(server: Server) -> None:
    await server.call("PATCH", "/api/endpoints/up", 404, json={"label": "x"})
    await server.call("DELETE", "/api/endpoints/up", 404)


@pytest.mark.parametrize("base_url", BAD_ADDRESSES)
@pytest.mark.parametrize("path", ["/api/endpoints", "/api/endpoints/test"])
async def test_an_address_that_is_none_is_refused(server: Server, path: str, base_url: str) -> None:
    assert (await server.post(path, {"base_url": base_url}, 400))["error"]
    assert len(await server.get("/api/endpoints")) == 1


@pytest.mark.parametrize("host", FORBIDDEN)
async def test_metadata_addresses_are_refused_in_any_notation(server: Server, host: str) -> None:
    body = {"base_url": f"http://{host}/latest", "kind": "openai"}
    assert "link-local" in (await server.post("/api/endpoints", body, 400))["error"]
    assert is_forbidden_host(host.strip("[]"))


@pytest.mark.parametrize("host", GOOD)
def test_other_addresses_are_not(host: str) -> None:
    assert not is_forbidden_host(host.strip("[]"))


async def test_a_test_says_what_speaks_there_and_keeps_nothing(server: Server, upstream: Upstream) -> None:
    upstream.models = ("one", "two")
    told = await server.post("/api/endpoints/test", {"base_url": upstream.origin})
    assert (told["kind"], told["base_url"], told["models"]) == ("openai", upstream.base_url, ["one", "two"])
    assert len(await server.get("/api/endpoints")) == 1


async def test_an_endpoint_that_does_not_answer_is_told_in_words_and_not_kept(server: Server) -> None:
    told = await server.post("/api/endpoints", {"base_url": "http://127.0.0.1:9/v1"}, 400)
    assert told["error"] == "The endpoint cannot be reached. Check that it runs, and its base URL."
    assert len(await server.get("/api/endpoints")) == 1
    kept = await server.post("/api/endpoints", {"base_url": "http://127.0.0.1:9/v1", "kind": "openai"})
    listed = (await server.get("/api/models"))["items"][-1]
    assert (listed["endpoint_id"], listed["online"], listed["state"]) == (kept["id"], False, "unreachable")
    assert listed["note"]


async def test_a_key_with_control_characters_is_refused(server: Server, upstream: Upstream) -> None:
    body = {"base_url": upstream.base_url, "api_key": "a\nb", "kind": "openai"}
    assert (await server.post("/api/endpoints", body, 400))["error"]
    assert len(await server.get("/api/endpoints")) == 1


async def test_local_servers_are_looked_for_when_asked(server: Server) -> None:
    assert isinstance(await server.get("/api/endpoints/found"), list)


@pytest.mark.parametrize("how", ["PATCH", "DELETE"])
@pytest.mark.parametrize("before", [[Hang()], []], ids=["before the headers", "in the answer"])
async def test_a_run_ends_when_its_endpoint_is_changed_or_removed(
    server: Server, upstream: Upstream, how: str, before: list[Hang]
) -> None:
    added = await server.post("/api/endpoints", {"base_url": upstream.base_url})
    upstream.reply(text_chunk("half"), Hang(), before=before)
    stream = await server.send(await server.session(endpoint_id=added["id"]))
    await (upstream.arrived() if before else stream.until_text("half"))
    await server.call(how, f"/api/endpoints/{added['id']}", json={"label": "x"})
    await stream.rest()
    assert stream.record["status"] == "failed"
    assert stream.kinds[-1] == "error"
