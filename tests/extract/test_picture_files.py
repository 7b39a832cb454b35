"""Pictures: their size always, their text where something reads it, and what is too large or broken."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from PIL import Image
from sample_files import Read, ReadHere, picture, scan

from odysseus.extract.ocr import as_lines

SMALL = Image.effect_noise((40, 30), 60).convert("RGB")
FRAMES = [Image.new("RGB", (40, 30), colour) for colour in ("red", "green", "blue")]
needs_ocr = pytest.mark.skipif(importlib.util.find_spec("rapidocr") is None, reason="the extra `ocr` is not installed")


def turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return picture(SMALL, "JPEG", exif=exif)


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        *(
            (picture(SMALL, kind), f"image/{kind.lower()}")
            for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")
        ),
        (picture(SMALL.convert("CMYK"), "JPEG"), "image/jpeg"),
        (picture(SMALL.convert("RGBA"), "PNG"), "image/png"),
        (picture(SMALL.convert("1"), "PNG"), "image/png"),
        (picture(SMALL.convert("I;16"), "PNG"), "image/png"),
        (picture(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:]), "image/gif"),
        (picture(FRAMES[0], "WEBP", save_all=True, append_images=FRAMES[1:]), "image/webp"),
    ],
)
def test_a_picture_has_its_size(read_here: ReadHere, no_ocr: None, data: bytes, mime: str) -> None:
    found = read_here(data, "a")
    assert (found.kind, found.mime, found.width, found.height, found.text) == ("image", mime, 40, 30, "")
    assert "odysseus[ocr]" in found.note


@pytest.mark.parametrize(("orientation", "size"), [(1, (40, 30)), (3, (40, 30)), (6, (30, 40)), (8, (30, 40))])
def test_the_size_is_that_of_the_picture_as_seen(
    read_here: ReadHere, no_ocr: None, orientation: int, size: tuple[int, int]
) -> None:
    found = read_here(turned(orientation), "a.jpg")
    assert (found.width, found.height) == size


@pytest.mark.parametrize(
    "data",
    [
        picture(SMALL, "PNG")[:-200],
        picture(SMALL, "JPEG")[:400],
        picture(SMALL, "WEBP")[:200],
        picture(SMALL, "GIF")[:100],
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"\xff\xd8\xff" + bytes(100),
        b"GIF89a",
    ],
)
def test_a_broken_picture_says_what_to_do(read_here: ReadHere, no_ocr: None, data: bytes) -> None:
    found = read_here(data, "a.png")
    assert (found.kind, found.text) == ("failed", "")
    assert "damaged" in found.note


async def test_a_picture_called_something_else_is_told(read: Read, no_ocr: None) -> None:
    found = await read(picture(SMALL, "JPEG"), "a.png", "image/png")
    assert (found.mime, found.mismatch) == ("image/jpeg", True)
    assert "It is called a PNG picture, but it is a JPEG picture" in found.note


def test_a_picture_over_the_limit_is_refused_before_it_is_decoded(read_here: ReadHere, no_ocr: None) -> None:
    found = read_here(picture(Image.new("1", (20_000, 6_000)), "PNG"), "a.png")
    assert (found.kind, found.text) == ("failed", "")
    assert "120,000,000 pixels" in found.note


def test_a_large_jpeg_is_decoded_small(read_here: ReadHere, no_ocr: None) -> None:
    found = read_here(picture(SMALL.resize((1200, 900)), "JPEG"), "a.jpg", pixels=1_200_000)
    assert (found.kind, found.width, found.height) == ("image", 1200, 900)
    large = picture(Image.new("L", (8000, 8000)), "JPEG")
    assert read_here(large, "a.jpg", pixels=20_000_000).width == 8000


async def test_a_picture_of_a_hundred_megapixels_is_read_within_the_memory(read: Read, no_ocr: None) -> None:
    found = await read(picture(Image.new("L", (10_000, 10_000)), "PNG", compress_level=1), "a.png")
    assert (found.kind, found.width, found.height) == ("image", 10_000, 10_000)


def test_without_the_extra_its_name_is_told(read_here: ReadHere, monkeypatch: pytest.MonkeyPatch) -> None:
    data = picture(SMALL, "PNG")
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "pip install 'odysseus[files]'" in read_here(data, "a.png").note


@needs_ocr
async def test_the_text_of_a_picture_is_read(read: Read) -> None:
    found = await read(picture(scan("Invoice 48213", (500, 200)).convert("CMYK"), "JPEG"), "a.jpg")
    assert (found.kind, found.text, found.width, found.note) == ("ocr", "Invoice 48213", 500, "")


def test_pieces_side_by_side_share_a_line() -> None:
    pieces = [
        (52.0, 70.0, 300.0, "3"),
        (50.0, 70.0, 10.0, "Pears"),
        (10.0, 30.0, 10.0, "Fruit"),
        (12.0, 30.0, 300.0, "Count"),
    ]
    assert as_lines(pieces) == "Fruit  Count\nPears  3"
