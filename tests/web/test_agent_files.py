"""Files of the agent stream: by base64 and by multipart, as text for the model, and refused with a reason."""

from __future__ import annotations

import base64
import io
import zipfile
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from docx import Document
from PIL import Image as Picture
from serving import Server, agent_config, serving
from upstream import Upstream, answer

from odysseus.web.agent_files import read_files
from odysseus.web.agent_request import OFFICE, SentFile

DOCX = f"{OFFICE}wordprocessingml.document"


def in_json(data: bytes, mime: str, name: str = "") -> dict[str, str]:
    return {"content": base64.b64encode(data).decode(), "mime_type": mime, "filename": name}


def docx(text: str) -> bytes:
    document, out = Document(), io.BytesIO()
    document.add_paragraph(text)
    document.save(out)
    return out.getvalue()


def png() -> bytes:
    out = io.BytesIO()
    Picture.new("RGB", (20, 10), "red").save(out, "PNG")
    return out.getvalue()


async def refused(server: Server, status: int, **kwargs: Any) -> str:
    async with server.http.post(f"{server.url}/agent/support/chat", **kwargs) as response:
        assert response.status == status, await response.text()
        body = await response.json(content_type=None)
    assert await server.services.db.read("SELECT * FROM messages") == []
    return str(body["detail"])


def asked(upstream: Upstream) -> str:
    return str(upstream.requests[-1].json["messages"][-1]["content"])


async def test_files_stand_under_their_names_before_the_message(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.reply(answer("Read."))
        files = [
            in_json("Grüße".encode("cp1252"), "text/plain", "notes.txt"),
            in_json(docx("From Word."), DOCX, "a.docx"),
        ]
        await server.post("/agent/support/chat", {"message": "Sum it up.", "files": files})
        text = asked(upstream)
        places = [text.index(part) for part in ("notes.txt", "Grüße", "a.docx", "From Word.", "Sum it up.")]
        assert places == sorted(places)


async def test_multipart_says_the_same_as_json(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        upstream.reply(answer("Read.")).reply(answer("Read."))
        await server.post(
            "/agent/support/chat", {"message": "hi", "files": [in_json(b"a,b\n1,2\n", "text/csv", "t.csv")]}
        )
        form = aiohttp.FormData()
        form.add_field("message", "hi")
        form.add_field("files", b"a,b\n1,2\n", filename="t.csv", content_type="text/csv")
        async with server.http.post(f"{server.url}/agent/support/chat", data=form) as response:
            assert response.status == 200, await response.text()
        first, second = (request.json["messages"][-1]["content"] for request in upstream.requests)
        assert first == second


def bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("word/document.xml", b"0" * 200_000_000)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "mime", "status", "words"),
    [
        (b"%PDF-1.4\nnot really", "application/pdf", 400, "files[0]"),
        (b"just text", "application/pdf", 400, "files[0]"),
        (b"", "text/plain", 400, "files[0]"),
        (b"\x00\x01\x02\xff" * 100, "text/plain", 400, "files[0]"),
        (b"x", "application/x-sh", 415, "x-sh"),
        (b"GIF89a broken", "image/gif", 400, "files[0]"),
    ],
)
async def test_a_file_that_cannot_be_read_fails_the_request(  # noqa: PLR0917 - the parameters of a table
    upstream: Upstream, tmp_path: Path, data: bytes, mime: str, status: int, words: str
) -> None:
    async with serving(agent_config(upstream), tmp_path) as server:
        body = {"message": "x", "files": [in_json(data, mime, "the-file")]}
        assert words in await refused(server, status, json=body)
        assert not upstream.requests


async def test_a_bomb_and_sizes_over_the_limit_are_refused(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(agent_config(upstream, max_file_bytes=300_000, max_files_bytes=400_000), tmp_path) as server:
        await refused(server, 400, json={"message": "x", "files": [in_json(bomb(), DOCX, "b.docx")]})
        big = in_json(b"x" * 300_001, "text/plain")
        assert "limit" in await refused(server, 413, json={"message": "x", "files": [big]})
        two = [in_json(b"x" * 250_000, "text/plain")] * 2
        assert "together" in await refused(server, 413, json={"message": "x", "files": two})
        form = aiohttp.FormData()
        form.add_field("message", "x")
        form.add_field("files", b"x" * 300_001, filename="big.txt", content_type="text/plain")
        assert "limit" in await refused(server, 413, data=form)
        long = io.BytesIO(b'{"message": "' + b"x" * 3_000_000)
        await refused(server, 413, data=long, headers={"Content-Type": "application/json"})


async def test_a_picture_goes_to_a_model_that_sees_it(tmp_path: Path) -> None:
    path = tmp_path / "red.png"
    path.write_bytes(png())
    found = await read_files([SentFile(path, "image/png", "red.png")], sees=True)
    assert (found.images[0].mime, found.images[0].data) == ("image/png", png())
    assert "red.png" in found.text
