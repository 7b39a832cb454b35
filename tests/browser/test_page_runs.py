"""A run outlives the tab that started it: reload, second tab, hidden tab, a cut line, a killed server, many tabs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect
from upstream import DONE, Hang, Pause, Upstream, finish, text_chunk, usage

from browser.bench import Program, Seat, Tab, Wire, config_for, seated, words

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

END = (finish(), usage(), DONE)
WHOLE = "One two three."


def _halves(seat: Seat) -> asyncio.Event:
    """Script an answer that waits in its middle."""
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk("One two"), Pause(gate), text_chunk(" three."), *END)
    return gate


async def _hide(tab: Tab, seconds: int = 4) -> None:
    """Hide the tab, for long enough that it lets its stream go."""
    await tab.page.clock.install()
    async with tab.page.expect_event("requestfailed") as left:
        await tab.set_hidden(True)
        await tab.page.clock.fast_forward(seconds * 1000)
    assert "/api/chat_stream" in (await left.value).url


async def test_a_reload_in_mid_answer_goes_on(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    gate = _halves(seat)
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await tab.page.reload()
    await expect(tab.text).to_have_text("One two")
    await expect(tab.stop).to_be_visible()
    gate.set()
    await expect(tab.text).to_have_text(WHOLE)
    await tab.is_done()
    await expect(tab.questions).to_have_count(1)
    assert len(seat.upstream.requests) == before + 1


async def test_a_second_tab_sees_the_same_and_can_stop(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    seat.upstream.reply(text_chunk("One two"), Hang())
    first = await seat.tab()
    await first.send("Count.")
    await expect(first.text).to_have_text("One two")
    second = await seat.tab(f"#{await first.session()}")
    await expect(second.text).to_have_text("One two")
    await second.stop.click()
    await seat.upstream.disconnected(before)
    for tab in (first, second):
        await expect(tab.answers.locator(".outcome")).to_have_text("Stopped")
        await expect(tab.text).to_have_text("One two")
        await expect(tab.stop).to_be_hidden()


async def test_an_open_tab_learns_of_what_another_one_sends(seat: Seat) -> None:
    gate = _halves(seat)
    first = await seat.tab()
    gate.set()
    await first.ask("Count.")
    second = await seat.tab(f"#{await first.session()}")
    await expect(second.answers).to_have_count(1)
    again = _halves(seat)
    await second.send("Again.")
    await expect(first.questions).to_have_count(2)
    await expect(first.text.last).to_have_text("One two")
    again.set()
    await expect(first.text.last).to_have_text(WHOLE)


async def test_a_stopped_answer_keeps_its_text_after_a_reload(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    seat.upstream.reply(text_chunk("One two"), Hang())
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await tab.page.reload()
    await expect(tab.text).to_have_text("One two")
    await tab.field.press("Escape")
    await seat.upstream.disconnected(before)
    await expect(tab.answers.locator(".outcome")).to_have_text("Stopped")
    await tab.page.reload()
    await expect(tab.answers.locator(".outcome")).to_have_text("Stopped")
    await expect(tab.text).to_have_text("One two")
    await tab.ask("And now?")
    sent = seat.upstream.requests[-1].json["messages"]
    assert [message["content"] for message in sent[-3:]] == ["Count.", "One two", "And now?"]


@pytest.mark.parametrize("seconds", [4, 300])
async def test_a_hidden_tab_lets_its_stream_go_and_comes_back_with_its_cursor(seat: Seat, seconds: int) -> None:
    gate = _halves(seat)
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await _hide(tab, seconds)
    gate.set()
    async with tab.page.expect_request("**/api/chat/resume/**") as back:
        await tab.set_hidden(False)
    await expect(tab.text).to_have_text(WHOLE)
    await tab.is_done()
    assert "after=0" not in (await back.value).url
    assert await tab.text.count() == 1


async def test_a_hidden_tab_whose_run_ended_shows_the_end_when_it_is_back(seat: Seat) -> None:
    seat.upstream.reply(text_chunk("One two"), Hang())
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await _hide(tab)
    other = await seat.tab(f"#{await tab.session()}")
    await other.stop.click()
    await expect(other.answers.locator(".outcome")).to_have_text("Stopped")
    await tab.set_hidden(False)
    await expect(tab.answers.locator(".outcome")).to_have_text("Stopped")
    await expect(tab.stop).to_be_hidden()


async def test_a_cut_line_resumes_and_sends_nothing_again(
    browser: Browser, program: Program, upstream: Upstream
) -> None:
    before = len(upstream.requests)
    async with Wire(program.port) as wire, seated(browser, wire.url, upstream) as seat:
        gate = _halves(seat)
        tab = await seat.tab()
        await tab.send("Count.")
        await expect(tab.text).to_have_text("One two")
        wire.cut()
        await expect(tab.status).to_have_text("The connection was lost. Trying again…")
        await expect(tab.status).to_have_text("Answering…")
        wire.cut()
        gate.set()
        await expect(tab.text).to_have_text(WHOLE)
        await tab.is_done()
        await seat.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await tab.answers.get_by_role("button", name="Copy answer").click()
        await tab.until(f"navigator.clipboard.readText().then((text) => text === '{WHOLE}')")
        await expect(tab.questions).to_have_count(1)
        assert len(upstream.requests) == before + 1


@pytest.mark.parametrize("seconds", [36, 600])
async def test_a_line_that_goes_silent_is_given_up_and_taken_up_again(
    browser: Browser, program: Program, upstream: Upstream, seconds: int
) -> None:
    async with Wire(program.port) as wire, seated(browser, wire.url, upstream) as seat:
        gate = _halves(seat)
        tab = await seat.tab()
        await tab.page.clock.install()
        await tab.send("Count.")
        await expect(tab.text).to_have_text("One two")
        wire.silence(b"/api/chat_stream")
        async with tab.page.expect_request("**/api/chat/resume/**"):
            await tab.page.clock.fast_forward(seconds * 1000)
            await expect(tab.status).to_have_text("The connection was lost. Trying again…")
            await tab.page.clock.fast_forward(1000)
        gate.set()
        await expect(tab.text).to_have_text(WHOLE)


async def test_a_line_cut_while_the_message_is_sent_loses_neither_text_nor_order(
    browser: Browser, program: Program, upstream: Upstream
) -> None:
    before = len(upstream.requests)
    async with Wire(program.port) as wire, seated(browser, wire.url, upstream) as seat:
        tab = await seat.tab()
        await tab.page.route("**/api/chat_stream*", lambda route: route.abort("connectionreset"))
        await tab.send("Do not lose me")
        await expect(tab.page.locator("#alert")).to_contain_text("cannot be reached")
        await expect(tab.field).to_have_value("Do not lose me")
        assert len(upstream.requests) == before
        await tab.page.unroute("**/api/chat_stream*")
        await tab.field.press("Enter")
        await expect(tab.answers).to_have_count(1)
        await tab.is_done()
        assert len(upstream.requests) == before + 1


async def test_a_killed_server_is_found_again_and_the_answer_is_marked(
    browser: Browser, tmp_path: Path, upstream: Upstream
) -> None:
    program = Program(tmp_path, config_for(upstream, extra="[server]\ncheckpoint_seconds = 0.05\n"))
    await program.start()
    try:
        async with seated(browser, program.url, upstream) as seat:
            upstream.reply(*words(3), Hang())
            tab = await seat.tab()
            await tab.send("Go.")
            await expect(tab.text.locator(".block")).to_have_count(3)
            other = await seat.tab(f"#{await tab.session()}")  # takes longer than a checkpoint
            await expect(other.text.locator(".block")).to_have_count(3)
            await program.stop(kill=True)
            await expect(other.status).to_contain_text("Trying again")
            await program.start()
            for one in (other, tab):
                await one.front()
                await expect(one.answers.locator(".outcome")).to_contain_text("Interrupted")
                await expect(one.text).to_contain_text("Paragraph 2.")
                await expect(one.stop).to_be_hidden()
            await tab.ask("Once more.")
    finally:
        await program.stop()


async def test_an_answer_is_never_drawn_into_another_chat(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("The quiet chat")
    quiet = await tab.session()
    await tab.page.get_by_role("link", name="New chat").first.click()
    gate = _halves(seat)
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    counting = await tab.session()
    await tab.js("(id) => { location.hash = id; }", quiet)
    await expect(tab.questions).to_have_text("The quiet chat")
    gate.set()
    await expect(tab.page.locator(f"[data-running=true] a[href='#{counting}']")).to_have_count(0)
    await expect(tab.text).to_have_text("Hello from the upstream.")
    await tab.js("(id) => { location.hash = id; }", counting)
    await expect(tab.text).to_have_text(WHOLE)


async def test_a_chat_left_while_it_streams_goes_on_when_it_is_opened_again(seat: Seat) -> None:
    gate = _halves(seat)
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await tab.page.get_by_role("link", name="New chat").first.click()
    await expect(tab.answers).to_have_count(0)
    await expect(tab.stop).to_be_hidden()
    await tab.page.go_back()
    await expect(tab.text).to_have_text("One two")
    gate.set()
    await expect(tab.text).to_have_text(WHOLE)


async def test_a_stop_that_failed_is_no_longer_told_when_it_worked(seat: Seat) -> None:
    seat.upstream.reply(text_chunk("One two"), Hang())
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await tab.page.route("**/api/chat/stop/**", lambda route: route.abort("connectionreset"))
    await tab.stop.click()
    alert = tab.page.locator("#alert")
    await expect(alert).to_contain_text("could not be stopped")
    await tab.page.unroute("**/api/chat/stop/**")
    await tab.stop.click()
    await expect(tab.answers.locator(".outcome")).to_have_text("Stopped")
    await expect(alert).to_be_hidden()


async def test_a_chat_without_a_run_is_opened_without_an_error(
    browser: Browser, tmp_path: Path, upstream: Upstream
) -> None:
    program = Program(tmp_path, config_for(upstream))
    await program.start()
    try:
        async with seated(browser, program.url, upstream) as seat:
            tab = await seat.tab()
            await tab.ask("Hello.")
            await program.stop()
            await program.start()
            answers: list[int] = []
            tab.page.on("response", lambda response: answers.append(response.status))
            await tab.page.reload()
            await expect(tab.answers).to_have_count(1)
            await expect(tab.page.locator("#picker-name")).to_have_text("fake-model")
            assert max(answers) < 400
    finally:
        await program.stop()


async def test_stop_works_with_a_stream_in_each_of_seven_tabs(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    tabs: list[Tab] = []
    for number in range(7):
        seat.upstream.reply(text_chunk(f"Tab {number}"), Hang())
        tab = await seat.tab()
        await tab.send("Go.")
        await expect(tab.text).to_have_text(f"Tab {number}")
        tabs.append(tab)
    for number, tab in enumerate(tabs):
        await tab.front()
        await tab.stop.click()
        await seat.upstream.disconnected(before + number)
        await expect(tab.answers.locator(".outcome")).to_have_text("Stopped")
