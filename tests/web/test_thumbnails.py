"""Small pictures of kept ones: within their width, upright, made once, and never of what is no picture."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from exporting import send_file
from PIL import Image as Picture
from serving import Server


def noise(size: tuple[int, int], kind: str = "PNG", **more: object) -> bytes:
    """A picture that is large in bytes."""
    out = io.BytesIO()
    Picture.effect_noise(size, 90).convert("RGB").save(out, kind, **more)
    return out.getvalue()


async def small(server: Server, upload: str, width: int = 128) -> tuple[Picture.Image, str]:
    """The small picture and its type."""
    async with server.http.get(f"{server.url}/api/upload/{upload}?thumb={width}") as response:
        assert response.status == 200, await response.text()
        assert "immutable" in response.headers["Cache-Control"]
        assert response.headers["ETag"]
        return Picture.open(io.BytesIO(await response.read())), response.content_type


def kept(server: Server) -> list[Path]:
    return [path for path in (server.data / "uploads").rglob("*") if path.is_file()]


async def test_a_small_picture_is_made_once_for_many_readers(server: Server) -> None:
    upload = await send_file(server, "a.png", noise((900, 600)))
    made = await asyncio.gather(*(small(server, upload, width) for width in (100, 128, 120, 1)))
    assert {(picture.size, kind) for picture, kind in made} == {((128, 85), "image/jpeg")}
    assert sum(path.suffix == ".128" for path in kept(server)) == 1
    async with server.http.get(f"{server.url}/api/upload/{upload}?thumb=128") as first:
        tag = first.headers["ETag"]
    async with server.http.get(
        f"{server.url}/api/upload/{upload}?thumb=128", headers={"If-None-Match": tag}
    ) as response:
        assert response.status == 304


async def test_it_stands_upright(server: Server) -> None:
    turned = Picture.Exif()
    turned[0x0112] = 6
    upload = await send_file(server, "a.jpg", noise((900, 600), "JPEG", exif=turned))
    assert (await small(server, upload))[0].size == (85, 128)


async def test_of_an_animation_it_is_the_first_picture(server: Server) -> None:
    out = io.BytesIO()
    frames = [Picture.effect_noise((400, 400), 90) for _ in range(2)]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    upload = await send_file(server, "a.gif", out.getvalue())
    assert getattr((await small(server, upload))[0], "n_frames", 1) == 1


async def test_a_picture_that_is_small_stands_for_itself(server: Server) -> None:
    out = io.BytesIO()
    Picture.new("RGB", (20, 20), "red").save(out, "PNG")
    upload = await send_file(server, "a.png", out.getvalue())
    assert (await small(server, upload))[1] == "image/png"
    assert len(kept(server)) == 1


async def test_what_is_no_picture_or_a_damaged_one_has_none(server: Server) -> None:
    half = noise((900, 600))[:60_000]
    for name, data in (("a.txt", b"text" * 10_000), ("half.png", half)):
        upload = await send_file(server, name, data)
        assert "small picture" in (await server.get(f"/api/upload/{upload}?thumb=128", 404))["error"]


@pytest.mark.parametrize("width", ["0", "x", "-1", "99999", "1.5"])
async def test_a_width_that_cannot_be_is_a_400(server: Server, width: str) -> None:
    upload = await send_file(server, "a.txt", b"x")
    assert "thumb" in (await server.get(f"/api/upload/{upload}?thumb={width}", 400))["error"]


async def test_small_pictures_go_with_their_picture(server: Server) -> None:
    upload = await send_file(server, "a.png", noise((900, 600)))
    await small(server, upload)
    await server.services.uploads.forget([upload])
    assert kept(server) == []
