"""Sending files over the real socket: kept by their bytes, read at once, refused whole, and never whole in memory."""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
import tracemalloc
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from docx import Document
from PIL import Image as Picture
from pypdf import PdfWriter
from raw import connected
from serving import GUARD, Server, serving, upstream_config
from upstream import Upstream

from odysseus.web.upload_parts import clean_name

File = tuple[str, bytes]


def form(*files: File, **fields: str) -> aiohttp.FormData:
    made = aiohttp.FormData(fields, default_to_multipart=True)
    for name, data in files:
        made.add_field("files", io.BytesIO(data), filename=name, content_type="text/html")
    return made


async def send(server: Server, *files: File) -> list[dict[str, Any]]:
    return list((await server.call("POST", "/api/upload", data=form(*files)))["files"])


def kept(server: Server) -> list[Path]:
    """Every file in the folder of uploads."""
    return [path for path in (server.data / "uploads").rglob("*") if path.is_file()]


async def rows(server: Server, table: str = "uploads") -> Sequence[Any]:
    return await server.services.db.read(f"SELECT * FROM {table}")


def docx(text: str) -> bytes:
    document, out = Document(), io.BytesIO()
    document.add_paragraph(text)
    document.save(out)
    return out.getvalue()


def png(size: tuple[int, int] = (20, 10)) -> bytes:
    out = io.BytesIO()
    Picture.new("RGB", size, "red").save(out, "PNG")
    return out.getvalue()


def locked_pdf() -> bytes:
    writer, out = PdfWriter(), io.BytesIO()
    writer.add_blank_page(200, 200)
    writer.encrypt("secret", algorithm="AES-256")
    writer.write(out)
    return out.getvalue()


def bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("word/document.xml", b"0" * 200_000_000)
    return out.getvalue()


