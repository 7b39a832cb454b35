"""A chat with all that an export tells: files, reasoning, calls with a diff, an approval, failures."""

from __future__ import annotations

import io
import json
from typing import Any

import aiohttp
from PIL import Image as Picture
from playing import agent, card, decide, workspace
from serving import Server
from upstream import Upstream, answer, calls, finish, reasoning_chunk, text_chunk, usage

EVIL = '<script>document.title="taken"</script><img src="https://evil.example/x.png" onerror="alert(1)">'


def png(color: str = "red", size: tuple[int, int] = (8, 6)) -> bytes:
    """A small picture."""
    out = io.BytesIO()
    Picture.new("RGB", size, color).save(out, "PNG")
    return out.getvalue()


async def send_file(server: Server, name: str, data: bytes) -> str:
    """Keep a file; gives its id."""
    form = aiohttp.FormData(quote_fields=False, default_to_multipart=True)
    form.add_field("files", io.BytesIO(data), filename=name)
    return str((await server.call("POST", "/api/upload", data=form))["files"][0]["id"])


async def full_chat(server: Server, upstream: Upstream) -> str:
    """The session."""
    session = await server.session(name="Ä <b>chat</b>")
    picture = await send_file(server, "dot.png", png())
    notes = await send_file(server, "notes & more.txt", b"some notes")
    upstream.reply(reasoning_chunk(f"hm {EVIL}"), text_chunk(f"# Title\n\n`code` {EVIL}"), finish(), usage())
    await (await server.send(session, f"look {EVIL}", attachments=[picture, notes])).rest()
    folder = workspace(server, session)
    upstream.reply(calls(("list_dir", {"path": "."}), text="First a look."))
    upstream.reply(calls(("write_file", {"path": "a.txt", "content": f"new {EVIL}\n"}), text="Then this.", prefix="w"))
    asked = card(await agent(server, session, "write the file"))
    upstream.reply(answer("Written."))
    await decide(server, session, asked["approval_id"], "approve")
    assert (folder / "a.txt").is_file()
    upstream.reply(json.dumps({"error": {"message": "no such model"}}).encode(), status=404)
    await (await server.send(session, "and this fails", mode="chat")).rest()
    return session


async def exported(server: Server, session: str, kind: str = "json", query: str = "") -> bytes:
    """The file that an export gives."""
    async with server.http.get(f"{server.url}/api/session/{session}/export?fmt={kind}{query}") as response:
        assert response.status == 200, await response.text()
        return await response.read()


async def taken_in(server: Server, body: bytes, status: int = 200) -> Any:
    """What an import answers."""
    headers = {"Content-Type": "application/json"}
    return await server.call("POST", "/api/sessions/import", status, data=body, headers=headers)
