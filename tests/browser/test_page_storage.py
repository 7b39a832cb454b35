"""What is written is never lost: where the browser keeps nothing, where a chat is gone, where another was first."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Route, expect
from upstream import DONE, Pause, finish, text_chunk, usage

from browser.bench import Seat, Tab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

END = (finish(), usage(), DONE)
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"
FORBIDDEN = """for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"])
    Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });"""
MISSING = """delete window.BroadcastChannel;
delete window.Notification;
for (const name of ["locks", "clipboard", "serviceWorker"])
    Object.defineProperty(Navigator.prototype, name, { get: () => undefined });"""


async def _go(tab: Tab, session: str) -> None:
    await tab.js("(id) => { location.hash = id; }", session)
    await expect(tab.page.locator("#log")).to_have_attribute("aria-busy", "false")


@pytest.mark.parametrize("trouble", [FULL, FORBIDDEN, MISSING], ids=["full", "forbidden", "missing"])
async def test_a_browser_that_keeps_nothing_loses_nothing_while_the_page_is_open(seat: Seat, trouble: str) -> None:
    await seat.context.add_init_script(trouble)
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk("One two"), Pause(gate), text_chunk(" three."), *END)
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await tab.send("And this behind it.")
    await expect(tab.page.locator("#queue")).to_contain_text("And this behind it.")
    gate.set()
    await expect(tab.questions).to_have_text(["Count.", "And this behind it."])
    await tab.is_done()
    session = await tab.session()
    await tab.field.fill("A draft")
    await _go(tab, "")
    await expect(tab.field).to_have_value("")
    await _go(tab, session)
    await expect(tab.field).to_have_value("A draft")
    await tab.page.get_by_role("button", name="Agent", exact=True).click()
    await expect(tab.page.locator("#plan-mode")).to_be_visible()
    assert len(seat.faults) == len(set(seat.faults)), "each trouble is told once"
    seat.expected = ["cannot be kept", "cannot be read"]


@pytest.mark.parametrize("way", ["another chat", "a reload", "another version"])
async def test_a_question_that_was_half_written_anew_is_there_again(seat: Seat, way: str) -> None:
    tab = await seat.tab()
    await tab.ask("Where is Itaca?")
    session = await tab.session()
    other = await seat.tab(f"#{session}")
    await tab.front()
    await tab.questions.hover()
    await tab.page.get_by_role("button", name="Edit message").click()
    words = tab.page.get_by_role("textbox", name="Your message")
    await words.fill("Where is Ithaca, and")
    if way == "another chat":
        await _go(tab, "")
        await expect(words).to_have_count(0)
        await _go(tab, session)
    elif way == "a reload":
        await tab.page.reload()
    else:
        await other.front()
        await other.questions.hover()
        await other.page.get_by_role("button", name="Edit message").click()
        await other.page.get_by_role("textbox", name="Your message").fill("Who is Ithaca?")
        await other.page.keyboard.press("Enter")
        await tab.front()
        await expect(tab.questions).to_have_text(["Who is Ithaca?"])
        await tab.is_done()
        await tab.page.locator(".question [data-step=before]").click()
    await expect(words).to_have_value("Where is Ithaca, and")
    await words.press("Escape")
    await tab.page.reload()
    await expect(tab.questions).to_have_text(["Where is Itaca?"])
    await expect(words).to_have_count(0)


async def test_a_chat_that_another_tab_deletes_says_so_and_what_is_written_goes_with_the_next(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("Hello.")
    await tab.field.fill("Half")
    other = await seat.tab(f"#{await tab.session()}")
    await other.page.locator("#sessions .more").first.click()
    await other.page.locator(".row-actions").get_by_role("button", name="Delete", exact=True).click()
    await other.page.locator(".row-actions").get_by_role("button", name="Delete", exact=True).click()
    await tab.front()
    alert = tab.page.locator("#alert")
    await expect(alert).to_contain_text("This chat does not exist any more. What you write is kept for a new one.")
    await expect(tab.questions).to_have_text("Hello.")
    await tab.send("Half written")
    await expect(alert).to_contain_text("does not exist any more")
    await expect(tab.field).to_have_value("Half written")
    await tab.page.get_by_role("link", name="New chat").first.click()
    await expect(tab.questions).to_have_count(0)
    await expect(tab.field).to_have_value("Half written")
    await tab.ask("Half written")


async def test_a_message_on_its_way_keeps_only_its_own_chat_waiting(seat: Seat) -> None:
    accepted = asyncio.Event()

    async def slowly(route: Route) -> None:
        await accepted.wait()
        await route.continue_()

    before = len(seat.upstream.requests)
    tab = await seat.tab()
    await tab.ask("First.")
    session = await tab.session()
    await tab.page.route("**/api/chat_stream*", slowly)
    async with tab.page.expect_request("**/api/chat_stream*"):
        await tab.send("Second.")
    await _go(tab, "")
    await expect(tab.field).to_be_editable()
    await tab.field.fill("Meanwhile")
    await _go(tab, session)
    await expect(tab.field).to_have_value("Second.")
    await tab.field.press("Enter")
    accepted.set()
    await expect(tab.answers).to_have_count(2)
    await tab.is_done()
    await expect(tab.questions).to_have_text(["First.", "Second."])
    await expect(tab.field).to_have_value("")
    await _go(tab, "")
    await expect(tab.field).to_have_value("Meanwhile")
    assert len(seat.upstream.requests) == before + 2
