"""The palette, the keys and their help sheet, and finding words in a chat."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Locator, Route, expect
from upstream import DONE, Hang, Pause, Upstream, answer, finish, text_chunk, usage

from browser.bench import Program, Seat, Tab, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def _palette(tab: Tab, typed: str = "") -> Locator:
    await tab.page.keyboard.press("Control+k")
    field = tab.page.get_by_role("combobox", name="Find a command, a chat or a document")
    await expect(field).to_be_focused()
    await tab.page.keyboard.type(typed)
    return tab.page.locator("#palette [role=option]")


async def test_commands_and_chats_are_found_by_a_few_letters(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("About Ithaca")
    first = await tab.session()
    options = await _palette(tab, "new ch")
    await expect(options.first).to_contain_text("New chat")
    await expect(options.first).to_have_attribute("aria-selected", "true")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator(".greeting")).to_be_visible()
    options = await _palette(tab, "ithc")
    await expect(options).to_have_count(1)
    chosen = await tab.page.locator("#palette input").get_attribute("aria-activedescendant")
    assert chosen == await options.first.get_attribute("id")
    await tab.page.keyboard.press("Enter")
    await expect(tab.questions).to_have_text("About Ithaca")
    assert await tab.session() == first
    options = await _palette(tab, "qqqq")
    await expect(options).to_have_count(0)
    await expect(tab.page.locator("#palette p")).to_have_text("Nothing has this name.")
    await tab.page.keyboard.press("Escape")
    await expect(tab.page.locator("#palette")).to_be_hidden()
    await expect(tab.field).to_be_focused()


async def test_the_arrows_move_through_the_palette_and_the_same_keys_close_it(seat: Seat) -> None:
    tab = await seat.tab()
    options = await _palette(tab)
    await tab.page.keyboard.press("ArrowUp")
    await expect(options.last).to_have_attribute("aria-selected", "true")
    await tab.page.keyboard.press("ArrowDown")
    await expect(options.first).to_have_attribute("aria-selected", "true")
    await tab.page.keyboard.press("Control+k")
    await expect(tab.page.locator("#palette")).to_be_hidden()


async def test_a_button_opens_the_palette_where_there_are_no_such_keys(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.page.set_viewport_size({"width": 390, "height": 800})
    for _ in range(2):
        await tab.page.locator("#menu").click()
        await tab.page.get_by_role("button", name="Commands").click()
        await expect(tab.page.locator("#palette")).to_be_visible()
        await tab.page.keyboard.press("Escape")
        await expect(tab.page.locator("#palette")).to_be_hidden()


async def test_a_chat_is_renamed_pinned_and_deleted_from_the_palette(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("Old name")
    await _palette(tab, "rename")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_label("New name")).to_be_focused()
    await tab.page.keyboard.type("Fresh name")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("#title")).to_have_text("Fresh name")
    await _palette(tab, "pin this")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("#sessions .day").first).to_have_text("Pinned")
    await _palette(tab, "delete this")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("button", name="Keep")).to_be_focused()
    await tab.page.locator("#sessions").get_by_role("button", name="Delete", exact=True).click()
    await expect(tab.page.locator(".greeting")).to_be_visible()


async def test_an_answer_is_stopped_and_copied_by_command_and_said_in_the_status_line(seat: Seat) -> None:
    seat.upstream.reply(text_chunk("**Half** of it."), Pause(asyncio.Event()))
    tab = await seat.tab()
    await tab.send("Go on.")
    await expect(tab.text).to_have_text("Half of it.")
    await _palette(tab, "stop the")
    await tab.page.keyboard.press("Enter")
    await tab.is_done()
    await tab.js("void (navigator.clipboard.writeText = () => Promise.reject(new DOMException('no')))")
    seat.expected.append("The clipboard refused")
    await tab.js("document.addEventListener('copy', () => (window.copied = document.activeElement.value))")
    await _palette(tab, "copy the")
    await tab.page.keyboard.press("Enter")
    await expect(tab.status).to_have_text("Copied.")
    assert await tab.js("window.copied") == "**Half** of it."
    await expect(tab.field).to_be_focused()


async def test_a_key_that_comes_while_the_commands_are_loaded_is_not_lost(seat: Seat) -> None:
    tab = await seat.tab()
    gate = asyncio.Event()

    async def late(route: Route) -> None:
        await gate.wait()
        await route.continue_()

    await tab.page.route("**/views/commands.js", late)
    await tab.field.press("?")
    await tab.page.locator("#picker-button").focus()
    await tab.page.keyboard.press("?")
    gate.set()
    await expect(tab.page.locator("#help")).to_be_visible()
    await expect(tab.field).to_have_value("?")


async def test_the_help_sheet_lists_the_keys_that_work(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.field.press("?")
    await expect(tab.field).to_have_value("?")
    await tab.field.fill("")
    await tab.page.locator("#picker-button").focus()
    await tab.page.keyboard.press("?")
    sheet = tab.page.locator("#help")
    for line in ("New chat", "Find in this chat", "New line", "Stop the answer"):
        await expect(sheet).to_contain_text(line)
    await tab.page.keyboard.press("Escape")
    await expect(sheet).to_be_hidden()
    await tab.page.keyboard.press("Shift+Escape")
    await expect(tab.field).to_be_focused()


async def test_words_are_found_in_the_whole_chat_one_after_another(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("Where is the olive tree?")
    session = await tab.session()
    for number in range(26):
        seat.upstream.reply(answer(f"Nothing of note, {number}."))
        await tab.js(
            """async ([session, message]) => {
                const body = JSON.stringify({ session, message });
                const headers = { "Content-Type": "application/json" };
                await (await fetch("/api/chat_stream", { method: "POST", body, headers })).text();
            }""",
            [session, f"Number {number}"],
        )
    seat.upstream.reply(answer("The olive stands by the house."))
    await tab.page.reload()
    await expect(tab.questions.last).to_have_text("Number 25")
    await tab.ask("Well?")
    await expect(tab.questions.first).not_to_have_text("Where is the olive tree?")
    await tab.page.keyboard.press("Control+Shift+F")
    await expect(tab.page.get_by_role("searchbox", name="Find in this chat")).to_be_focused()
    await tab.page.keyboard.type("olive")
    count = tab.page.locator("#find .numbers")
    await expect(count).to_have_text("2 of 2")
    await expect(tab.answers.last).to_be_in_viewport()
    await tab.page.keyboard.press("Enter")
    await expect(count).to_have_text("1 of 2")
    await expect(tab.questions.first).to_have_text("Where is the olive tree?")
    await expect(tab.questions.first).to_be_in_viewport()
    await tab.until("CSS.highlights.get('found').size >= 2")
    await tab.page.keyboard.press("Shift+Enter")
    await expect(count).to_have_text("2 of 2")
    await tab.page.keyboard.press("Control+a")
    await tab.page.keyboard.type("no such words")
    await expect(count).to_have_text("Nothing was found")
    await tab.page.keyboard.press("Escape")
    await expect(tab.page.locator("#find")).to_be_hidden()
    assert await tab.js("CSS.highlights.get('found').size") == 0


async def test_palette_help_and_find_fit_a_phone_where_enter_makes_a_new_line(
    browser: Browser, program: Program, upstream: Upstream
) -> None:
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    async with seated(browser, program.url, upstream, **options) as seat:
        upstream.reply(text_chunk("Hello there."), finish(), usage(), DONE)
        tab = await seat.tab()
        await tab.field.fill("One")
        await tab.field.press("Enter")
        await expect(tab.field).to_have_value("One\n")
        await tab.page.get_by_role("button", name="Send", exact=True).tap()
        await expect(tab.text).to_have_text("Hello there.")
        options_shown = await _palette(tab, "find in")
        assert await options_shown.first.evaluate("(node) => node.offsetHeight") >= 44
        await options_shown.first.tap()
        await expect(tab.page.get_by_role("searchbox", name="Find in this chat")).to_be_focused()
        await tab.page.keyboard.type("hello")
        await expect(tab.page.locator("#find .numbers")).to_have_text("1 of 1")
        assert await tab.js("document.documentElement.scrollWidth <= innerWidth")


IN_FRONT = {
    "the palette": ("Control+k", "#palette"),
    "the help sheet": ("?", "dialog[open]"),
    "the search in the chat": ("Control+Shift+F", "#find"),
    "the settings": ("a[href='#settings']", "#settings"),
    "the researches": ("#research-open", "dialog[open]"),
    "what the model sees": ("#seen-open", "#seen"),
    "what a message may use": ("#uses-button", "#uses-panel"),
    "the models": ("#picker-button", "#picker-panel"),
}


@pytest.mark.parametrize(("way", "part"), IN_FRONT.values(), ids=IN_FRONT.keys())
async def test_escape_closes_what_stands_in_front_and_the_answer_goes_on(seat: Seat, way: str, part: str) -> None:
    seat.upstream.reply(text_chunk("One two"), Hang())
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    if way.startswith(("#", "a[")):
        await tab.page.locator(way).click()
    else:
        await tab.page.locator("#scroller").focus()
        await tab.page.keyboard.press(way)
    shown = tab.page.locator(part)
    await expect(shown).to_be_visible()
    await tab.until("document.querySelector('dialog[open], #find:not([hidden]), .panel, #picker-panel') !== null")
    await tab.page.keyboard.press("Escape")
    await expect(shown).to_be_hidden()
    await expect(tab.stop).to_be_visible()
    await expect(tab.stop).to_be_enabled()
    await tab.page.keyboard.press("Escape")
    await expect(tab.answers.locator(".outcome")).to_have_text("Stopped")
