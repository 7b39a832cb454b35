"""A chat whose model makes pictures: over a real socket, drawn alike by the stream and by a reload."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from serving import Server, config_of, serving
from upstream import Hang, Upstream

from odysseus.providers.image_models import makes_pictures

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
MADE = {"data": [{"b64_json": base64.b64encode(PNG).decode()}]}
CONFIG = """
[chat]
endpoint = "up"
model = "fake-model"
[[endpoints]]
id = "up"
kind = "openai"
base_url = "{url}"
image_models = ["brush"]
"""


async def painting(server: Server) -> str:
    """A new session whose model makes pictures."""
    return await server.session(endpoint_id="up", model="brush")


def config(upstream: Upstream) -> str:
    return CONFIG.format(url=upstream.base_url)


async def test_a_message_to_an_image_model_is_answered_with_a_picture(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(config_of(config(upstream)), tmp_path) as server:
        upstream.reply_json(MADE)
        session = await painting(server)
        stream = await (await server.send(session, "A red dot")).rest()
        wanted = ["model_info", "delta", "generated_image", "usage", "metrics", "message_saved", "chat_terminal"]
        assert [kind for kind in stream.kinds if kind in wanted] == wanted
        image = stream.one("generated_image")
        assert (image["image_prompt"], image["image_model"]) == ("A red dot", "brush")
        async with server.http.get(server.url + image["url"]) as response:
            assert (response.content_type, await response.read()) == ("image/png", PNG)
        (asked,) = upstream.requests
        assert (asked.path, asked.json["model"], asked.json["prompt"]) == (
            "/v1/images/generations",
            "brush",
            "A red dot",
        )
        assert (await server.history(session))[1]["metadata"]["images"][0]["url"] == image["url"]
        upstream.reply_json(MADE)
        await (await server.send(session, "Now a blue one")).rest()
        assert upstream.requests[1].json["prompt"] == "Now a blue one"


async def test_another_model_goes_on_in_the_same_chat(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(config_of(config(upstream)), tmp_path) as server:
        upstream.reply_json(MADE)
        session = await painting(server)
        await (await server.send(session, "A red dot")).rest()
        await (await server.send(session, "What was it?", selected_model="fake-model")).rest()
        said = [message["content"] for message in upstream.requests[1].json["messages"]]
        assert said[-3:] == ["A red dot", "Made by brush.", "What was it?"]


async def test_what_an_image_model_cannot_be_asked_is_refused_before_anything_is_stored(
    upstream: Upstream, tmp_path: Path
) -> None:
    async with serving(config_of(config(upstream)), tmp_path) as server:
        session = await painting(server)
        for fields in ({"incognito": True}, {"use_research": True}):
            body = {"session": session, "message": "A dot", **fields}
            assert "model" in (await server.post("/api/chat_stream", body, 400))["error"]
        assert await server.history(session) == []
        assert upstream.requests == []


async def test_a_refusal_is_told_and_a_stop_ends_the_request(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(config_of(config(upstream)), tmp_path) as server:
        upstream.reply_json({"error": {"message": "The prompt is not allowed."}}, status=400)
        session = await painting(server)
        refused = await (await server.send(session, "A dot")).rest()
        assert "not allowed" in refused.frames[-1].data["error"]
        upstream.reply(Hang())
        going = await (await server.send(session, "A dot")).until(lambda stream: "model_info" in stream.kinds)
        await server.stop(session, going.run_id)
        await going.rest()
        assert going.one("chat_terminal")["data"]["status"] == "stopped"
        await upstream.disconnected(1)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-image-1", True),
        ("black-forest-labs/FLUX.1-dev", True),
        ("dall-e-3", True),
        ("stabilityai/stable-diffusion-xl", True),
        ("sdxl-turbo", True),
        ("brush", True),
        ("gpt-5", False),
        ("influxdb-coder", False),
        ("imagenet-chat", False),
        ("llava-1.6", False),
    ],
)
def test_image_models_are_known_by_name_or_by_the_settings(model: str, expected: bool) -> None:
    (endpoint,) = config_of(CONFIG.format(url="http://127.0.0.1:1/v1")).endpoints
    assert makes_pictures(endpoint, model) is expected
