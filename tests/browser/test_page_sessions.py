"""The side panel: chats are opened, renamed, moved, deleted and found from there."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Locator, expect
from upstream import DONE, Pause, finish, text_chunk, usage

from browser.bench import Seat, Tab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def _row(tab: Tab, session: str) -> Locator:
    return tab.page.locator(".session", has=tab.page.locator(f"a[href='#{session}']"))


async def _new(tab: Tab, text: str) -> str:
    """Start another chat; gives its id."""
    await tab.page.get_by_role("link", name="New chat").first.click()
    await expect(tab.answers).to_have_count(0)
    await tab.ask(text)
    return await tab.session()


async def _menu(tab: Tab, session: str) -> Locator:
    row = _row(tab, session)
    await row.hover()
    await row.locator(".more").click()
    return row


async def test_chats_are_listed_and_opened_from_the_list(seat: Seat) -> None:
    tab = await seat.tab()
    first = await _new(tab, "About Ithaca")
    second = await _new(tab, "About Troy")
    await expect(_row(tab, second).locator("a")).to_have_attribute("aria-current", "page")
    await _row(tab, first).locator("a").click()
    await expect(tab.questions).to_have_text("About Ithaca")
    assert await tab.session() == first
    await expect(tab.page).to_have_title("About Ithaca · Odysseus")
    await tab.page.go_back()
    await expect(tab.questions).to_have_text("About Troy")


async def test_a_chat_is_renamed_in_its_place(seat: Seat) -> None:
    tab = await seat.tab()
    session = await _new(tab, "First name")
    other = await seat.tab()
    await tab.front()
    row = await _menu(tab, session)
    await row.get_by_role("button", name="Rename").click()
    await tab.page.keyboard.type("Second <b>name</b>")
    await tab.page.keyboard.press("Enter")
    await expect(row.locator(".name")).to_have_text("Second <b>name</b>")
    await expect(_row(other, session).locator(".name")).to_have_text("Second <b>name</b>")
    await (await _menu(tab, session)).get_by_role("button", name="Rename").click()
    await tab.page.keyboard.type("Never mind")
    await expect(tab.page.get_by_label("New name")).to_have_attribute("maxlength", "120")
    await tab.page.keyboard.press("Escape")
    await expect(row.locator(".row a")).to_be_focused()
    await tab.page.reload()
    await expect(row.locator(".name")).to_have_text("Second <b>name</b>")


async def test_a_chat_is_deleted_only_when_confirmed(seat: Seat) -> None:
    tab = await seat.tab()
    session = await _new(tab, "Delete me")
    row = await _menu(tab, session)
    await row.get_by_role("button", name="Delete", exact=True).click()
    await row.get_by_role("button", name="Keep").click()
    await expect(row).to_have_count(1)
    await row.locator(".more").click()
    await row.get_by_role("button", name="Delete", exact=True).click()
    await row.get_by_role("button", name="Delete", exact=True).click()
    await expect(row).to_have_count(0)
    await expect(tab.questions).to_have_count(0)
    await tab.open(f"#{session}")
    await tab.page.reload()
    problem = tab.page.locator("#problem")
    await expect(problem).to_contain_text("does not exist")
    await expect(problem.get_by_role("button")).to_have_count(0)
    await problem.get_by_role("link", name="New chat").click()
    await expect(tab.page.locator(".greeting")).to_be_visible()


async def test_a_chat_is_exported_as_a_file(seat: Seat) -> None:
    tab = await seat.tab()
    row = await _menu(tab, await _new(tab, "Export me"))
    await row.get_by_role("button", name="Export", exact=True).click()
    async with tab.page.expect_download() as download:
        await row.get_by_role("link", name="Markdown").click()
    text = (await (await download.value).path()).read_text("utf-8")
    assert "Export me" in text
    assert "Hello from the upstream." in text


async def test_names_and_messages_are_searched_and_lead_to_their_place(seat: Seat) -> None:
    tab = await seat.tab()
    found = await _new(tab, "Where is the wine-dark sea?")
    await _new(tab, "Something else")
    search = tab.page.get_by_role("searchbox", name="Search chats, documents, memories and the library")
    await search.fill("dark")
    hits = tab.page.locator("#results a")
    await expect(hits.filter(has_text="wine-dark").first).to_be_visible()
    await expect(tab.page.locator("#sessions")).to_be_hidden()
    await hits.filter(has=tab.page.locator(".snippet")).first.click()
    await expect(tab.questions).to_have_text("Where is the wine-dark sea?")
    await expect(tab.questions).to_be_in_viewport()
    assert (await tab.session()).split("/")[0] == found
    await search.fill("nothing has these words")
    await expect(tab.page.locator("#results")).to_have_text("Nothing was found.")
    await search.press("Escape")
    await expect(tab.page.locator("#sessions")).to_be_visible()


async def test_a_chat_is_pinned_on_top_and_back(seat: Seat) -> None:
    tab = await seat.tab()
    first = await _new(tab, "The older one")
    await _new(tab, "The newer one")
    names = tab.page.locator("#sessions .name")
    await expect(names.first).to_have_text("The newer one")
    row = await _menu(tab, first)
    await row.get_by_role("button", name="Pin", exact=True).click()
    await expect(names.first).to_have_text("The older one")
    await expect(tab.page.locator("#sessions .day").first).to_have_text("Pinned")
    await (await _menu(tab, first)).get_by_role("button", name="Unpin").click()
    await expect(names.first).to_have_text("The newer one")


async def test_an_archived_chat_leaves_the_list_and_is_brought_back(seat: Seat) -> None:
    tab = await seat.tab()
    session = await _new(tab, "Put me away")
    row = await _menu(tab, session)
    await row.get_by_role("button", name="Archive").click()
    await expect(row).to_have_count(0)
    await expect(tab.page.locator("#title")).to_have_text("Put me away")
    await tab.ask("Still there?")
    await tab.page.reload()
    await expect(tab.page.locator("#title")).to_have_text("Put me away")
    await tab.page.get_by_role("button", name="Archived chats").click()
    await expect(row.locator(".name")).to_have_text("Put me away")
    await (await _menu(tab, session)).get_by_role("button", name="Bring back").click()
    await expect(row).to_have_count(0)
    await tab.page.get_by_role("button", name="Back to the chats").click()
    await expect(row.locator(".name")).to_have_text("Put me away")


async def test_an_answer_that_ended_unseen_is_marked_in_the_list_and_on_the_tab(seat: Seat) -> None:
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk("Working."), Pause(gate), text_chunk(" Done."), finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.send("Work alone")
    await expect(tab.text).to_have_text("Working.")
    session = await tab.session()
    row = _row(tab, session)
    await expect(row).to_have_attribute("data-running", "true")
    await tab.page.get_by_role("link", name="New chat").first.click()
    gate.set()
    await expect(row).to_have_attribute("data-unread", "true")
    await expect(row.locator("a")).to_contain_text("has a new answer")
    await expect(tab.page).to_have_title("(1) Odysseus")
    await expect(tab.page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("icon-unread"))
    await tab.page.reload()
    await expect(row).to_have_attribute("data-unread", "true")
    await row.locator("a").click()
    await expect(tab.text).to_have_text("Working. Done.")
    await expect(row).to_have_attribute("data-unread", "false")
    await expect(tab.page).to_have_title("Work alone · Odysseus")


async def test_an_answer_that_ends_while_no_tab_is_shown_is_notified_once(seat: Seat) -> None:
    await seat.context.grant_permissions(["notifications"])
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk("Working."), Pause(gate), text_chunk(" Done."), finish(), usage(), DONE)
    tab, other = await seat.tab(), await seat.tab()
    for one in (tab, other):
        await one.js("window.told = []; void (window.Notification.prototype.close = () => undefined)")
        await one.js(
            """() => {
                const Real = window.Notification;
                window.Notification = class extends Real {
                    constructor(...given) { super(...given); window.told.push(this); }
                };
            }"""
        )
    await tab.page.keyboard.press("Control+k")
    await tab.page.locator("#palette input").fill("notify me")
    await tab.page.keyboard.press("Enter")
    await expect(tab.status).to_have_text("You will be notified.")
    await tab.send("Work alone")
    await expect(tab.text).to_have_text("Working.")
    session = await tab.session()
    await expect(_row(other, session)).to_have_attribute("data-running", "true")
    await other.set_hidden(hidden=True)
    await tab.page.get_by_role("link", name="New chat").first.click()
    await tab.set_hidden(hidden=True)
    gate.set()
    for one in (tab, other):
        await expect(_row(one, session)).to_have_attribute("data-running", "false")
    assert await tab.js("told.length") + await other.js("told.length") == 1
    teller = tab if await tab.js("told.length") else other
    await teller.js("told[0].dispatchEvent(new Event('click'))")
    assert await teller.session() == session
