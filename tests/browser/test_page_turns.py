"""The ways out of a turn that went wrong: asked again, edited, or deleted. Nothing is lost on the way."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, expect
from upstream import DONE, Hang, finish, text_chunk, usage

from browser.bench import Seat, Tab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

END = (finish(), usage(), DONE)
REFUSED = b'{"error": {"message": "The prompt is not allowed."}}'
BOXES = """() => [".question .bubble", ".question .outcome"].map((name) => {
    const box = document.querySelector(name).getBoundingClientRect();
    return { top: box.top, bottom: box.bottom };
})"""


async def _failed(seat: Seat, question: str) -> Tab:
    """A tab with a first turn that went well and a second one that failed."""
    tab = await seat.tab()
    await tab.ask("Hello.")
    seat.upstream.reply(REFUSED, status=400, headers={"Content-Type": "application/json"})
    await tab.send(question)
    await expect(tab.page.locator("article.question .outcome").last).to_contain_text("not allowed")
    return tab


def _button(tab: Tab, name: str) -> Locator:
    return tab.page.locator("#log").get_by_role("button", name=name, exact=True)


def _contents(seat: Seat) -> list[str]:
    """The messages of the last request, without the system prompt."""
    sent = seat.upstream.requests[-1].json["messages"]
    return [message["content"] for message in sent if message["role"] != "system"]


@pytest.mark.parametrize("reloaded", [False, True])
async def test_a_failed_question_is_asked_again_in_its_place(seat: Seat, reloaded: bool) -> None:
    tab = await _failed(seat, "Where is Ithaca?")
    if reloaded:
        await tab.page.reload()
    await tab.field.fill("Half written")
    seat.upstream.reply(text_chunk("In the sea."), *END)
    await _button(tab, "Try again").click()
    await expect(tab.text.last).to_have_text("In the sea.")
    await tab.is_done()
    assert _contents(seat) == ["Hello.", "Hello from the upstream.", "Where is Ithaca?"]
    await expect(_button(tab, "Try again")).to_have_count(0)
    await tab.page.reload()
    await expect(tab.questions).to_have_text(["Hello.", "Where is Ithaca?"])
    await expect(tab.field).to_have_value("Half written")


async def test_a_stopped_answer_is_asked_again_in_its_place(seat: Seat) -> None:
    seat.upstream.reply(text_chunk("One two"), Hang())
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await expect(_button(tab, "Try again")).to_have_count(0)
    await tab.stop.click()
    seat.upstream.reply(text_chunk("One two three."), *END)
    await _button(tab, "Try again").click()
    await expect(tab.text).to_have_text("One two three.")
    await tab.is_done()
    assert _contents(seat) == ["Count."]
    await tab.page.reload()
    await expect(tab.text).to_have_text("One two three.")
    await expect(tab.questions).to_have_count(1)


async def test_a_failed_question_is_edited_in_its_place(seat: Seat) -> None:
    tab = await _failed(seat, "Where is Itaca?")
    await tab.field.fill("A draft")
    await _button(tab, "Edit").click()
    words = tab.page.get_by_role("textbox", name="Your message")
    await expect(words).to_be_focused()
    await expect(words).to_have_value("Where is Itaca?")
    await words.fill("Where is Ithaca?")
    await words.press("Enter")
    await expect(tab.questions).to_have_text(["Hello.", "Where is Ithaca?"])
    await tab.is_done()
    assert _contents(seat) == ["Hello.", "Hello from the upstream.", "Where is Ithaca?"]
    await tab.page.reload()
    await expect(tab.questions).to_have_text(["Hello.", "Where is Ithaca?"])
    await expect(tab.field).to_have_value("A draft")


async def test_a_question_that_cannot_be_sent_again_stays(seat: Seat) -> None:
    tab = await _failed(seat, "Where is Ithaca?")
    await tab.page.route("**/api/chat_stream*", lambda route: route.abort("connectionreset"))
    await _button(tab, "Try again").click()
    await expect(tab.page.locator("#alert")).to_contain_text("cannot be reached")
    await expect(tab.questions).to_have_text(["Hello.", "Where is Ithaca?"])
    await expect(_button(tab, "Try again")).to_be_visible()


async def test_a_message_is_deleted_only_when_confirmed_and_in_every_tab(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("Hello.")
    other = await seat.tab(f"#{await tab.session()}")
    await expect(other.questions).to_have_count(1)
    await tab.front()
    await _button(tab, "Delete message").click()
    await expect(_button(tab, "Keep")).to_be_focused()
    await tab.page.keyboard.press("Escape")
    await expect(_button(tab, "Delete message")).to_be_focused()
    await tab.page.keyboard.press("Enter")
    await _button(tab, "Delete").click()
    for one in (tab, other):
        await expect(one.questions).to_have_count(0)
        await expect(one.answers).to_have_count(1)
    await tab.answers.hover()
    await _button(tab, "Delete answer").click()
    await _button(tab, "Delete").click()
    await expect(tab.answers).to_have_count(0)
    await tab.page.reload()
    await expect(tab.page.locator(".greeting")).to_be_visible()
    await expect(tab.page.locator("article")).to_have_count(0)


async def test_an_error_has_a_line_of_its_own(seat: Seat) -> None:
    seat.upstream.reply(REFUSED, status=400, headers={"Content-Type": "application/json"})
    tab = await seat.tab()
    await tab.send("Hi")
    await expect(tab.page.locator("article.question .outcome")).to_be_visible()
    for _ in range(2):
        bubble, error = await tab.js(BOXES)
        assert error["top"] >= bubble["bottom"]
        await tab.page.reload()
        await expect(tab.page.locator("article.question .outcome")).to_be_visible()
