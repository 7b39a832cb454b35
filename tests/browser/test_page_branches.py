"""Branches on the page: another answer, an edited question, the way between versions, a copy as a chat of its own."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Locator, expect
from upstream import DONE, Hang, Upstream, finish, text_chunk, usage

from browser.bench import Program, Seat, Tab, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

END = (finish(), usage(), DONE)
NEXT, PREVIOUS = "Next version of this answer", "Previous version of this answer"


def _button(tab: Tab, name: str, index: int = -1) -> Locator:
    return tab.page.locator("#log").get_by_role("button", name=name, exact=True).nth(index)


async def _ask(tab: Tab, question: str, reply: str) -> None:
    tab.seat.upstream.reply(text_chunk(reply), *END)
    await tab.ask(question)


async def _again(tab: Tab, reply: str, index: int = -1) -> None:
    tab.seat.upstream.reply(text_chunk(reply), *END)
    await _button(tab, "Regenerate", index).click()
    await expect(tab.text.last).to_have_text(reply)
    await tab.is_done()


async def test_an_answer_is_given_again_and_both_can_be_read(seat: Seat) -> None:
    tab = await seat.tab()
    await _ask(tab, "One?", "First.")
    await _ask(tab, "Two?", "More.")
    await _again(tab, "Second.", 0)
    await expect(tab.questions).to_have_text(["One?"])
    await expect(tab.page.locator(".switch .numbers").last).to_have_text("2/2")
    for _ in range(2):
        await expect(tab.text).to_have_text(["Second."])
        await expect(_button(tab, NEXT)).to_be_disabled()
        await tab.page.reload()
    await _button(tab, PREVIOUS).press("Enter")
    await expect(tab.text).to_have_text(["First.", "More."])
    await expect(_button(tab, NEXT)).to_be_focused()
    await _ask(tab, "Three?", "Last.")
    sent = [message["content"] for message in seat.upstream.requests[-1].json["messages"]]
    assert sent[-5:] == ["One?", "First.", "Two?", "More.", "Three?"]


async def test_brackets_go_to_other_versions_of_the_message_with_the_focus_or_of_the_last(seat: Seat) -> None:
    tab = await seat.tab()
    await _ask(tab, "One?", "First.")
    await _again(tab, "Second.")
    await _ask(tab, "Two?", "Third.")
    await _again(tab, "Fourth.")
    await tab.page.locator("#scroller").focus()
    await tab.page.keyboard.press("[")
    await expect(tab.text).to_have_text(["Second.", "Third."])
    await tab.page.keyboard.press("]")
    await expect(tab.text).to_have_text(["Second.", "Fourth."])
    await _button(tab, "Copy answer", 0).focus()
    await tab.page.keyboard.press("[")
    await expect(tab.text).to_have_text(["First."])
    await tab.field.focus()
    await tab.page.keyboard.press("]")
    await expect(tab.field).to_have_value("]")
    await expect(tab.text).to_have_text(["First."])


async def test_an_edited_question_is_a_version_beside_the_old_one(seat: Seat) -> None:
    tab = await seat.tab()
    await _ask(tab, "One?", "First.")
    await _button(tab, "Edit message").click()
    words = tab.page.get_by_role("textbox", name="Your message")
    await words.fill("Given up")
    await words.press("Escape")
    await expect(words).to_have_count(0)
    await expect(tab.questions).to_have_text(["One?"])
    await expect(_button(tab, "Edit message")).to_be_focused()
    await tab.page.keyboard.press("Enter")
    await expect(words).to_have_value("One?")
    seat.upstream.reply(text_chunk("Changed."), *END)
    await words.fill("Two?")
    await words.press("Enter")
    await expect(tab.text).to_have_text(["Changed."])
    await tab.is_done()
    await expect(tab.questions).to_have_text(["Two?"])
    await _button(tab, "Previous version of this message").click()
    await expect(tab.questions).to_have_text(["One?"])
    await expect(tab.text).to_have_text(["First."])


async def test_another_tab_and_a_reload_follow_an_answer_that_is_given_again(seat: Seat) -> None:
    tab = await seat.tab()
    await _ask(tab, "One?", "First.")
    other = await seat.tab(f"#{await tab.session()}")
    seat.upstream.reply(text_chunk("Half"), Hang())
    await tab.front()
    await _button(tab, "Regenerate").click()
    await expect(tab.text).to_have_text(["Half"])
    for name in ("Regenerate", "Edit message", "Branch to a new chat"):
        await expect(_button(tab, name)).to_be_hidden()
    await expect(other.text).to_have_text(["Half"])
    await tab.page.reload()
    await expect(tab.text).to_have_text(["Half"])
    await tab.stop.click()
    for one in (tab, other):
        await one.front()
        await expect(one.page.locator(".switch .numbers").last).to_have_text("2/2")
        await expect(one.text).to_have_text(["Half"])


async def test_a_second_answer_that_fails_leaves_the_first_and_says_why(seat: Seat) -> None:
    tab = await seat.tab()
    await _ask(tab, "One?", "First.")
    refused = b'{"error": {"message": "The prompt is not allowed."}}'
    seat.upstream.reply(refused, status=400, headers={"Content-Type": "application/json"})
    await _button(tab, "Regenerate").click()
    await expect(tab.page.locator("#alert")).to_contain_text("not allowed")
    await expect(tab.text).to_have_text(["First."])
    await expect(tab.page.locator(".outcome:visible")).to_have_count(0)


async def test_a_search_hit_on_another_branch_opens_it(seat: Seat) -> None:
    tab = await seat.tab()
    await _ask(tab, "One?", "A rare heron.")
    await _again(tab, "Second.")
    await tab.page.locator("#search").fill("rare heron")
    await tab.page.locator(".hit").last.click()
    await expect(tab.text).to_have_text(["A rare heron."])
    await _button(tab, NEXT).click()
    await expect(tab.text).to_have_text(["Second."])
    await tab.page.reload()
    await expect(tab.text).to_have_text(["Second."])


async def test_a_branch_becomes_a_chat_of_its_own(seat: Seat) -> None:
    tab = await seat.tab()
    await _ask(tab, "A chat of its own?", "First.")
    await _ask(tab, "Two?", "More.")
    session = await tab.session()
    await _button(tab, "Branch to a new chat", 0).dblclick()
    await expect(tab.questions).to_have_text(["A chat of its own?"])
    assert await tab.session() != session
    await expect(tab.page.locator("#sessions a").filter(has_text="A chat of its own?")).to_have_count(2)
    await _ask(tab, "Else?", "Own.")
    await tab.page.go_back()
    await expect(tab.text).to_have_text(["First.", "More."])


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
async def test_versions_fit_the_page(
    browser: Browser, program: Program, upstream: Upstream, width: int, scheme: str
) -> None:
    look = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "has_touch": width < 700}
    async with seated(browser, program.url, upstream, **look) as seat:
        tab = await seat.tab()
        await _ask(tab, "What is the capital of Peru, and how high does it lie?", "Lima, at 154 metres.")
        await _again(tab, "It is Lima. It lies on the coast.")
        for name in ("Edit message", PREVIOUS, "Regenerate"):
            box = await _button(tab, name).bounding_box()
            assert box
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["height"] >= (44 if width < 700 else 36)
        await _button(tab, "Edit message").click()
        await expect(tab.page.get_by_role("textbox", name="Your message")).to_be_visible()
        assert await tab.js("document.documentElement.scrollWidth <= innerWidth")


async def test_incognito_takes_no_stored_questions_place_and_says_so(seat: Seat) -> None:
    tab = await seat.tab()
    await _ask(tab, "One?", "First.")
    session = await tab.session()
    await tab.js("(key) => localStorage.setItem(key, 'on')", f"odysseus.use-incognito.{session}")
    await tab.page.reload()
    await _button(tab, "Regenerate").click()
    await expect(tab.page.locator("#alert")).to_contain_text("Turn incognito off")
    await expect(tab.text).to_have_text(["First."])
