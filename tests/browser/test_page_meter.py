"""The meter by the composer: how full the model's window is, by the server's own figures, and the sheet behind it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect
from upstream import DONE, Pause, Upstream, calls, finish, text_chunk, usage

from browser.bench import Program, Seat, Tab, seated
from browser.test_page_looks import SMALL, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WINDOW = 8192
"""What the server takes for a model in its own network that tells no window."""
LARGE = 65_536
LOOKS = {1280: {"width": 1280, "height": 800}, 390: {"width": 390, "height": 844}}
CONTEXT = "(id) => fetch(`/api/session/${id}/context`).then((answer) => answer.json())"
REMEMBER = """(text) => fetch("/api/memories", { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ text, pinned: true }) }).then(({ status }) => status)"""
ROWS = "(all) => all.map((row) => [row.cells[0].textContent, Number(row.cells[1].textContent.replaceAll(',', ''))])"


@pytest.fixture(scope="module")
def extra(upstream: Upstream) -> str:
    """`server.py` with a second endpoint, whose window is large."""
    large = f'[[endpoints]]\nid = "large"\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
    return f'{large}label = "Large"\ncontext_length = {LARGE}\nmodels = ["fake-model"]\n'


def _meter(tab: Tab) -> Locator:
    return tab.page.get_by_role("button", name="Context:")


def _sheet(tab: Tab) -> Locator:
    return tab.page.get_by_role("group", name="Context", exact=True)


def _words(tab: Tab) -> Locator:
    return tab.page.locator("#context-said")


async def _seen(tab: Tab) -> Any:
    """What the server tells of the open chat."""
    return await tab.js(CONTEXT, await tab.session())


def _name(tokens: int, window: int = WINDOW, about: str = "about ") -> str:
    percent = 100 * tokens / window
    share = "under 1 %" if percent < 1 else f"{round(percent)} %"
    return f"Context: {about}{share} of {window:,} tokens used"


async def _fill(tab: Tab, tokens: int) -> None:
    """An answer of about so many tokens."""
    tab.seat.upstream.reply(text_chunk("word " * (tokens * 100 // 120)), finish(), DONE)
    await tab.ask("More.")


@pytest.mark.parametrize("width", LOOKS)
async def test_the_meter_tells_what_the_server_tells_and_its_sheet_adds_up(
    browser: Browser, program: Program, upstream: Upstream, width: int
) -> None:
    phone = {"has_touch": True, "is_mobile": True} if width < 500 else {}
    async with seated(browser, program.url, upstream, viewport=LOOKS[width], **phone) as seat:
        tab = await seat.tab()
        await expect(_meter(tab)).to_have_count(0)
        assert await tab.js(REMEMBER, f"The user has a boat of {width} feet.") == 200
        await _fill(tab, 900)
        seen = await _seen(tab)
        await expect(_meter(tab)).to_have_accessible_name(_name(seen["used"]))
        await expect(tab.page.locator(".meter-text")).to_have_text(f"{round(100 * seen['used'] / WINDOW)} %")
        await fits(tab)
        await _meter(tab).press("Enter")
        sheet = _sheet(tab)
        await expect(sheet).to_contain_text(f"about {seen['used']:,} of {WINDOW:,} tokens")
        await expect(sheet.get_by_role("progressbar", name="How full the window is")).to_be_visible()
        rows = dict(await sheet.locator("tbody tr").evaluate_all(ROWS))
        assert sum(rows.values()) == WINDOW
        assert rows["Messages"] == seen["sources"]["history"]
        assert rows["Files, passages, pages, memories"] == seen["sources"]["given"] > 0
        assert (rows["Kept free for the answer"], rows["Free"]) == (seen["answer_room"], seen["free"])
        await expect(sheet).to_contain_text(f"Above {seen['summarised_from']:,} tokens older messages are summarised")
        known = len(await tab.js("fetch('/api/memories').then((answer) => answer.json())"))
        told = "1 memory was given" if known == 1 else f"{known} memories were given"
        await expect(sheet).to_contain_text(f"{told} with the last question.")
        await fits(tab)
        if phone:
            assert await tab.js(SMALL) == []
        await tab.page.keyboard.press("Escape")
        await expect(sheet).to_be_hidden()
        await expect(_meter(tab)).to_be_focused()
        await tab.page.reload()
        await expect(_meter(tab)).to_have_accessible_name(_name(seen["used"]))
        await _meter(tab).click()
        await sheet.get_by_role("button", name="What the model sees").click()
        await expect(tab.page.get_by_role("dialog", name="What the model sees")).to_be_visible()


async def test_what_is_being_written_is_added_as_an_estimate(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("Hello.")
    used = (await _seen(tab))["used"]
    await expect(_meter(tab)).to_have_accessible_name(_name(used))
    await tab.field.fill("abcd" * 1000)
    await expect(_meter(tab)).to_have_accessible_name(_name(used + 1000))
    await tab.field.fill("\u6f22" * 1000)
    await expect(_meter(tab)).to_have_accessible_name(_name(used + 800))
    await _meter(tab).click()
    rows = dict(await _sheet(tab).locator("tbody tr").evaluate_all(ROWS))
    assert rows["What you are writing, about"] == 800
    assert sum(rows.values()) == WINDOW
    await tab.page.keyboard.press("Escape")
    await tab.field.fill("")
    await expect(_meter(tab)).to_have_accessible_name(_name(used))


async def test_a_window_that_fills_is_told_in_words_until_older_messages_are_summarised(seat: Seat) -> None:
    tab = await seat.tab()
    level = tab.page.locator("#context")
    await _fill(tab, 1500)
    await expect(level).to_have_attribute("data-level", "calm")
    await _fill(tab, 2400)
    await expect(level).to_have_attribute("data-level", "warn")
    await expect(_words(tab)).to_be_hidden()
    await _fill(tab, 400)
    soon = "Older messages will be summarised for the model soon. They stay here."
    await expect(_words(tab)).to_have_text(soon)
    assert str(await _meter(tab).get_attribute("title")).endswith(soon)
    await _fill(tab, 500)
    seen = await _seen(tab)
    assert seen["used"] > seen["summarised_from"]
    await expect(_words(tab)).to_contain_text("Older messages will be summarised for the model with the next one.")
    tab.seat.upstream.reply(text_chunk("- They said words."), finish(), DONE)
    await tab.ask("And now?")
    await expect(tab.page.locator(".remark")).to_contain_text("The older messages were summarised")
    await expect(_words(tab)).to_be_hidden()
    await expect(level).to_have_attribute("data-level", "calm")
    await _meter(tab).click()
    await expect(_sheet(tab).get_by_role("row", name="Summary of older messages")).to_be_visible()


async def test_a_window_that_is_too_full_still_adds_up(seat: Seat) -> None:
    tab = await seat.tab()
    await _fill(tab, 7000)
    await _meter(tab).click()
    await expect(_sheet(tab).get_by_role("row", name="Left for the answer")).to_be_visible()
    rows = dict(await _sheet(tab).locator("tbody tr").evaluate_all(ROWS))
    assert rows["Left for the answer"] == WINDOW - (await _seen(tab))["used"]
    assert sum(rows.values()) == WINDOW
    await expect(_sheet(tab).get_by_role("button", name="What the model sees")).to_be_in_viewport(ratio=1)


async def test_another_model_has_another_window(seat: Seat) -> None:
    tab = await seat.tab()
    await _fill(tab, 1500)
    used = (await _seen(tab))["used"]
    await expect(_meter(tab)).to_have_accessible_name(_name(used))
    await tab.page.locator("#picker-button").click()
    group = tab.page.locator("#picker-list section, #picker-list > *").filter(has_text="Large")
    await group.get_by_role("button", name="fake-model").last.click()
    await expect(_meter(tab)).to_have_accessible_name(_name(used, LARGE))


async def test_the_rounds_of_an_agent_move_the_meter(seat: Seat) -> None:
    gate = asyncio.Event()
    tab = await seat.tab()
    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    await tab.ask("Hello.")
    await expect(_meter(tab)).to_be_visible()
    call = calls(("calculate", {"expression": "6*7"}))
    seat.upstream.reply(*call[:-1], usage(4000, 96), DONE)
    seat.upstream.reply(Pause(gate), text_chunk("42."), finish(), DONE)
    await tab.send("Six times seven?")
    await expect(_meter(tab)).to_have_accessible_name(_name(4096))
    gate.set()
    await tab.is_done()
    await expect(_meter(tab)).to_have_accessible_name(_name((await _seen(tab))["used"]))


async def test_what_is_stored_nowhere_has_no_figures(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("Hello.")
    await expect(_meter(tab)).to_be_visible()
    await tab.page.locator("#uses-button").click()
    await tab.page.get_by_role("switch", name="Incognito").check()
    await expect(_meter(tab)).to_be_hidden()
    await tab.page.get_by_role("switch", name="Incognito").uncheck()
    await expect(_meter(tab)).to_be_visible()
