"""What goes with a message and what an answer was given: files, sources, the web switch, and what the model sees."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import pytest_asyncio
from aiohttp import web
from PIL import Image
from playwright.async_api import Browser, Locator, Route, expect
from sites import Site, serve_site
from upstream import Upstream

from browser.bench import Program, Seat, Tab, play, seated
from browser.test_page_looks import SMALL, fits

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


PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site() -> AsyncIterator[Site]:
    """A searcher that finds one page, and that page."""
    async with serve_site() as running:
        row = {"title": "Ferries", "url": f"{running.origin}/ferries", "content": "They leave at nine."}

        async def play(request: web.Request) -> web.StreamResponse:
            return web.Response(text=json.dumps({"results": [row]}), content_type="application/json")

        running.play("/search", play)
        running.page("/ferries", "The ferries leave at nine.", "text/plain; charset=utf-8")
        yield running


@pytest.fixture(scope="module")
def extra(site: Site) -> str:
    """`server.py` that searches the web at the site."""
    return f'[web]\nsearxng_url = "{site.origin}"\nallow_hosts = ["{site.exempt}"]\n'


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


async def _paste_text(tab: Tab, text: str) -> None:
    """Paste from the clipboard, as a person does."""
    await tab.seat.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await tab.js("(text) => navigator.clipboard.writeText(text)", text)
    await tab.field.press("ControlOrMeta+v")


async def test_a_paste_that_no_message_takes_becomes_a_file_at_once(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.field.fill("What is this?")
    await _paste_text(tab, "word " * 60_000)
    await _read(tab, 1)
    await expect(_waiting(tab)).to_contain_text("pasted text.txt")
    await expect(tab.status).to_have_text("Too long for a message: it is attached as a file.")
    await expect(tab.field).to_have_value("What is this?")


async def test_a_long_paste_may_become_a_file(seat: Seat) -> None:
    tab = await seat.tab()
    offer = tab.page.get_by_role("group", name="Pasted text")
    long = "A line of the log.\n" * 450
    await tab.field.fill("What is this? ")
    await _paste_text(tab, "short " * 200)
    await tab.field.press("ControlOrMeta+z")
    await _paste_text(tab, long)
    await expect(offer).to_contain_text("A long text: 8,550 characters.")
    await expect(tab.field).to_have_value("What is this? " + long)
    await offer.get_by_role("button", name="Keep it as text").press("Enter")
    await expect(tab.field).to_be_focused()
    await expect(tab.field).to_have_value("What is this? " + long)
    await tab.field.press("ControlOrMeta+z")
    await expect(tab.field).to_have_value("What is this? ")
    await _paste_text(tab, long)
    await expect(offer).to_be_visible()
    await tab.field.press("ControlOrMeta+z")
    await expect(offer).to_be_hidden()
    await _paste_text(tab, long)
    await offer.get_by_role("button", name="Attach as a file").click()
    await expect(offer).to_be_hidden()
    await expect(tab.field).to_have_value("What is this? ")
    await _read(tab, 1)
    await expect(_waiting(tab)).to_contain_text("pasted text.txt")
    await _paste_text(tab, long)
    await offer.get_by_role("button", name="Attach as a file").click()
    await _read(tab, 2)
    await expect(_waiting(tab).last).to_contain_text("pasted text 2.txt")
    await tab.field.press("Enter")
    await expect(tab.answers).to_have_count(1)
    await tab.is_done()
    await expect(tab.questions).to_have_text("What is this?")
    assert "A line of the log." in json.dumps(seat.upstream.requests[-1].json["messages"])


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


async def test_files_wait_in_their_own_chat_and_stay_with_a_question_that_is_edited(seat: Seat) -> None:
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
    await tab.page.locator("#log").get_by_role("button", name="Edit", exact=True).click()
    words = tab.page.get_by_role("textbox", name="Your message")
    await words.fill("And what is in it?")
    await words.press("Enter")
    await expect(tab.answers).to_have_count(2)
    await expect(_sent(tab)).to_have_count(1)
    await tab.is_done()
    assert "my words" in json.dumps(seat.upstream.requests[-1].json["messages"])


def _sources(tab: Tab) -> Locator:
    return tab.answers.last.locator("details.sources")


def _known(tab: Tab) -> Locator:
    return tab.answers.last.locator("details.memories")


async def _know(tab: Tab, folder: Path) -> None:
    """Keep a memory, and a file in the library."""
    note = folder / "quay.md"
    note.write_text("# The quay\n\nThe ferries to Ithaca leave from the northern quay.\n")
    kept = await tab.page.request.post(tab.seat.url + "api/memories", data={"text": "I live in Ithaca", "pinned": True})
    added = await tab.page.request.post(tab.seat.url + "api/library", data={"path": str(note)})
    assert kept.ok
    assert added.ok
    await tab.until("fetch('/api/library').then((r) => r.json()).then(({ items }) => items[0].state === 'ready')")


async def _play(tab: Tab, *frames: dict[str, Any]) -> None:
    await play(tab, "chat", *frames)


async def test_the_sources_of_an_answer_are_told_live_and_after_a_reload(
    seat: Seat, site: Site, tmp_path: Path
) -> None:
    tab = await seat.tab()
    await _know(tab, tmp_path)
    await tab.ask("From which quay do the ferries to Ithaca leave?")
    searches = len(site.requests)
    await expect(_sources(tab).locator("summary")).to_have_text("Sources (1)")
    await tab.page.get_by_role("button", name="Search the web").click()
    await tab.ask("From which quay do the ferries to Ithaca leave, and when?")
    assert len(site.requests) > searches
    for _ in range(2):
        await expect(_sources(tab).locator("summary")).to_have_text("Sources (2)")
        await expect(_sources(tab).locator("li").first).to_be_hidden()
        await _sources(tab).locator("summary").press("Enter")
        entries = _sources(tab).locator("li")
        link = entries.nth(0).get_by_role("link", name="Ferries")
        await expect(link).to_have_attribute("href", f"{site.origin}/ferries")
        await expect(link).to_have_attribute("target", "_blank")
        await expect(link).to_have_attribute("rel", "noopener noreferrer")
        await expect(entries.nth(0)).to_contain_text("They leave at nine.")
        await expect(entries.nth(1)).to_contain_text("quay.md")
        await expect(entries.nth(1)).to_contain_text("northern quay")
        said = await entries.all_inner_texts()
        await tab.page.reload()
    await expect(tab.page.get_by_role("button", name="Search the web")).to_have_attribute("aria-pressed", "true")
    await _sources(tab).locator("summary").click()
    await expect(_sources(tab).locator("li")).to_have_text(said, use_inner_text=True)


async def test_the_memories_of_an_answer_are_told_and_lead_to_where_they_are_edited(seat: Seat) -> None:
    tab = await seat.tab()
    for text, pinned in (("I sail at dawn", True), ("My boat is named Argo", False)):
        kept = await seat.context.request.post(seat.url + "api/memories", data={"text": text, "pinned": pinned})
        assert kept.ok
    await tab.ask("What is my boat named?")
    for _ in range(2):
        await expect(_known(tab).locator("summary")).to_have_text(re.compile(r"Memories \(\d\)"))
        await _known(tab).locator("summary").press("Enter")
        rows = _known(tab).locator("li")
        await expect(rows.filter(has_text="I sail at dawn")).to_contain_text("Pinned")
        await expect(rows.filter(has_text="My boat is named Argo")).to_contain_text("Recalled")
        said = await rows.all_inner_texts()
        await tab.page.reload()
    await _known(tab).locator("summary").click()
    await expect(_known(tab).locator("li")).to_have_text(said, use_inner_text=True)
    await _known(tab).get_by_role("link", name="Edit").click()
    await expect(tab.page.get_by_role("dialog", name="Settings")).to_contain_text("I sail at dawn")
    await tab.page.keyboard.press("Escape")
    await expect(tab.answers).to_have_count(1)


async def test_sources_are_walked_through_with_the_keyboard(seat: Seat) -> None:
    tab = await seat.tab()
    rows = [{"url": f"http://127.0.0.1/{name}", "title": name, "snippet": "It is so."} for name in ("one", "two")]
    await _play(tab, {"type": "web_sources", "data": rows}, {"type": "block", "index": 0, "open": False, "html": "x"})
    await _sources(tab).locator("summary").press("Enter")
    for name in ("one", "two"):
        await expect(_sources(tab).get_by_role("link", name=name)).to_be_visible()
        await tab.page.keyboard.press("Tab")
        await expect(_sources(tab).get_by_role("link", name=name)).to_be_focused()
    await tab.page.keyboard.press("Escape")
    await expect(_sources(tab).get_by_role("link", name="one")).to_be_hidden()
    await expect(_sources(tab).locator("summary")).to_be_focused()


async def test_a_source_that_is_no_web_page_cannot_be_opened(seat: Seat) -> None:
    tab = await seat.tab()
    rows = [{"url": url, "title": MARKUP} for url in ("javascript:alert(1)", "data:text/html,x", "/api/health", 7)]
    await _play(tab, {"type": "web_sources", "data": rows}, {"type": "block", "index": 0, "open": False, "html": "x"})
    await _sources(tab).locator("summary").click()
    await expect(_sources(tab).locator("li")).to_have_count(4)
    await expect(_sources(tab).locator("bdi")).to_have_text([MARKUP] * 4)
    await expect(_sources(tab).locator("a, img")).to_have_count(0)


async def test_what_was_left_out_is_told_in_one_line_each(seat: Seat) -> None:
    tab = await seat.tab()
    trimmed = {"context_length": 4096, "messages_before": 12, "messages_after": 7}
    await _play(
        tab,
        {"type": "compacted", "context_length": 4096, "messages_compacted": 8},
        {"type": "context_trimmed", "data": {**trimmed, "tokens_before": 5000, "tokens_after": 3000}},
        {"type": "block", "index": 0, "open": False, "html": "<p>Hello.</p>"},
    )
    lines = await tab.answers.last.locator(".remark").all_inner_texts()
    assert len(lines) == 2
    assert "summarised for the model, to fit its window of 4,096 tokens" in lines[0]
    assert lines[1].startswith("The 5 oldest messages were left out")


async def test_what_the_model_sees_can_be_looked_at(seat: Seat) -> None:
    tab = await seat.tab()
    opener = tab.page.get_by_role("button", name="What the model sees")
    await expect(opener).to_be_hidden()
    await _attach(tab, ("notes.txt", b"The harbour is closed on Mondays."))
    await _read(tab, 1)
    await tab.ask("When is it closed?")
    await opener.press("Enter")
    dialog = tab.page.get_by_role("dialog", name="What the model sees")
    await expect(dialog.get_by_role("row", name="Files, passages, pages, memories")).to_be_visible()
    await expect(dialog.get_by_role("progressbar", name="How full the window is")).to_be_visible()
    question = dialog.locator(".seen-message").nth(1)
    await question.locator("summary").press("Enter")
    await expect(question).to_contain_text("The harbour is closed on Mondays.")
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(opener).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("phone", [False, True])
async def test_files_sources_and_the_dialog_fit_their_window(
    browser: Browser, program: Program, upstream: Upstream, phone: bool, scheme: Literal["light", "dark"]
) -> None:
    async with seated(browser, program.url, upstream, color_scheme=scheme, **(PHONE if phone else {})) as seat:
        tab = await seat.tab()
        await _attach(tab, ("long" * 40 + ".txt", b"words " * 900), ("red.png", _png()), ("x.bin", bytes(range(256))))
        await _read(tab, 3)
        await fits(tab)
        await tab.page.get_by_role("button", name="Search the web").click()
        await tab.ask("From which quay do the ferries to Ithaca leave?")
        await _sources(tab).locator("summary").click()
        await fits(tab)
        if phone:
            link = await _sources(tab).get_by_role("link").bounding_box()
            assert link
            assert link["height"] >= 44
            await tab.page.get_by_role("button", name="Agent").tap()
            await fits(tab)
            assert await tab.js(SMALL) == []
            await expect(tab.page.locator("#picker-button")).to_be_in_viewport(ratio=1)
        await tab.page.get_by_role("button", name="What the model sees").click()
        await expect(tab.page.locator("#seen .tokens")).to_be_visible()
        await fits(tab)
