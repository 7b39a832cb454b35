"""How the page's files are sent: in a coding that is understood, kept for ever or asked for again, as they are now."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import aiohttp
import brotli
import pytest
from serving import Server

from odysseus.web.assets import RELEASES, Assets


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text('<script type="module" src="/static/app.js"></script>')
    (tmp_path / "app.js").write_text("const first = 1;\n")
    return tmp_path


async def fetch(server: Server, path: str, **headers: str) -> tuple[aiohttp.ClientResponse, bytes]:
    """An answer and its body as it came over the wire."""
    async with aiohttp.ClientSession(auto_decompress=False) as plain:
        asked = {name.replace("_", "-"): value for name, value in headers.items()}
        async with plain.get(f"{server.url}{path}", headers={"Accept-Encoding": "", **asked}) as response:
            return response, await response.read()


async def kept(server: Server, path: str) -> str:
    """The address of a file of the page as the page names it."""
    _, page = await fetch(server, "/")
    found = re.search(rf"/static/v-[0-9a-f]{{12}}/{re.escape(path)}", page.decode())
    assert found
    return found[0]


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("GZIP;q=0.5", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("br;q=0.0, gzip;q=0.000", ""),
        ("zstd", ""),
        ("", ""),
    ],
)
async def test_a_file_comes_in_a_coding_that_is_understood(server: Server, accepted: str, coding: str) -> None:
    _, whole = await fetch(server, "/static/app.js")
    response, body = await fetch(server, "/static/app.js", Accept_Encoding=accepted)
    assert response.headers.get("Content-Encoding", "") == coding
    assert response.headers["Vary"] == "Accept-Encoding"
    assert {"br": brotli.decompress, "gzip": gzip.decompress, "": bytes}[coding](body) == whole


async def test_the_page_is_asked_for_again_and_its_files_are_kept(server: Server) -> None:
    page, _ = await fetch(server, "/")
    assert page.headers["Cache-Control"] == "no-cache"
    assert page.content_type == "text/html"
    script, body = await fetch(server, await kept(server, "page.js"))
    assert (script.content_type, script.charset) == ("text/javascript", "utf-8")
    assert "immutable" in script.headers["Cache-Control"]
    plain, same = await fetch(server, "/static/page.js")
    assert plain.headers["Cache-Control"] == "no-cache"
    assert same == body


async def test_what_is_known_is_not_sent_again(server: Server) -> None:
    first, _ = await fetch(server, "/", Accept_Encoding="br")
    tag = first.headers["ETag"]
    again, body = await fetch(server, "/", Accept_Encoding="br", If_None_Match=tag)
    assert (again.status, body, again.headers["ETag"]) == (304, b"", tag)
    assert again.headers["Cache-Control"] == "no-cache"
    other, _ = await fetch(server, "/", Accept_Encoding="gzip", If_None_Match=tag)
    assert (other.status, other.headers["Content-Encoding"]) == (200, "gzip")


@pytest.mark.parametrize("path", ["v-000000000000/app.js", "v-/app.js", "v-000000000000", "nothing.js"])
async def test_a_file_of_no_release_is_not_found(server: Server, path: str) -> None:
    response, _ = await fetch(server, f"/static/{path}")
    assert response.status == 404


async def test_a_picture_comes_as_it_is(server: Server) -> None:
    response, _ = await fetch(server, "/static/icon.svg", Accept_Encoding="br")
    assert (response.content_type, response.headers["Content-Encoding"]) == ("image/svg+xml", "br")


def test_a_changed_file_is_another_release_and_the_old_one_stays(folder: Path) -> None:
    assets = Assets(folder)
    before = assets.newest()
    assert assets.newest() is before
    (folder / "app.js").write_text("const second = 22;\n")
    after = assets.newest()
    assert after.version != before.version
    for release, text in ((before, b"const first=1;"), (after, b"const second=22;")):
        found = assets.find(f"v-{release.version}/page.js", "")
        assert found is not None
        assert text in found.body


def test_only_the_last_releases_are_remembered(folder: Path) -> None:
    assets = Assets(folder)
    versions = []
    for number in range(RELEASES + 1):
        (folder / "app.js").write_text(f"const n = {'1' * (number + 1)};\n")
        versions.append(assets.newest().version)
    there = [assets.find(f"v-{version}/app.js", "") is not None for version in versions]
    assert there == [False] + [True] * RELEASES


def test_the_same_file_has_the_same_tag_at_every_start(folder: Path) -> None:
    first, second = (Assets(folder).find("app.js", "gzip") for _ in range(2))
    assert first == second
