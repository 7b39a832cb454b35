"""The composer's menu of what a message may use: what is sent, kept for each chat, and incognito from end to end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect
from upstream import DONE, Pause, Upstream, calls, finish, text_chunk, usage

from browser.bench import Program, Seat, Tab, seated
from browser.test_page_looks import SMALL, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def menu(tab: Tab) -> Locator:
    return tab.page.get_by_role("group", name="What this message may use")


def switch(tab: Tab, name: str) -> Locator:
    return menu(tab).get_by_role("switch", name=name)


async def opened(tab: Tab) -> None:
    await tab.page.locator("#uses-button").click()
    await expect(menu(tab)).to_be_visible()


def sends(tab: Tab) -> list[dict[str, Any]]:
    """The bodies of the messages that the page sends from now on."""
    found: list[dict[str, Any]] = []
    tab.page.on(
        "request", lambda one: found.append(json.loads(one.post_data or "{}")) if "chat_stream?" in one.url else None
    )
    return found


async def test_the_menu_is_used_by_keyboard_and_says_what_is_changed(seat: Seat) -> None:
    tab = await seat.tab()
    sent = sends(tab)
    await tab.page.locator("#uses-button").focus()
    await tab.page.keyboard.press("Enter")
    await expect(switch(tab, "The web")).to_be_focused()
    await tab.page.keyboard.press("Space")
    await menu(tab).get_by_label("Age of web results").select_option("week")
    await switch(tab, "Memories").focus()
    await tab.page.keyboard.press("Space")
    await tab.page.keyboard.press("Escape")
    button = tab.page.locator("#uses-button")
    await expect(button).to_be_focused()
    await expect(button).to_have_attribute(
        "aria-label", "What this message may use: web results of the last week, no memories"
    )
    await expect(tab.page.locator("#use-web")).to_have_attribute("aria-pressed", "true")
    await tab.ask("What is new?")
    assert {name: sent[0].get(name) for name in ("use_web", "time_filter", "no_memory", "use_rag", "incognito")} == {
        "use_web": True,
        "time_filter": "week",
        "no_memory": True,
        "use_rag": None,
        "incognito": None,
    }
    await tab.page.reload()
    await expect(button).to_have_attribute("data-changed", "true")
    await tab.open()
    await tab.page.get_by_role("link", name="New chat").first.click()
    await expect(button).to_have_attribute("data-changed", "false")


async def test_the_library_is_offered_where_there_is_one(seat: Seat) -> None:
    tab = await seat.tab()
    await opened(tab)
    await expect(switch(tab, "Memories")).to_be_visible()
    await expect(switch(tab, "The library")).to_be_hidden()
    await expect(switch(tab, "Programs")).to_be_hidden()
    form: Any = {"files": {"name": "a.txt", "mimeType": "text/plain", "buffer": b"The ferry leaves at nine."}}
    kept = await (await seat.context.request.post(f"{seat.url}api/upload", multipart=form)).json()
    added = await seat.context.request.post(f"{seat.url}api/library", data={"upload_id": kept["files"][0]["id"]})
    await tab.page.keyboard.press("Escape")
    sent = sends(tab)
    await opened(tab)
    await switch(tab, "The library").uncheck()
    await tab.ask("When does it leave?")
    assert sent[0]["use_rag"] is False
    await seat.context.request.delete(f"{seat.url}api/library/{(await added.json())['id']}")


async def test_programs_are_taken_from_the_agent(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.page.get_by_role("button", name="Agent", exact=True).click()
    await opened(tab)
    await switch(tab, "Programs").uncheck()
    await tab.ask("Look around.")
    offered = {tool["function"]["name"] for tool in seat.upstream.requests[-1].json["tools"]}
    assert "ls" in offered
    assert not offered & {"bash", "python"}


async def test_incognito_is_said_and_nothing_of_it_is_stored(seat: Seat) -> None:
    tab = await seat.tab()
    await opened(tab)
    await switch(tab, "Incognito").check()
    await expect(switch(tab, "Memories")).to_be_disabled()
    await tab.page.keyboard.press("Escape")
    await expect(tab.page.get_by_text("Incognito: nothing of this is stored.")).to_be_visible()
    await tab.field.fill("A secret word.")
    assert "secret" not in json.dumps(await tab.js("({ ...localStorage })"))
    await tab.ask("A secret word.")
    session = await tab.session()
    stored = await (await seat.context.request.get(f"{seat.url}api/history/{session}")).json()
    assert stored["history"] == []
    await tab.set_hidden(True)
    await tab.set_hidden(False)  # the page looks at the history again
    await tab.ask("Another one.")
    await expect(tab.questions).to_have_text(["A secret word.", "Another one."])
    await expect(tab.answers).to_have_count(2)
    assert "A secret word." in json.dumps(seat.upstream.requests[-1].json["messages"])
    await opened(tab)
    await switch(tab, "Incognito").uncheck()
    await expect(tab.page.locator("#incognito")).to_be_hidden()
    await tab.page.keyboard.press("Escape")
    await tab.ask("A plain one.")
    await expect(tab.questions).to_have_text(["A secret word.", "Another one.", "A plain one."])
    await tab.page.reload()
    await expect(tab.questions).to_have_text(["A plain one."])


async def test_a_reload_in_an_incognito_answer_shows_its_question_too(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("A plain one.")
    await opened(tab)
    await switch(tab, "Incognito").check()
    await tab.page.keyboard.press("Escape")
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk("It stays"), Pause(gate), text_chunk(" secret."), finish(), usage(), DONE)
    await tab.send("A secret word.")
    await expect(tab.text.last).to_have_text("It stays")
    await tab.page.reload()
    for _ in range(2):
        await expect(tab.questions).to_have_text(["A plain one.", "A secret word."])
        await expect(tab.text.last).to_have_text("It stays")
        await tab.set_hidden(True)
        await tab.set_hidden(False)
    gate.set()
    await tab.is_done()
    await expect(tab.text.last).to_have_text("It stays secret.")
    await expect(tab.questions).to_have_text(["A plain one.", "A secret word."])


async def test_the_agent_turns_switches(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.page.get_by_role("button", name="Agent", exact=True).click()
    wishes = [{"toggle_name": "web", "state": True}, {"toggle_name": "rag", "state": False}]
    wishes += [{"toggle_name": "bash", "state": False}]
    seat.upstream.reply(calls(*[("ui_control", {"action": "toggle", **wish}) for wish in wishes]))
    seat.upstream.reply(text_chunk("Done."))
    await tab.send("Set it up.")
    await expect(tab.page.locator("#uses-button")).to_have_attribute(
        "aria-label", "What this message may use: no library, no programs"
    )
    await expect(tab.page.locator("#use-web")).to_have_attribute("aria-pressed", "true")


async def test_the_menu_fits_a_phone(browser: Browser, program: Program, upstream: Upstream) -> None:
    options: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    async with seated(browser, program.url, upstream, color_scheme="dark", **options) as seat:
        tab = await seat.tab()
        await tab.page.get_by_role("button", name="Agent", exact=True).tap()
        await tab.page.locator("#uses-button").tap()
        await expect(menu(tab)).to_be_in_viewport(ratio=1)
        box = await menu(tab).bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        await fits(tab)
        assert await tab.js(SMALL.replace('"button, nav a, input"', '"#uses :is(button, label, select)"')) == []
