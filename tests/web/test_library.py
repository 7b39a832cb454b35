"""The library over the real socket: what is added, how it goes, what is found, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from serving import GUARD, Server, config_of, serving
from upstream import Upstream

WORDS: dict[str, str] = {
    "tea.md": "# Tea\n\nGreen tea draws for two minutes.\n",
    "deep/coffee.txt": "Coffee is roasted at two hundred degrees.\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for name, text in WORDS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
async def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    """A server without the extra: no model has to be loaded."""
    monkeypatch.setattr("odysseus.retrieval.vectors.installed", lambda **_: False)
    async with serving(config_of(""), tmp_path / "plain") as made:
        yield made


async def settled(server: Server) -> list[Any]:
    """The frames of the progress to the end."""
    stream = await server.stream("GET", "/api/library/progress")
    await stream.rest()
    return [frame.data for frame in stream.frames]


async def test_a_folder_is_added_found_and_taken_out(server: Server, notes: Path) -> None:
    added = await server.post("/api/library", {"path": str(notes)}, 202)
    assert (added["kind"], added["name"], added["path"]) == ("folder", "notes", str(notes))
    assert added["state"] in {"waiting", "indexing", "ready"}
    frames = await settled(server)
    assert [frame["type"] for frame in frames[:-1]] == ["progress"] * (len(frames) - 1)
    assert (frames[-1]["type"], frames[-1]["documents"], frames[-1]["chunks"]) == ("final", 2, 2)
    listed = await server.get("/api/library")
    assert [(item["state"], item["documents"], item["problems"]) for item in listed["items"]] == [("ready", 2, [])]
    found = await server.get("/api/library/search?q=how+long+does+green+tea+take")
    first = found["items"][0]
    assert (first["filename"], first["heading"]) == ("tea.md", "Tea")
    assert 0 < first["similarity"] <= 1
    assert len(first["snippet"]) <= 200
    await server.call("DELETE", f"/api/library/{added['id']}")
    assert (await server.get("/api/library"))["items"] == []
    assert (await server.get("/api/library/search?q=tea"))["items"] == []


async def test_it_is_said_how_the_library_is_searched(server: Server) -> None:
    listed = await server.get("/api/library")
    assert (listed["mode"], listed["note"]) == ("hybrid", "")


async def test_without_the_extra_words_are_searched_and_the_page_can_say_so(plain: Server, notes: Path) -> None:
    await plain.post("/api/library", {"path": str(notes)}, 202)
    await settled(plain)
    listed = await plain.get("/api/library")
    assert listed["mode"] == "words"
    assert "odysseus[retrieval]" in listed["note"]
    found = await plain.get("/api/library/search?q=roasted")
    assert [item["filename"] for item in found["items"]] == ["deep/coffee.txt"]
    assert found["note"] == listed["note"]


async def test_an_upload_is_added_by_its_id(plain: Server) -> None:
    upload = await plain.services.uploads.add("plan.md", "text/markdown", b"The bridge opens in May.")
    added = await plain.post("/api/library", {"upload_id": upload.id}, 202)
    assert (added["kind"], added["path"], added["upload_id"], added["name"]) == ("upload", None, upload.id, "plan.md")
    await settled(plain)
    found = await plain.get("/api/library/search?q=bridge")
    assert found["items"][0]["filename"] == "plan.md"


async def test_a_refresh_sees_what_is_new(plain: Server, notes: Path) -> None:
    added = await plain.post("/api/library", {"path": str(notes)}, 202)
    await settled(plain)
    (notes / "deep" / "coffee.txt").unlink()
    (notes / "milk.txt").write_text("Oat milk.")
    await plain.post(f"/api/library/{added['id']}/refresh", None, 202)
    await settled(plain)
    names = [item["filename"] for item in (await plain.get("/api/library/search?q=oat+milk+roasted"))["items"]]
    assert "milk.txt" in names
    assert "deep/coffee.txt" not in names


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"path": ""}, 400),
        ({"path": "/", "upload_id": "x"}, 400),
        ({"path": "/"}, 400),
        ({"path": "notes"}, 400),
        ({"path": str(Path.home())}, 400),
        ({"path": "/nowhere/at/all"}, 400),
        ({"path": 5}, 400),
        ({"path": "/etc/\x00"}, 400),
        ({"path": "/" + "x" * 5000}, 400),
        ({"upload_id": "none"}, 404),
    ],
)
async def test_what_cannot_be_added_is_refused_in_words(server: Server, body: Any, status: int) -> None:
    told = await server.post("/api/library", body, status)
    assert told["error"].endswith(".")
    assert (await server.get("/api/library"))["items"] == []


async def test_the_servers_own_data_cannot_be_added(server: Server) -> None:
    for place in (server.data, server.data / "odysseus.sqlite3", server.data.parent):
        await server.post("/api/library", {"path": str(place)}, 400)


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/api/library/none"), ("POST", "/api/library/none/refresh")])
async def test_an_entry_that_is_not_there_is_told(server: Server, method: str, path: str) -> None:
    assert (await server.call(method, path, 404))["error"].endswith(".")


async def test_any_question_is_answered(plain: Server, notes: Path) -> None:
    await plain.post("/api/library", {"path": str(notes)}, 202)
    await settled(plain)
    for query in ("", "?q=", "?q=%20", "?q=%00", "?q=%22+OR+NEAR(", "?q=" + "x" * 5000, "?q=*", "?q=%ed%a0%80"):
        assert isinstance((await plain.get(f"/api/library/search{query}"))["items"], list), query


async def test_the_progress_ends_at_once_when_there_is_nothing_to_do(server: Server) -> None:
    await server.services.library.quiet()
    async with asyncio.timeout(GUARD):
        frames = await settled(server)
    assert [frame["type"] for frame in frames] == ["final"]


async def test_an_endpoint_makes_the_vectors(upstream: Upstream, notes: Path, tmp_path: Path) -> None:
    toml = (
        f'[retrieval]\nendpoint = "up"\nmodel = "embedder"\n'
        f'[[endpoints]]\nid = "up"\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
    )
    for vector in ([1.0, 0.0], [0.0, 1.0], [0.1, 1.0]):
        upstream.reply_json({"data": [{"index": 0, "embedding": vector}]})
    async with serving(config_of(toml), tmp_path / "remote") as server:
        for name in ("tea.md", "deep/coffee.txt"):  # one after the other, so that the answers fit
            await server.post("/api/library", {"path": str(notes / name)}, 202)
            await settled(server)
        assert (await server.get("/api/library"))["mode"] == "hybrid"
        found = await server.get("/api/library/search?q=espresso")
        assert found["items"][0]["filename"] == "coffee.txt"
    assert {request.path for request in upstream.requests} == {"/v1/embeddings"}
    assert [request.json["model"] for request in upstream.requests] == ["embedder"] * 3
