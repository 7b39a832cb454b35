"""The page without a pointer: Tab reaches every control, each shows the focus, and what happens is said once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import expect
from upstream import DONE, Pause, calls, finish, reasoning_chunk, text_chunk, usage

from browser.bench import Seat, Tab
from browser.test_page_accessible import STILL, VIEWS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

END = (finish(), usage(), DONE)
EXTRA = 20
"""Stops beside the controls: areas that scroll, and the browser's own."""

WALK = """() => {
    const kinds = "a[href], button, input, select, textarea, summary, iframe, [tabindex], [contenteditable]";
    const top = document.querySelector("dialog:modal") ?? document;
    const look = (node, part) => {
        const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor } = getComputedStyle(node, part);
        return [outlineStyle === "none" || [outlineWidth, outlineColor], boxShadow, borderColor];
    };
    const near = (node, depth = 4) => (node && depth ? [node, ...near(node.parentElement, depth - 1)] : []);
    const parts = [null, "::before", "::after"];
    const styles = (node) => String(near(node).flatMap((one) => parts.map((part) => look(one, part))));
    const focus = document.activeElement;
    const isLit = (node) => near(node).some((one) => one !== document.body && one.contains(focus));
    const isFree = (node) => node.tabIndex >= 0 && !node.disabled && !node.closest("[inert]");
    const isStop = (node) => isFree(node) && node.checkVisibility() && (node.type !== "radio" || node.checked);
    const stops = [...top.querySelectorAll(kinds)].filter(isStop);
    const left = new Map(stops.map((node) => [node, isLit(node) ? null : styles(node)]));
    left.delete(focus);
    window.walk = { styles, left, dull: [] };
}"""
STEP = """() => {
    const node = document.activeElement;
    const { left, styles, dull } = window.walk;
    if (left.get(node) === styles(node) && node.checkVisibility()) dull.push(node.outerHTML.slice(0, 120));
    left.delete(node);
    return [...left.keys()].filter((one) => one.checkVisibility()).length;
}"""
LEFT = """[...window.walk.left.keys()].filter((node) => node.checkVisibility())
    .map((node) => node.outerHTML.slice(0, 120))"""
HEARD = """() => {
    window.heard = [];
    const line = document.getElementById("status");
    const hear = () => line.textContent && window.heard.push(line.textContent);
    new MutationObserver(hear).observe(line, { childList: true, characterData: true, subtree: true });
}"""


@pytest.mark.parametrize("view", list(VIEWS))
async def test_every_control_is_reached_by_tab_and_shows_its_focus(seat: Seat, view: str) -> None:
    tab = await seat.tab()
    await tab.page.emulate_media(reduced_motion="reduce")
    await VIEWS[view](tab, seat.upstream)
    await tab.js(STILL)
    await tab.js(WALK)
    controls = await tab.js("window.walk.left.size")
    for _ in range(controls + EXTRA):
        await tab.page.keyboard.press("Tab")
        if not await tab.js(STEP):
            break
    assert await tab.js(LEFT) == []
    assert await tab.js("window.walk.dull") == []


async def test_a_chat_is_led_by_keyboard_from_end_to_end(seat: Seat) -> None:
    seat.upstream.reply(reasoning_chunk("A thought."), text_chunk("The `first` answer."), *END)
    tab = await seat.tab()
    press, type_ = tab.page.keyboard.press, tab.page.keyboard.type
    await type_("One line")  # the field has the focus when the page opens
    await press("Shift+Enter")
    await type_("and another")
    await press("Enter")
    await expect(tab.questions).to_have_text("One line\nand another")
    await tab.is_done()
    await tab.page.locator("#scroller").press("Shift+Escape")
    await expect(tab.field).to_be_focused()
    seat.upstream.reply(text_chunk("The second answer."), *END)
    await to_control(tab, "Regenerate", "Shift+Tab")
    await press("Enter")
    await expect(tab.text).to_have_text("The second answer.")
    await tab.is_done()
    await expect(tab.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await press("Control+k")
    await expect(tab.page.locator("#palette input")).to_be_focused()
    await type_("new chat")
    await press("Enter")
    await expect(tab.answers).to_have_count(0)
    await expect(tab.field).to_be_focused()


async def to_control(tab: Tab, name: str, key: str) -> None:
    """Press the key until the control with this name has the focus."""
    for _ in range(40):
        await tab.page.keyboard.press(key)
        if await tab.js("(document.activeElement.ariaLabel ?? document.activeElement.textContent).trim()") == name:
            return
    raise AssertionError(f"{name} is not reached by {key}")


async def test_the_status_line_speaks_at_the_start_at_each_tool_and_at_the_end(seat: Seat) -> None:
    seat.upstream.reply(calls(("ls", {"path": "."})))
    first, second = asyncio.Event(), asyncio.Event()
    many = [text_chunk(f"Word {number} ") for number in range(50)]
    seat.upstream.reply(Pause(first), *many, Pause(second), *many, *END)
    tab = await seat.tab()
    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    await tab.js(HEARD)
    await tab.send("What is here?")
    await expect(tab.page.locator(".act")).to_be_visible()
    first.set()
    await expect(tab.status).to_have_text("Answering…")
    second.set()
    await expect(tab.status).to_have_text("Answer finished.")
    heard = [words for words in await tab.js("window.heard") if words != "Listing the folder…"]  # it is a short one
    assert heard == ["Waiting for the answer…", "Listed the folder.", "Answering…", "Answer finished."]


async def test_the_page_can_be_installed(seat: Seat) -> None:
    tab = await seat.tab()
    tools = await seat.context.new_cdp_session(tab.page)
    told: Any = await tools.send("Page.getAppManifest")
    assert told["url"]
    assert told["errors"] == []
    errors: Any = await tools.send("Page.getInstallabilityErrors")
    assert [one["errorId"] for one in errors["installabilityErrors"] if one["errorId"] != "in-incognito"] == []
