"""Kept files over the real socket: what a browser is told of them, whatever their sender said."""

from __future__ import annotations

import pytest
from serving import Server

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PICTURES = [
    ("image/png", PNG),
    ("image/jpeg", b"\xff\xd8\xff\xe0" + bytes(40)),
    ("image/gif", b"GIF89a" + bytes(40)),
    ("image/webp", b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(40)),
]
OTHERS = [
    ("p.svg", "image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
    ("p.png", "image/png", b"<script>alert(1)</script>"),
    ("p.txt", "text/html", b"<h1>hello</h1>"),
    ("p.html", "text/html; charset=utf-8", b"<!doctype html><script>alert(1)</script>"),
    ("p.pdf", "application/pdf", b"%PDF-1.7"),
    ("p.js", "text/javascript", b"alert(1)"),
    ("p.xml.gz", "application/xml", b"<?xml version='1.0'?>"),
    ("empty", "", b""),
]


async def kept(server: Server, name: str, mime: str, data: bytes) -> str:
    """The address of a new upload."""
    return f"{server.url}/api/upload/{(await server.services.uploads.add(name, mime, data)).id}"


@pytest.mark.parametrize(("kind", "data"), PICTURES)
async def test_a_picture_is_shown_as_what_its_bytes_are(server: Server, kind: str, data: bytes) -> None:
    url = await kept(server, "a.html", "text/html", data)
    async with server.http.get(url) as response:
        assert (response.status, await response.read()) == (200, data)
        assert response.headers["Content-Type"] == kind
        assert response.headers["Content-Disposition"].startswith("inline;")
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize(("name", "mime", "data"), OTHERS)
async def test_anything_else_is_bytes_to_save(server: Server, name: str, mime: str, data: bytes) -> None:
    url = await kept(server, name, mime, data)
    async with server.http.get(url, headers={"Accept-Encoding": "gzip, br"}) as response:
        assert (response.status, await response.read()) == (200, data)
        assert response.headers["Content-Type"] == "application/octet-stream"
        assert response.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox; frame-ancestors 'none'"
        assert "Content-Encoding" not in response.headers


async def test_a_name_cannot_break_out_of_its_header(server: Server) -> None:
    url = await kept(server, 'a"; x=1\r\nSet-Cookie: y=2\r\n/../é字', "", b"data")
    async with server.http.get(url) as response:
        assert response.status == 200
        assert "Set-Cookie" not in response.headers
        sent = response.headers["Content-Disposition"]
        assert sent == (
            "attachment; filename*=UTF-8''a%22%3B%20x%3D1%0D%0ASet-Cookie%3A%20y%3D2%0D%0A%2F..%2F%C3%A9%E5%AD%97"
        )


async def test_a_part_can_be_asked_for(server: Server) -> None:
    url = await kept(server, "a", "", PNG)
    async with server.http.get(url, headers={"Range": "bytes=8-11"}) as response:
        assert (response.status, await response.read()) == (206, PNG[8:12])
        assert response.headers["Content-Type"] == "image/png"
        assert "sandbox" in response.headers["Content-Security-Policy"]
    async with server.http.get(url, headers={"Range": "bytes=9999-"}) as response:
        assert response.status == 416


async def test_a_file_that_the_browser_has_is_not_sent_again(server: Server) -> None:
    url = await kept(server, "a", "", PNG)
    async with server.http.get(url) as response:
        tag = response.headers["ETag"]
    async with server.http.get(url, headers={"If-None-Match": tag}) as response:
        assert (response.status, await response.read()) == (304, b"")
    async with server.http.head(url) as response:
        assert (response.status, response.headers["ETag"]) == (200, tag)


@pytest.mark.parametrize("wrong", ["0" * 32, "..%2f..%2fodysseus.sqlite3", "%00", "%ff", "x" * 3000])
async def test_no_other_file_is_served(server: Server, wrong: str) -> None:
    from yarl import URL

    await kept(server, "a", "", PNG)
    async with server.http.get(URL(f"{server.url}/api/upload/{wrong}", encoded=True)) as response:
        assert (response.status, response.content_type) == (404, "application/json")


async def test_a_file_whose_bytes_are_gone_is_told_so(server: Server) -> None:
    upload = await server.services.uploads.add("a", "", PNG)
    server.services.uploads.path(upload).unlink()
    answer = await server.get(f"/api/upload/{upload.id}", 404)
    assert answer["error"] == "The bytes of this file are gone from the data folder."


async def test_other_sites_may_not_show_a_picture(server: Server) -> None:
    url = await kept(server, "a", "", PNG)
    async with server.http.get(url, headers={"Sec-Fetch-Site": "cross-site"}) as response:
        assert response.status == 403
