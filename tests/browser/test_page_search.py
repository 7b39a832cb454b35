"""The search of the side: every kind of hit, the keyboard through them, the way to each, what is said without."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Route, expect
from upstream import Upstream

from browser.bench import Program, Seat, Tab, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PHONE = {"viewport": {"width": 390, "height": 800}}
WAIT = 60.0
"""Seconds for the library's model to load."""


def field(tab: Tab) -> Locator:
    return tab.page.locator("#search")


def hits(tab: Tab, group: str = "") -> Locator:
    inside = tab.page.locator("#results")
    return (inside.get_by_role("group", name=group) if group else inside).locator(".hit")


def focused(tab: Tab) -> Locator:
    return tab.page.locator(":focus")


async def make(tab: Tab, what: str, **fields: Any) -> Any:
    made = await tab.page.request.post(f"{tab.seat.url}api/{what}", data=fields)
    assert made.ok, await made.text()
    return await made.json()


async def search(tab: Tab, words: str) -> None:
    """Type, and wait for what was found."""
    async with tab.page.expect_response(lambda answer: "/api/search/all" in answer.url):
        await field(tab).fill(words)
    await expect(tab.page.locator("#results > *").first).to_be_attached()


async def test_every_kind_is_found_under_its_heading_and_leads_to_its_place(seat: Seat, tmp_path: Path) -> None:
    tab = await seat.tab()
    await tab.ask("Where do zephyrs blow?")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "winds.md").write_text("# West\n\nA zephyr is a light wind.\n")
    await make(tab, "library", path=str(tmp_path / "notes"))
    await make(tab, "documents", title="Letter", content="Dear all, the zephyr has come.")
    for number in range(3):
        await make(tab, "memories", text=f"Likes zephyr number {number}.")
    found = "fetch('/api/search/all?q=zephyr').then((r) => r.json()).then(({ library }) => library.items.length)"
    async with asyncio.timeout(WAIT):
        while not await tab.js(found):
            await tab.js("new Promise(requestAnimationFrame)")
    await search(tab, "ZÉPHYR")
    headings = tab.page.locator("#results h2")
    await expect(headings).to_have_text(["Chats", "Messages", "Documents", "Memories", "Library"])
    await expect(hits(tab, "Chats").locator("mark")).to_have_text(["zephyr"])
    await expect(hits(tab, "Documents")).to_have_text("LetterDear all, the zephyr has come.")
    await hits(tab, "Documents").click()
    await expect(tab.page.get_by_role("textbox", name="Text")).to_have_value("Dear all, the zephyr has come.")
    await hits(tab, "Memories").nth(1).click()
    marked = tab.page.locator("#settings [aria-current=true]")
    await expect(marked).to_contain_text("Likes zephyr number 1.")
    await expect(marked).to_be_focused()
    await expect(marked).to_be_in_viewport()
    await tab.page.keyboard.press("Escape")
    await hits(tab, "Library").click()
    await expect(marked).to_contain_text("Found in it: winds.md")
    await expect(marked).to_be_in_viewport()
    await tab.page.keyboard.press("Escape")
    await hits(tab, "Messages").click()
    await expect(tab.questions).to_be_in_viewport()


async def test_the_keyboard_goes_through_all_hits(seat: Seat) -> None:
    tab = await seat.tab()
    for number in range(7):
        await make(tab, "memories", text=f"Has a cutlass of type {number}.")
    await make(tab, "documents", title="Cutlass", content="")
    await field(tab).focus()
    await search(tab, "cutlass")
    await tab.page.keyboard.press("ArrowDown")
    await expect(focused(tab)).to_have_text("Cutlass")
    await tab.page.keyboard.press("ArrowUp")
    await expect(field(tab)).to_be_focused()
    for _ in range(6):
        await tab.page.keyboard.press("ArrowDown")
    await expect(focused(tab)).to_contain_text("type 2.")
    await tab.page.keyboard.press("End")
    await expect(focused(tab)).to_have_accessible_name("More: Memories")
    await tab.page.keyboard.press("Enter")
    await expect(hits(tab, "Memories")).to_have_count(7)
    await expect(focused(tab)).to_contain_text("type 1.")
    await tab.page.keyboard.press("Escape")
    await expect(field(tab)).to_be_focused()
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("#document .doc-title")).to_have_value("Cutlass")
    await field(tab).press("Escape")
    await expect(tab.page.locator("#results")).to_be_hidden()


