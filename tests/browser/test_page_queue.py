"""Messages that wait for the end of an answer: in order, once over all tabs, and held when it was not finished."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Locator, expect
from upstream import DONE, Pause, Upstream, finish, text_chunk, usage

from browser.bench import Program, Seat, Tab, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def _queue(tab: Tab) -> Locator:
    return tab.page.locator("#queue li")


def _gated(seat: Seat, text: str) -> asyncio.Event:
    """The next answer stops behind `text` until the event is set."""
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk(text), Pause(gate), text_chunk(" And the end."), finish(), usage(), DONE)
    return gate


async def _asked(seat: Seat, since: int) -> list[str]:
    return [request.json["messages"][-1]["content"] for request in seat.upstream.requests[since:]]


async def test_messages_written_during_an_answer_are_sent_in_order_behind_it(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    gate = _gated(seat, "Working.")
    tab = await seat.tab()
    await tab.send("First")
    await expect(tab.text).to_have_text("Working.")
    await tab.send("Second")
    await tab.send("Third")
    await expect(_queue(tab)).to_have_count(2)
    await expect(tab.field).to_have_value("")
    await expect(tab.page.locator("#queue h2")).to_contain_text("Sent one by one when the answer is finished")
    await tab.page.reload()
    await expect(_queue(tab)).to_have_count(2)
    gate.set()
    await expect(tab.questions).to_have_text(["First", "Second", "Third"])
    await expect(tab.answers).to_have_count(3)
    await tab.is_done()
    await expect(tab.page.locator("#queue")).to_be_hidden()
    assert await _asked(seat, before) == ["First", "Second", "Third"]


async def test_a_waiting_message_is_edited_or_removed(seat: Seat) -> None:
    gate = _gated(seat, "Working.")
    tab = await seat.tab()
    await tab.send("First")
    await expect(tab.text).to_have_text("Working.")
    await tab.send("Drop me")
    await tab.send("Change me")
    await _queue(tab).first.get_by_role("button", name="Remove").click()
    await expect(_queue(tab)).to_have_count(1)
    await expect(tab.field).to_be_focused()
    await _queue(tab).get_by_role("button", name="Edit").click()
    await expect(tab.field).to_have_value("Change me")
    await expect(_queue(tab)).to_have_count(0)
    await tab.send("Changed")
    gate.set()
    await expect(tab.questions).to_have_text(["First", "Changed"])
    await tab.is_done()


async def test_a_stop_holds_the_queue_and_says_so(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    _gated(seat, "Working.")
    tab = await seat.tab()
    await tab.send("First")
    await expect(tab.text).to_have_text("Working.")
    await tab.send("Second")
    await expect(_queue(tab)).to_have_count(1)
    await tab.stop.click()
    await expect(tab.page.locator("#queue h2")).to_have_text("Not sent: the answer was stopped.")
    await tab.page.reload()
    await expect(tab.page.locator("#queue h2")).to_have_text("Not sent: the answer was stopped.")
    assert len(seat.upstream.requests) == before + 1
    await _queue(tab).get_by_role("button", name="Send now").click()
    await expect(tab.questions).to_have_text(["First", "Second"])
    await tab.is_done()
    await expect(tab.page.locator("#queue")).to_be_hidden()


async def test_send_now_stops_the_answer_and_goes_first(seat: Seat) -> None:
    _gated(seat, "Working.")
    tab = await seat.tab()
    await tab.send("First")
    await expect(tab.text).to_have_text("Working.")
    await tab.send("Later")
    await tab.send("At once")
    await _queue(tab).last.get_by_role("button", name="Send now").click()
    await expect(tab.questions).to_have_text(["First", "At once", "Later"])
    await expect(tab.answers.first.locator(".outcome")).to_have_text("Stopped")
    await tab.is_done()


async def test_a_failed_answer_holds_the_queue(seat: Seat) -> None:
    gate = asyncio.Event()
    seat.upstream.reply(
        text_chunk("Half."), Pause(gate), b'data: {"error": {"message": "Out of memory.", "code": 500}}\n\n'
    )
    tab = await seat.tab()
    await tab.send("First")
    await expect(tab.text).to_have_text("Half.")
    await tab.send("Second")
    gate.set()
    await expect(tab.page.locator("#queue h2")).to_have_text("Not sent: the answer before it ended early.")
    await expect(tab.questions).to_have_count(1)


async def test_two_tabs_send_a_waiting_message_once(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    gate = _gated(seat, "Working.")
    tab = await seat.tab()
    await tab.send("First")
    await expect(tab.text).to_have_text("Working.")
    other = await seat.tab(f"#{await tab.session()}")
    await expect(other.text).to_have_text("Working.")
    await tab.send("Second")
    await tab.send("Third")
    await expect(_queue(other)).to_have_count(2)
    gate.set()
    for one in (tab, other):
        await one.front()
        await expect(one.questions).to_have_text(["First", "Second", "Third"])
        await one.is_done()
    assert await _asked(seat, before) == ["First", "Second", "Third"]


async def test_a_queue_goes_on_while_another_chat_is_open(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    gate = _gated(seat, "Working.")
    tab = await seat.tab()
    await tab.send("First")
    await expect(tab.text).to_have_text("Working.")
    session = await tab.session()
    await tab.send("Second")
    await tab.page.get_by_role("link", name="New chat").first.click()
    await expect(tab.page.locator("#queue")).to_be_hidden()
    gate.set()
    await tab.until(f"fetch('/api/history/{session}').then((a) => a.json()).then(({{ total }}) => total === 4)")
    assert await _asked(seat, before) == ["First", "Second"]


async def test_the_queue_fits_a_phone(browser: Browser, program: Program, upstream: Upstream) -> None:
    async with seated(browser, program.url, upstream, viewport={"width": 390, "height": 844}, has_touch=True) as seat:
        gate = _gated(seat, "Working.")
        tab = await seat.tab()
        await tab.send("First")
        await expect(tab.text).to_have_text("Working.")
        await tab.field.fill("A rather long message that waits for the end of what is being written above it")
        await tab.page.get_by_role("button", name="Send after this answer").tap()
        await expect(_queue(tab)).to_have_count(1)
        assert await tab.js("document.documentElement.scrollWidth <= innerWidth")
        heights = await tab.page.locator("#queue button").evaluate_all("(all) => all.map((one) => one.offsetHeight)")
        assert min(heights) >= 40
        gate.set()
        await expect(tab.questions).to_have_count(2)
        await tab.is_done()


async def test_a_hidden_tab_sends_what_waits_in_it(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    gate = _gated(seat, "Working.")
    tab = await seat.tab()
    await tab.send("First")
    await expect(tab.text).to_have_text("Working.")
    await tab.send("Second")
    await tab.page.clock.install()
    async with tab.page.expect_event("requestfailed"):
        await tab.set_hidden(True)
        await tab.page.clock.fast_forward(4000)
    gate.set()
    while len(seat.upstream.requests) < before + 2:
        async with tab.page.expect_response("**/api/**"):
            await tab.page.clock.fast_forward(5000)
    await tab.set_hidden(False)
    await expect(tab.questions).to_have_text(["First", "Second"])
    await expect(tab.answers).to_have_count(2)
