"""What goes with a message and what an answer was given: files, sources, the web switch, and what the model sees."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from PIL import Image
from playwright.async_api import Locator, Route, expect

from browser.bench import Seat, Tab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MARKUP = "<img src=x onerror=document.title='broken'>.txt"
TRANSFER = """([kind, files]) => {
    const data = new DataTransfer();
    for (const [name, type, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name, { type }));
    const more = { bubbles: true, cancelable: true };
    if (kind === "paste") {
        const event = new ClipboardEvent("paste", { ...more, clipboardData: data });
        document.querySelector("#message").dispatchEvent(event);
    } else for (const type of ["dragover", "drop"]) {
        document.querySelector("#log").dispatchEvent(new DragEvent(type, { ...more, dataTransfer: data }));
    }
}"""
LOADED = "[...document.querySelectorAll('.sent img')].every((image) => image.complete && image.naturalWidth > 0)"


def _png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 20), "red").save(out, "PNG")
    return out.getvalue()


def _waiting(tab: Tab) -> Locator:
    return tab.page.locator("#files .file")


def _sent(tab: Tab) -> Locator:
    return tab.page.locator("article.question .sent .file")


async def _attach(tab: Tab, *files: tuple[str, bytes]) -> None:
    chosen: Any = [{"name": name, "mimeType": "text/plain", "buffer": data} for name, data in files]
    await tab.page.locator("#attach-files").set_input_files(chosen)


async def _read(tab: Tab, count: int) -> None:
    """Wait until so many files have been read; the first one starts what reads them."""
    await expect(tab.page.locator("#files .file[data-state='ready']")).to_have_count(count, timeout=30_000)


async def _transfer(tab: Tab, kind: Literal["paste", "drop"], files: Sequence[tuple[str, str, bytes]]) -> None:
    await tab.js(TRANSFER, [kind, [[name, mime, list(data)] for name, mime, data in files]])


async def test_files_go_with_a_message_and_stay_with_it(seat: Seat) -> None:
    tab = await seat.tab()
    await _attach(tab, (MARKUP, b"The harbour is closed on Mondays."), ("red.png", _png()))
    await _read(tab, 2)
    await expect(_waiting(tab).first).to_contain_text("33 B · 33 characters read")
    await expect(_waiting(tab).last).to_contain_text("picture, 40 × 20")
    await tab.ask("When is it closed?")
    await expect(_waiting(tab)).to_have_count(0)
    assert "The harbour is closed on Mondays." in json.dumps(seat.upstream.requests[-1].json["messages"])
    for _ in range(2):
        await expect(tab.questions).to_have_text("When is it closed?")
        await expect(_sent(tab)).to_have_count(2)
        await expect(_sent(tab).first.locator("strong")).to_have_text(MARKUP)
        await expect(_sent(tab).first).to_contain_text("33 characters read")
        picture = _sent(tab).last.get_by_role("img", name="red.png")
        await expect(picture).to_be_visible()
        assert str(await picture.get_attribute("src")).startswith("/api/upload/")
        await tab.until(LOADED)
        said = await _sent(tab).all_inner_texts()
        await tab.page.reload()
    await expect(_sent(tab)).to_have_count(2)
    await expect(_sent(tab)).to_have_text(said, use_inner_text=True)
    assert await tab.page.title() != "broken"


async def test_files_can_be_dropped_and_pasted_and_need_no_words(seat: Seat) -> None:
    tab = await seat.tab()
    await expect(tab.page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    await _transfer(tab, "drop", [("dropped.txt", "text/plain", b"dropped words")])
    await _transfer(tab, "paste", [("image.png", "image/png", _png())])
    await expect(_waiting(tab).locator("strong")).to_have_text(["dropped.txt", "image.png"])
    await expect(tab.page.locator(".drop")).to_be_hidden()
    await _read(tab, 2)
    await expect(tab.page.locator("#files-said")).to_have_text("2 files are attached.")
    await tab.field.press("Enter")
    await expect(tab.answers).to_have_count(1)
    await tab.is_done()
    await expect(tab.questions).to_be_hidden()
    await expect(_sent(tab)).to_have_count(2)
    assert "dropped words" in json.dumps(seat.upstream.requests[-1].json["messages"])


async def test_a_file_that_is_refused_says_why_and_holds_the_message_back(seat: Seat) -> None:
    tab = await seat.tab()

    async def refuse(route: Route) -> None:
        await route.fulfill(status=413, json={"error": "A file is larger than the limit."})

    await tab.page.route("**/api/upload", refuse)
    await tab.field.fill("Read it.")
    await _attach(tab, ("big.txt", b"much"))
    await expect(_waiting(tab)).to_contain_text("A file is larger than the limit.")
    await tab.field.press("Enter")
    await expect(tab.page.locator("#files-said")).to_contain_text("Remove the file")
    await expect(tab.questions).to_have_count(0)
    await tab.page.unroute("**/api/upload")
    await _waiting(tab).get_by_role("button", name="Try again").click()
    await _read(tab, 1)
    await expect(_waiting(tab)).to_contain_text("4 characters read")
    await _waiting(tab).get_by_role("button", name="Remove big.txt").press("Enter")
    await expect(_waiting(tab)).to_have_count(0)
    await expect(tab.field).to_be_focused()
    await tab.ask("Read it.")
    await expect(_sent(tab)).to_have_count(0)


async def test_a_file_on_its_way_shows_how_far_it_is_and_can_be_taken_back(seat: Seat) -> None:
    tab = await seat.tab()
    gate = asyncio.Event()

    async def hold(route: Route) -> None:
        await gate.wait()
        await route.abort()

    await tab.page.route("**/api/upload", hold)
    await _attach(tab, ("slow.txt", b"slow"))
    await expect(_waiting(tab).get_by_role("progressbar", name="Sending slow.txt")).to_be_visible()
    await tab.field.fill("Now?")
    await expect(tab.page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    await _waiting(tab).get_by_role("button", name="Remove slow.txt").click()
    await expect(_waiting(tab)).to_have_count(0)
    await expect(tab.page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    gate.set()


async def test_files_wait_in_their_own_chat_and_come_back_with_a_question(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("The first chat.")
    await _attach(tab, ("mine.txt", b"my words"))
    await _read(tab, 1)
    await expect(_waiting(tab)).to_contain_text("8 characters read")
    await tab.page.locator("#side .new").click()
    await expect(_waiting(tab)).to_have_count(0)
    await tab.page.go_back()
    await expect(_waiting(tab)).to_have_count(1)
    seat.upstream.reply(b'{"error": {"message": "Not allowed."}}', status=400)
    await tab.send("What is in it?")
    await expect(tab.page.locator("article.question .outcome").last).to_be_visible()
    await expect(_waiting(tab)).to_have_count(0)
    await tab.page.locator("#log").get_by_role("button", name="Edit").click()
    await expect(_waiting(tab)).to_have_count(1)
    await tab.field.press("Enter")
    await expect(_sent(tab)).to_have_count(1)
    await tab.is_done()
    assert "my words" in json.dumps(seat.upstream.requests[-1].json["messages"])
