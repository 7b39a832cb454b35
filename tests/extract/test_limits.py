"""What a reading may cost: time, memory, size, and that nothing of it is left over."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from PIL import Image
from sample_files import Read, ReadHere, make_docx, make_xlsx, picture, with_parts

from odysseus.extract.extract import AT_ONCE, extract
from odysseus.extract.result import ExtractLimits

SHEET = "xl/worksheets/sheet1.xml"
ROWS = b"".join(b'<row r="%d"><c r="A%d"><v>%d</v></c></row>' % (row, row, row) for row in range(1, 400_000))
SLOW = with_parts(
    make_xlsx({"a": [[1]]}),
    {SHEET: b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s' % ROWS},
)


def workers() -> Iterator[psutil.Process]:
    """Processes of readings that this one has started."""
    for process in psutil.Process().children(recursive=True):
        try:
            if any(part.endswith("extract/worker.py") for part in process.cmdline()):
                yield process
        except psutil.NoSuchProcess:
            continue


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow"
    path.write_bytes(SLOW)
    return path


async def until_working(count: int) -> None:
    async with asyncio.timeout(30):
        while len(list(workers())) < count:
            await asyncio.sleep(0.01)


async def test_a_reading_out_of_time_is_killed_and_told(read: Read) -> None:
    found = await read(SLOW, "a.xlsx", seconds=0.05)
    assert (found.kind, found.text) == ("failed", "")
    assert "took too long" in found.note
    assert list(workers()) == []


def test_reading_ends_by_itself_before_it_is_killed(read_here: ReadHere) -> None:
    found = read_here(SLOW, "a.xlsx", seconds=0.8)
    assert found.kind in {"text", "none"}
    assert found.note == "There was no time to read all of: a. Send these sheets as files of their own."


async def test_a_cancelled_reading_leaves_no_process(slow: Path) -> None:
    task = asyncio.create_task(extract(slow, "a.xlsx"))
    await until_working(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(workers()) == []


async def test_at_most_two_files_are_read_at_once(slow: Path) -> None:
    tasks = [asyncio.create_task(extract(slow, "a.xlsx")) for _ in range(4)]
    await until_working(AT_ONCE)
    await asyncio.sleep(0)
    assert len(list(workers())) == AT_ONCE
    tasks[0].cancel()
    await asyncio.wait({tasks[0]})
    await until_working(AT_ONCE)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert list(workers()) == []


async def test_the_event_loop_goes_on_while_a_file_is_read(slow: Path) -> None:
    task = asyncio.create_task(extract(slow, "a.xlsx", ExtractLimits(seconds=3)))
    longest, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    assert longest < 1.0


async def test_a_reading_over_its_memory_is_told(read: Read, no_ocr: None) -> None:
    found = await read(picture(Image.new("RGB", (9_000, 9_000)), "PNG", compress_level=1), "a.png", memory=150_000_000)
    assert found.kind == "failed"
    assert "memory" in found.note or "damaged" in found.note


async def test_a_file_over_the_limit_is_refused(read: Read) -> None:
    found = await read(make_docx("a"), "a.docx", bytes=1000)
    assert (found.kind, "more than the 1,000 that are read" in found.note) == ("failed", True)


# Archives


def packed(parts: dict[str, int]) -> dict[str, bytes]:
    return {name: bytes(size) for name, size in parts.items()}


@pytest.mark.parametrize(
    ("parts", "limits"),
    [
        ({"word/media/a.bin": 30_000_000}, {"unpacked": 20_000_000}),
        ({f"word/media/{n}.bin": 1_000_000 for n in range(30)}, {"unpacked": 20_000_000}),
        ({"word/media/a.bin": 120_000_000}, {}),
        ({f"word/media/{n}": 1 for n in range(20_001)}, {}),
    ],
)
def test_an_archive_that_swells_is_refused_before_it_is_unpacked(
    read_here: ReadHere, parts: dict[str, int], limits: dict[str, int]
) -> None:
    found = read_here(with_parts(make_docx("a"), packed(parts)), "a.docx", **limits)
    assert (found.kind, found.text) == ("failed", "")
    assert "more than is read" in found.note


def test_an_archive_in_an_archive_stays_closed(read_here: ReadHere) -> None:
    inner = make_docx("inner")
    for _ in range(3):
        inner = with_parts(make_docx("outer"), {"word/embeddings/a.docx": inner})
    assert read_here(inner, "a.docx").text == "outer"


def test_an_archive_that_lies_about_its_size_is_damaged(read_here: ReadHere) -> None:
    data = bytearray(with_parts(make_docx("a"), {"word/document.xml": b"<a>" + b" " * 5_000_000 + b"</a>"}))
    real, said = (5_000_007).to_bytes(4, "little"), (100).to_bytes(4, "little")
    assert data.count(real) == 2
    assert read_here(bytes(data.replace(real, said)), "a.docx").kind == "failed"


# Paths


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes in folders")
async def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert (await extract(tmp_path / "pipe", "a.txt")).note == "This is no ordinary file. Send the file itself."


async def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = await extract(tmp_path / "link", "a.txt")
    assert (found.kind, found.text, found.mime) == ("failed", "", "")
    assert "ordinary file" in found.note


@pytest.mark.parametrize("path", [Path("/dev/zero"), Path("/")])
async def test_devices_and_folders_are_refused(path: Path) -> None:
    assert "ordinary file" in (await extract(path, "a.txt")).note


async def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    assert "not there any more" in (await extract(tmp_path / "none", "a.txt")).note


async def test_a_name_of_any_characters_is_no_harm(read: Read) -> None:
    assert (await read(b"a", "\udcff\x00\n.txt", "\ud800")).text == "a"


async def test_no_path_stands_in_a_note(tmp_path: Path) -> None:
    for name, data in {"a.pdf": b"%PDF-1.4", "a.docx": b"PK\x03\x04", "a.png": b"\x89PNG\r\n\x1a\n"}.items():
        (tmp_path / name).write_bytes(data)
        found = await extract(tmp_path / name, name)
        assert found.kind == "failed"
        assert str(tmp_path) not in found.note
        assert "Traceback" not in found.note
