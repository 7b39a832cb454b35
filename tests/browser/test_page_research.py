"""Research in the page: the switch, the line above its answer, and the dialog with its jobs and reports."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from little_web import FACTS, QUESTION, LittleWeb, Researcher, little_web, settings
from playwright.async_api import expect

from browser.bench import Program, Seat, launched

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
LONG = 30_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pages() -> AsyncIterator[LittleWeb]:
    async with little_web() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def upstream() -> AsyncIterator[Researcher]:
    async with Researcher() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def program(
    upstream: Researcher, pages: LittleWeb, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Program]:
    """`server.py` with the little web."""
    async with launched(tmp_path_factory.mktemp("program"), settings(pages, upstream, pages=16)) as running:
        yield running


async def test_a_question_is_researched_in_a_chat(seat: Seat, upstream: Researcher) -> None:
    tab = await seat.tab()
    await tab.page.locator("#uses-button").click()
    await tab.page.get_by_role("switch", name="Research").check()
    await tab.page.keyboard.press("Escape")
    await expect(tab.field).to_have_attribute("placeholder", "What shall be found out?")
    upstream.hold = lambda kind, _: kind == "write a report"
    await tab.send(QUESTION)
    line = tab.page.locator("article.answer .research")
    await expect(line).to_contain_text("Writing the report", timeout=LONG)
    await expect(line).to_contain_text("findings")
    await expect(tab.status).to_have_text("Writing the report…")
    await expect(tab.field).to_have_attribute("placeholder", "Write a message")
    await tab.stop.click()
    await expect(line).to_contain_text("ended without a report")

    upstream.hold = lambda _kind, _asked: False
    await tab.page.locator("#uses-button").click()
    await tab.page.get_by_role("switch", name="Research").check()
    await tab.page.keyboard.press("Escape")
    await tab.send(QUESTION)
    await expect(line.nth(1)).to_contain_text("Researched on the web", timeout=LONG)
    for again in (False, True):
        if again:
            await tab.page.reload()
        await expect(line.nth(1)).to_contain_text("16 pages")
        await expect(tab.text.nth(1)).to_contain_text(FACTS[6])
        await expect(tab.page.get_by_text("Sources (16)")).to_be_visible()
    report = await line.nth(1).get_by_role("link").get_attribute("href")
    if folder := os.environ.get("ODYSSEUS_SHOTS"):
        await tab.page.screenshot(path=f"{folder}/chat.png")
        await line.nth(1).scroll_into_view_if_needed()
        await tab.page.screenshot(path=f"{folder}/line.png")
    await tab.page.goto(seat.url.rstrip("/") + str(report))
    await expect(tab.page.get_by_role("heading", name=QUESTION)).to_be_visible()
    await tab.page.locator("a.cite").first.click()
    await expect(tab.page.locator(".findings > li:target")).to_be_in_viewport()
    if folder:
        await tab.page.screenshot(path=f"{folder}/report.png")
    seat.check()


@pytest.mark.parametrize("width", [390, 1280])
async def test_the_dialog_starts_shows_cancels_and_deletes(seat: Seat, upstream: Researcher, width: int) -> None:
    tab = await seat.tab()
    await tab.page.set_viewport_size({"width": width, "height": 800})
    if width < 760:
        await tab.page.locator("#menu").click()
    await tab.page.get_by_role("button", name="Research").click()
    dialog = tab.page.get_by_role("dialog", name="Research")
    upstream.hold = lambda kind, _: kind == "write a report"
    await dialog.get_by_role("textbox").fill(f"How is {width}?")
    await dialog.get_by_role("button", name="Start").click()
    job = dialog.get_by_role("listitem").filter(has_text=f"How is {width}?").first
    await expect(job).to_contain_text("Writing the report", timeout=LONG)
    await job.get_by_text("What was found").click()
    await expect(job).to_contain_text(FACTS[6])
    if folder := os.environ.get("ODYSSEUS_SHOTS"):
        await tab.page.screenshot(path=f"{folder}/dialog-{width}.png")
    assert await dialog.evaluate("node => node.scrollWidth <= node.clientWidth")
    await job.get_by_role("button", name="Cancel").click()
    await expect(job).to_contain_text("Cancelled")
    await job.get_by_role("button", name="Delete").click()
    await expect(dialog.get_by_text(f"How is {width}?")).to_have_count(0)
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    upstream.hold = lambda _kind, _asked: False
    seat.check()
