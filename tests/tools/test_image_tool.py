"""The picture tool with a real endpoint on loopback, a real database and real files."""

from __future__ import annotations

import asyncio
import base64
import struct
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from contexts import context
from store.databases import Stores, opened
from upstream import Hang, Upstream

from odysseus.agent.pictures import picture_maker
from odysseus.config import EndpointConfig, ImagesConfig
from odysseus.errors import OdysseusError, ProviderError
from odysseus.events import ImageMade
from odysseus.store.uploads import UploadStore
from odysseus.tools.base import Tool, ToolContext, ToolError, ToolResult
from odysseus.tools.images import IMAGE_BYTES, MadeImage, MakeImage, image_tools

KEY = "sk-test-0123456789"
PAINTER = ImagesConfig(endpoint="e", model="painter")


def png() -> bytes:
    """A picture of one red dot."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@dataclass
class Studio:
    """The tool, and where its pictures go."""

    stores: Stores
    uploads: UploadStore
    context: ToolContext
    upstream: Upstream
    endpoints: list[EndpointConfig] = field(default_factory=list)
    settings: ImagesConfig = PAINTER

    def tool(self, make: MakeImage | None = None) -> Tool:
        make = make or picture_maker(self.settings, lambda: self.endpoints)
        assert make is not None
        (tool,) = image_tools(make, self.uploads)
        return tool

    async def call(self, tool: Tool | None = None, **given: Any) -> ToolResult:
        tool = tool or self.tool()
        result: ToolResult = await tool.run(tool.parse({"prompt": "a cat", **given}), self.context)
        return result

    async def kept(self) -> Sequence[Any]:
        return await self.stores.db.read("SELECT * FROM uploads")

    def reply(self, data: bytes) -> None:
        self.upstream.reply_json({"data": [{"b64_json": base64.b64encode(data).decode()}]})


@pytest.fixture
async def studio(tmp_path: Path, upstream: Upstream) -> AsyncIterator[Studio]:
    async with opened(tmp_path / "db.sqlite3") as stores:
        uploads = UploadStore(stores.db, tmp_path / "uploads", stores.clock)
        made = Studio(stores, uploads, context(tmp_path), upstream)
        made.endpoints.append(EndpointConfig(id="e", kind="openai", base_url=upstream.base_url, api_key=KEY))
        yield made


async def test_a_picture_is_kept_and_shown_behind_its_row(studio: Studio) -> None:
    studio.reply(png())
    result = await studio.call(prompt=" a red cat: on\na mat ", size="512x512")
    (row,) = await studio.kept()
    upload = await studio.uploads.get(row["id"])
    url = f"/api/upload/{upload.id}"
    assert result.after == [ImageMade(url, upload.id, "a red cat: on\na mat", "painter", "512x512")]
    assert (result.events, result.extras, result.exit_code) == ((), {"image_url": url}, 0)
    assert url in result.output
    assert (upload.name, upload.mime) == ("a-red-cat-on-a-mat.png", "image/png")
    assert studio.uploads.path(upload).read_bytes() == png()
    asked = studio.upstream.requests[0]
    assert asked.path == "/v1/images/generations"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert (asked.json["model"], asked.json["size"], asked.json["n"]) == ("painter", "512x512", 1)


async def test_the_usual_size_is_left_to_the_endpoint(studio: Studio) -> None:
    studio.reply(b"\xff\xd8\xff\xe0" + bytes(40))
    result = await studio.call()
    assert "size" not in studio.upstream.requests[0].json
    (made,) = result.after
    assert isinstance(made, ImageMade)
    assert (made.image_size, (await studio.uploads.get(made.image_id)).name) == ("", "a-cat.jpg")


def made(data: bytes, mime: str = "image/png") -> MakeImage:
    async def make(prompt: str, size: str) -> MadeImage:
        return MadeImage(data, mime, "painter")

    return make


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no picture of a known kind"),
        (b"<html>", "no picture of a known kind"),
        (b"", "no picture of a known kind"),
        (png() + bytes(IMAGE_BYTES), "over 20 MB"),
    ],
)
async def test_what_is_no_picture_or_too_large_is_not_kept(studio: Studio, data: bytes, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await studio.call(studio.tool(made(data)))
    assert await studio.kept() == []


async def test_the_type_of_a_picture_comes_from_its_bytes(studio: Studio) -> None:
    result = await studio.call(studio.tool(made(png(), "text/html")))
    (row,) = await studio.kept()
    assert (row["mime"], "image/png" in result.output) == ("image/png", True)


async def test_the_endpoints_own_words_are_told_without_its_key(studio: Studio) -> None:
    studio.upstream.reply_json({"error": {"message": f"Blocked for {KEY}."}}, status=400)
    with pytest.raises(OdysseusError, match=r"HTTP 400: Blocked for \(key\)\.") as told:
        await studio.call()
    assert studio.upstream.base_url not in told.value.message
    assert await studio.kept() == []


async def test_a_stop_ends_the_request_and_keeps_nothing(studio: Studio) -> None:
    studio.upstream.reply(before=[Hang()])
    task = asyncio.create_task(studio.call())
    await studio.upstream.arrived()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await studio.upstream.disconnected()
    assert await studio.kept() == []


async def test_the_endpoint_is_the_one_that_is_there_now(studio: Studio) -> None:
    tool = studio.tool()
    studio.endpoints[:] = [
        EndpointConfig(id="e", kind="openai-responses", base_url=f"{studio.upstream.origin}/v2", api_key="sk-new")
    ]
    studio.reply(png())
    await studio.call(tool)
    asked = studio.upstream.requests[0]
    assert (asked.path, asked.headers["Authorization"]) == ("/v2/images/generations", "Bearer sk-new")
    studio.endpoints.clear()
    with pytest.raises(ProviderError, match="setting images"):
        await studio.call(tool)


CANNOT: list[tuple[EndpointConfig, ImagesConfig, str]] = [
    (EndpointConfig(id="e", kind="local"), ImagesConfig(endpoint="e", model="m"), "'e' cannot make pictures"),
    (
        EndpointConfig(id="e", kind="anthropic", label="Far", base_url="http://far"),
        ImagesConfig(endpoint="e", model="m"),
        "'Far' cannot make pictures",
    ),
    (EndpointConfig(id="e", kind="openai", base_url="http://far"), ImagesConfig(endpoint="e"), "setting images"),
]


@pytest.mark.parametrize(("endpoint", "settings", "words"), CANNOT)
async def test_settings_that_cannot_work_are_named(
    studio: Studio, endpoint: EndpointConfig, settings: ImagesConfig, words: str
) -> None:
    studio.endpoints[:] = [endpoint]
    studio.settings = settings
    with pytest.raises(ProviderError, match=words):
        await studio.call()


async def test_the_first_model_of_the_endpoint_paints_when_none_is_named(studio: Studio) -> None:
    base = studio.upstream.base_url
    studio.endpoints[:] = [EndpointConfig(id="e", kind="openai", base_url=base, models=("first", "second"))]
    studio.settings = ImagesConfig(endpoint="e")
    studio.reply(png())
    await studio.call()
    assert studio.upstream.requests[0].json["model"] == "first"


def test_without_an_endpoint_nobody_makes_pictures() -> None:
    assert picture_maker(ImagesConfig(model="m"), list) is None


@pytest.mark.parametrize("given", [{"prompt": ""}, {"size": "big"}, {"size": "0x0"}, {"size": "99999x1"}, {"n": 2}])
async def test_wrong_arguments_ask_nobody(studio: Studio, given: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="Wrong arguments for generate_image"):
        await studio.call(**given)
    with pytest.raises(ToolError, match="Say in the prompt"):
        await studio.call(prompt=" \n ")
    assert studio.upstream.requests == []


async def test_what_a_picture_costs_is_told(studio: Studio) -> None:
    tool = studio.tool()
    assert (tool.effects, tool.policy, tool.reads_only) == (frozenset({"network", "write"}), "allow", False)
    assert tool.sends(tool.parse({"prompt": "x"}), lambda _text: True)
