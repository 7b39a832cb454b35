"""Exports over HTTP: Markdown, JSON and a page, of a chat that holds all there is."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from html.parser import HTMLParser
from typing import Any

import aiohttp
import pytest
from exporting import EVIL, exported, full_chat, png, send_file
from PIL import Image as Picture
from serving import Server
from upstream import Upstream, answer

from odysseus.archive.conversation import Since
from odysseus.archive.conversation import exported as exported_message
from odysseus.store.messages import Message
from odysseus.web import export_files
from odysseus.web.exporting import BATCH


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


async def test_a_page_holds_the_whole_chat_and_no_markup_of_it(server: Server, upstream: Upstream) -> None:
    page = (await exported(server, await full_chat(server, upstream), "html")).decode()
    elements = Elements(page)
    assert elements.all("script") == []
    assert [one["src"] for one in elements.all("img")] == [f"data:image/png;base64,{base64.b64encode(png()).decode()}"]
    assert not any(name.startswith("on") for _, attributes in elements.found for name in attributes)
    assert elements.all("link") == []
    for said in ("Ä &lt;b&gt;chat", "notes &amp; more.txt (10 bytes)", "list_dir", "First a look.", "no such model"):
        assert said in page
    assert '<span class="added">+new &lt;script&gt;' in page
    assert page.count('<details class="thinking">') == 1
    assert "<h1>Title</h1>" in page
    assert "12 tokens in, 34 out" in page


async def test_a_long_chat_is_whole_and_in_order(server: Server, upstream: Upstream) -> None:
    session = await server.session(name="long")
    for number in range(BATCH + 1):
        upstream.reply(answer(f"a{number}."))
        await (await server.send(session, f"q{number}.")).rest()
    said = [word for number in range(BATCH + 1) for word in (f"q{number}.", f"a{number}.")]
    told = json.loads(await exported(server, session))
    assert [message["content"] for message in told["messages"]] == said
    for kind in ("md", "html"):
        text = (await exported(server, session, kind)).decode()
        places = [text.index(word) for word in said]
        assert places == sorted(places)


async def test_markdown_has_the_calls_in_their_places(server: Server, upstream: Upstream) -> None:
    text = (await exported(server, await full_chat(server, upstream), "md")).decode()
    places = [text.index(said) for said in ("# Ä <b>chat</b>", "- File: dot.png", "First a look.", "**list_dir**")]
    places += [text.index(said) for said in ("Then this.", "+new ", "Written.", "no such model")]
    assert places == sorted(places)
    assert EVIL in text


async def test_json_says_what_it_is_and_has_the_files_when_they_are_wished_for(
    server: Server, upstream: Upstream
) -> None:
    session = await full_chat(server, upstream)
    told = json.loads(await exported(server, session))
    assert (told["format"], told["version"], told["session"]["id"]) == ("odysseus-chat", 1, session)
    assert [(one["name"], "data" in one) for one in told["files"]] == [("dot.png", False), ("notes & more.txt", False)]
    whole = json.loads(await exported(server, session, "json", "&files=1"))
    assert [base64.b64decode(one["data"]) for one in whole["files"]] == [png(), b"some notes"]
    assert "api_key" not in json.dumps(whole)


def test_what_endpoints_seal_for_themselves_stays_here() -> None:
    call = {"id": "c", "name": "f", "arguments": "{}", "state": {"signature": "sealed"}}
    said = {
        "role": "assistant",
        "content": "I look.",
        "calls": [call],
        "state": {"blocks": "sealed"},
        "reasoning": "sealed",
    }
    nudge = {"role": "user", "content": "sealed"}
    entries = [said, {"role": "tool", "content": "seen", "id": "c"}, nudge]
    told = exported_message(Message("m", "s", 1, "assistant", "I look.", {"transcript": entries}, 0.0), Since())
    assert "sealed" not in json.dumps(told)
    assert told["metadata"]["transcript"] == [
        {"role": "assistant", "content": "I look.", "calls": [{"id": "c", "name": "f", "arguments": "{}"}]},
        {"role": "tool", "content": "seen", "id": "c"},
    ]


async def test_files_that_are_too_large_together_are_named_only(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await server.session()
    ids = [await send_file(server, f"{size}.txt", b"x" * size) for size in (6, 7, 3)]
    await (await server.send(session, "these", attachments=ids)).rest()
    monkeypatch.setattr(export_files, "FILES_BYTES", 10)
    told = json.loads(await exported(server, session, "json", "&files=1"))
    assert [(one["name"], "data" in one) for one in told["files"]] == [
        ("6.txt", True),
        ("7.txt", False),
        ("3.txt", True),
    ]


async def test_a_large_picture_is_made_smaller_for_the_page(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await server.session()
    out = io.BytesIO()
    Picture.effect_noise((400, 300), 90).save(out, "PNG")
    large = out.getvalue()
    await (await server.send(session, "see", attachments=[await send_file(server, "wide.png", large)])).rest()
    monkeypatch.setattr(export_files, "PICTURE_BYTES", 20_000)
    (image,) = Elements((await exported(server, session, "html")).decode()).all("img")
    assert str(image["src"]).startswith("data:image/jpeg;base64,")
    assert image["alt"] == "wide.png"


async def test_an_export_of_an_unknown_kind_is_a_400(server: Server) -> None:
    assert "html" in (await server.get(f"/api/session/{await server.session()}/export?fmt=pdf", 400))["error"]


async def test_an_empty_chat_can_be_exported_in_all_kinds(server: Server) -> None:
    session = await server.session()
    assert json.loads(await exported(server, session))["messages"] == []
    assert b"# Chat" in await exported(server, session, "md")
    assert b"<title>Chat</title>" in await exported(server, session, "html")
    async with server.http.head(f"{server.url}/api/session/{session}/export") as response:
        assert response.status == 200


async def test_an_export_that_fails_in_the_middle_is_cut_off(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    await (await server.send(session)).rest()

    def spoil(db: Any) -> None:
        db.execute("UPDATE messages SET created_at = -1e15")

    await server.services.db.write(spoil)
    with pytest.raises(aiohttp.ClientPayloadError):
        async with asyncio.timeout(5):
            await exported(server, session, "json")