async def test_files_are_kept_and_read_in_their_order(server: Server) -> None:
    data = {"a.txt": "Grüße".encode("cp1252"), "b.docx": docx("From Word."), "c.png": png()}
    files = await send(server, *data.items())
    assert [file["name"] for file in files] == list(data)
    assert [file["mime"].rpartition(".")[2] for file in files] == ["text/plain", "document", "image/png"]
    assert [(file["extraction"], file["text_chars"]) for file in files[:2]] == [("text", 5), ("text", 10)]
    assert (files[2]["extraction"], files[2]["width"], files[2]["height"]) == ("image", 20, 10)
    for file, content in zip(files, data.values(), strict=True):
        assert (file["size"], file["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
        assert re.fullmatch(r"[0-9a-f]{32}", file["id"])
        async with server.http.get(f"{server.url}/api/upload/{file['id']}") as response:
            assert await response.read() == content
        assert (await server.services.uploads.get(file["id"])).mime == file["mime"]


async def test_every_file_has_its_own_answer_when_one_cannot_be_read(server: Server) -> None:
    files = await send(
        server,
        ("locked.pdf", locked_pdf()),
        ("empty.txt", b""),
        ("program", bytes(range(256)) * 4),
        ("bomb.docx", bomb()),
        ("paper.docx", b"%PDF-1.4\nnot really"),
        ("main.rs", b"fn main() {}"),
    )
    assert [file["extraction"] for file in files] == ["failed", "none", "failed", "failed", "failed", "text"]
    assert "password" in files[0]["note"]
    assert "0 bytes" in files[1]["note"]
    assert all(file["note"] for file in files[:5])
    assert not files[5]["note"]


async def test_the_type_is_that_of_the_bytes_whatever_the_sender_says(server: Server) -> None:
    made = aiohttp.FormData()
    made.add_field("files", b"<h1>x</h1>just text", filename="p.txt", content_type="image/png")
    made.add_field("files", png(), filename="p.txt", content_type="text/html")
    first, second = (await server.call("POST", "/api/upload", data=made))["files"]
    assert (first["mime"], second["mime"]) == ("text/plain", "image/png")
    assert "PNG" in second["note"]


async def test_the_same_file_is_kept_and_read_once(server: Server) -> None:
    first, second = await send(server, ("a.txt", b"same"), ("b.txt", b"same"))
    (third,) = await send(server, ("c.txt", b"same"))
    assert len({first["id"], second["id"], third["id"]}) == 3
    assert len(kept(server)) == 1
    (read,) = await rows(server, "file_texts")
    assert (read["text"], read["sha256"]) == ("same", first["sha256"])


async def test_what_could_not_be_read_is_tried_again_with_the_next_upload(server: Server) -> None:
    await send(server, ("a.txt", b"text"))

    def spoil(db: Any) -> None:
        db.execute("UPDATE file_texts SET kind = 'failed', text = '', note = 'It took too long.'")

    await server.services.db.write(spoil)
    (file,) = await send(server, ("a.txt", b"text"))
    assert (file["extraction"], file["text_chars"]) == ("text", 4)


@pytest.fixture
async def small(upstream: Upstream, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that takes two files of a thousand bytes."""
    limits = {"max_file_bytes": 1000, "max_files": 2}
    async with serving(upstream_config(upstream.base_url, uploads=limits), tmp_path / "small") as running:
        yield running


@pytest.mark.parametrize(
    ("files", "status", "words"),
    [
        ([("a.txt", b"x" * 1001)], 413, "1,000 bytes"),
        ([("a.txt", b"a"), ("b.txt", b"x" * 1001)], 413, "1,000 bytes"),
        ([("a.txt", b"a"), ("b.txt", b"b"), ("c.txt", b"c")], 400, "at most 2 files"),
        ([("a.txt", b"x" * 3_000_000)], 413, "1,000 bytes"),
        ([], 400, "at least one file"),
    ],
)
async def test_what_is_over_a_limit_is_refused_whole(small: Server, files: list[File], status: int, words: str) -> None:
    answer = await small.call("POST", "/api/upload", status, data=form(*files, note="x"))
    assert words in answer["error"]
    assert (kept(small), await rows(small), await rows(small, "file_texts")) == ([], [], [])


async def test_as_much_as_the_limits_say_is_taken(small: Server) -> None:
    first, second = await send(small, ("a.txt", b"x" * 1000), ("b.txt", b"y" * 1000))
    assert (first["size"], second["size"]) == (1000, 1000)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 415),
        ("text/plain", 415),
        ("multipart/mixed; boundary=x", 415),
        ("multipart/form-data", 400),
        ("multipart/form-data; boundary=y", 400),
    ],
)
async def test_a_body_that_is_no_form_with_files_is_refused(server: Server, kind: str, status: int) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n1\r\n--x--\r\n'
    await server.call("POST", "/api/upload", status, data=body, headers={"Content-Type": kind})
    assert kept(server) == []


async def test_a_form_in_a_form_is_refused(server: Server) -> None:
    inner = b"--y\r\nContent-Disposition: form-data; name=a; filename=a\r\n\r\n1\r\n--y--\r\n"
    body = b"--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n" + inner + b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    await server.call("POST", "/api/upload", 400, data=body, headers=headers)
    assert (kept(server), await rows(server)) == ([], [])


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
)
async def test_pages_of_other_sites_may_send_nothing(server: Server, headers: Mapping[str, str]) -> None:
    await server.call("POST", "/api/upload", 403, data=form(("a.txt", b"x")), headers=headers)
    assert (kept(server), await rows(server)) == ([], [])


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(server: Server) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
    async with connected(server) as socket:
        socket.write(
            b"POST /api/upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000\r\n"
            b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + head + b"x" * 400_000
        )
        await socket.writer.drain()
        async with asyncio.timeout(GUARD):
            while not any(path.stat().st_size for path in kept(server)):
                await asyncio.sleep(0.01)
    async with asyncio.timeout(GUARD):
        while kept(server):
            await asyncio.sleep(0.01)
    assert await rows(server) == []


async def test_a_large_file_is_never_whole_in_memory(server: Server) -> None:
    size = 40_000_000
    piece = b"0123456789" * 10_000

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(size // len(piece)):
            yield piece

    made = aiohttp.FormData()
    made.add_field("files", pieces(), filename="big.bin")
    tracemalloc.start()
    try:
        async with server.http.post(f"{server.url}/api/upload", data=made) as response:
            (file,) = (await response.json())["files"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (file["size"], file["extraction"]) == (size, "text")
    assert peak < 12_000_000


@pytest.mark.parametrize(
    ("sent", "cleaned"),
    [
        ("a.txt", "a.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\Übung 1.pdf", "Übung 1.pdf"),
        ("e\u0301.txt", "é.txt"),
        ("a\r\nSet-Cookie: x.txt", "aSet-Cookie: x.txt"),
        ("photo\u202egnp.exe", "photognp.exe"),
        ("\x00\x1b[31m.txt", "\ufffd[31m.txt"),
        ("  two   spaces .txt ", "two spaces .txt"),
        ("", "file"),
        ("..", "file"),
        ("/", "file"),
        ("\u200b", "file"),
        (".env", "env"),
        ("x" * 300 + ".docx", "x" * 195 + ".docx"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_name_is_only_a_name(sent: str, cleaned: str) -> None:
    assert clean_name(sent) == cleaned


async def test_the_answer_has_the_cleaned_name(server: Server) -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="../a\\"b.txt"\r\n\r\n1\r\n'
        b"--x\r\nContent-Disposition: form-data; name=\"other\"; filename*=UTF-8''..%2F%C3%A9.txt\r\n\r\n2\r\n--x--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    files = (await server.call("POST", "/api/upload", data=body, headers=headers))["files"]
    assert [file["name"] for file in files] == ['a"b.txt', "é.txt"]


async def test_other_streams_go_on_while_a_file_is_read(server: Server, upstream: Upstream) -> None:
    table = b"id,name\r\n" + b"1,somebody with a longer name\r\n" * 1_000_000
    session = await server.session()
    sending = asyncio.create_task(send(server, ("t.csv", table)))
    longest, last = 0.0, asyncio.get_running_loop().time()
    while not sending.done():
        await asyncio.sleep(0.005)
        now = asyncio.get_running_loop().time()
        longest, last = max(longest, now - last), now
    assert (await sending)[0]["extraction"] == "text"
    assert longest < 0.5
    await (await server.send(session)).rest()


@pytest.mark.parametrize(
    ("sent", "name"), [("a%22b.txt", 'a"b.txt'), ("a%0D%0Ab.txt", "ab.txt"), ("100%25.txt", "100%25.txt")]
)
async def test_a_name_is_read_as_browsers_write_it(server: Server, sent: str, name: str) -> None:
    body = (f'--x\r\nContent-Disposition: form-data; name="files"; filename="{sent}"\r\n\r\n1\r\n--x--\r\n').encode()
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    told = await server.call("POST", "/api/upload", data=body, headers=kind)
    assert [file["name"] for file in told["files"]] == [name]