async def test_enter_before_the_hits_are_there_opens_the_first_of_them(seat: Seat) -> None:
    tab = await seat.tab()
    await make(tab, "documents", title="Sextant", content="")
    await field(tab).focus()
    await field(tab).press_sequentially("sexta")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("#document .doc-title")).to_have_value("Sextant")


async def test_an_answer_that_comes_late_does_not_take_the_place_of_a_newer_one(seat: Seat) -> None:
    tab = await seat.tab()
    await make(tab, "memories", text="Sails a sloop.")
    await make(tab, "memories", text="Sails a ketch.")
    first = asyncio.Event()
    shown = asyncio.Event()

    async def hold(route: Route) -> None:
        first.set()
        await shown.wait()
        await route.continue_()

    await tab.page.route("**/api/search/all?q=sloop", hold)
    await field(tab).fill("sloop")
    await first.wait()
    await field(tab).fill("ketch")
    await expect(hits(tab)).to_have_text("Sails a ketch.")
    shown.set()
    await tab.js("fetch('/api/health')")
    await expect(hits(tab)).to_have_text("Sails a ketch.")


async def test_nothing_found_and_a_server_that_is_away_are_said(seat: Seat) -> None:
    tab = await seat.tab()
    await search(tab, "nobody wrote this")
    results = tab.page.locator("#results")
    await expect(results).to_have_text("Nothing was found.")
    await expect(tab.page.locator("#side [role=status]")).to_have_text("Nothing was found.")
    await tab.page.route("**/api/search/all*", lambda route: route.abort())
    await field(tab).fill("again")
    await expect(results).to_have_text("The server cannot be reached. Is it still running?")
    await tab.page.unroute("**/api/search/all*")
    await search(tab, '*🚀"(NEAR ' + "long 東京 " * 2000)
    await expect(results).to_have_text("Nothing was found.")


async def test_a_memory_that_is_gone_is_said_to_be(seat: Seat) -> None:
    tab = await seat.tab("#settings/memories/0123456789ab")
    await expect(tab.page.locator("#settings .said")).to_have_text("This memory is not there any more.")


async def test_on_a_phone_the_drawer_makes_room_for_what_was_found(
    browser: Browser, program: Program, upstream: Upstream
) -> None:
    async with seated(browser, program.url, upstream, **PHONE) as seat:
        tab = await seat.tab()
        await make(tab, "documents", title="Barometer", content="It falls.")
        await make(tab, "memories", text="Owns a barometer.")
        for group, there in (("Documents", "#document .doc-text"), ("Memories", "#settings [aria-current=true]")):
            await tab.page.locator("#menu").click()
            await search(tab, "barom")
            await hits(tab, group).click()
            await expect(tab.page.locator("body")).to_have_attribute("data-drawer", "closed")
            await expect(tab.page.locator(there)).to_be_in_viewport()
            if group == "Documents":
                await tab.page.get_by_role("button", name="Close the document").click()


async def test_the_palette_offers_documents_by_their_titles(seat: Seat) -> None:
    tab = await seat.tab()
    await make(tab, "documents", title="Quadrant of brass", content="")
    async with tab.page.expect_response("**/api/documents?q="):
        await tab.page.keyboard.press("Control+k")
    await tab.page.keyboard.type("quadr")
    option = tab.page.locator("#palette [role=option]").first
    await expect(option).to_contain_text("Quadrant of brass")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("#document .doc-title")).to_have_value("Quadrant of brass")
