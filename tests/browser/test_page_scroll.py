"""The view follows the answer while the reader is at its end, and leaves the reader alone everywhere else."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect
from upstream import DONE, Pause, finish, reasoning_chunk, text_chunk, usage

from browser.bench import Seat, Tab, tell, words

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

END = (finish(), usage(), DONE)
FROM_END = (
    "(() => { const s = document.querySelector('#scroller'); return s.scrollHeight - s.clientHeight - s.scrollTop; })()"
)
TOP = "document.querySelector('#scroller').scrollTop"


async def _streaming(seat: Seat, *gates: asyncio.Event) -> Tab:
    """A tab with a screenful of answer, and more behind each gate."""
    more = [step for number, gate in enumerate(gates) for step in (Pause(gate), *words(10, 20 + 10 * number))]
    seat.upstream.reply(*words(20), *more, *END)
    tab = await seat.tab()
    await tab.send("Tell me a long story.")
    await expect(tab.text.locator(".block")).to_have_count(20)
    await tab.page.mouse.move(700, 300)
    return tab


async def test_the_end_is_followed_also_when_much_comes_at_once(seat: Seat) -> None:
    gate = asyncio.Event()
    tab = await _streaming(seat, gate)
    await tab.until(f"{FROM_END} <= 1")
    gate.set()
    await tab.is_done()
    await expect(tab.text.locator(".block")).to_have_count(30)
    await tab.until(f"{FROM_END} <= 1")
    await expect(tab.page.locator("#latest")).to_be_hidden()


async def test_a_reader_who_went_up_stays_and_can_come_back(seat: Seat) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    tab = await _streaming(seat, first, second)
    await tab.until(f"{FROM_END} <= 1")
    before = await tab.js(TOP)
    await tab.page.mouse.wheel(0, -200)
    await tab.until(f"{TOP} === {before - 200}")
    first.set()
    await expect(tab.text.locator(".block")).to_have_count(30)
    assert await tab.js(TOP) == before - 200
    assert await tab.js(FROM_END) > 400
    await tab.page.get_by_role("button", name="Go to the latest").click()
    await tab.until(f"{FROM_END} <= 1")
    second.set()
    await tab.is_done()
    await expect(tab.text.locator(".block")).to_have_count(40)
    await tab.until(f"{FROM_END} <= 1")


async def test_scrolling_down_to_the_end_follows_again(seat: Seat) -> None:
    gate = asyncio.Event()
    tab = await _streaming(seat, gate)
    await tab.until(f"{FROM_END} <= 1")
    await tab.page.mouse.wheel(0, -300)
    await expect(tab.page.locator("#latest")).to_be_visible()
    await tab.page.mouse.wheel(0, 2000)
    await expect(tab.page.locator("#latest")).to_be_hidden()
    gate.set()
    await tab.is_done()
    await expect(tab.text.locator(".block")).to_have_count(30)
    await tab.until(f"{FROM_END} <= 1")


@pytest.mark.parametrize(("place", "key"), [("#scroller", "End"), ("#message", "Control+End")])
async def test_the_end_key_follows_again_wherever_the_focus_is(seat: Seat, place: str, key: str) -> None:
    gate = asyncio.Event()
    tab = await _streaming(seat, gate)
    await tab.page.mouse.wheel(0, -300)
    await expect(tab.page.locator("#latest")).to_be_visible()
    await tab.page.locator(place).focus()
    await tab.page.keyboard.press(key)
    await expect(tab.page.locator("#latest")).to_be_hidden()
    gate.set()
    await tab.is_done()
    await expect(tab.text.locator(".block")).to_have_count(30)
    await tab.until(f"{FROM_END} <= 1")


async def test_opening_the_reasoning_does_not_throw_the_reader_to_the_end(seat: Seat) -> None:
    gate = asyncio.Event()
    thought = b"".join(reasoning_chunk(f"Thought {number}\n") for number in range(60))
    seat.upstream.reply(thought, text_chunk("So:\n\n"), Pause(gate), *words(10), *END)
    tab = await seat.tab()
    await tab.send("Think.")
    await tab.answers.locator("summary:visible").click()
    gate.set()
    await tab.is_done()
    await expect(tab.answers.locator("summary:visible")).to_be_in_viewport()


async def test_earlier_messages_come_in_above_without_moving_the_view(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("Message 0")
    session = await tab.session()
    send = """async (session) => {
        for (let i = 1; i < 40; i += 1) {
            const body = JSON.stringify({ session, message: `Message ${i}` });
            const headers = { "Content-Type": "application/json" };
            await (await fetch("/api/chat_stream", { method: "POST", body, headers })).text();
        }
    }"""
    await tab.js(send, session)
    await tab.page.reload()
    await expect(tab.page.locator("article")).to_have_count(50)
    await tab.until(f"{FROM_END} <= 1")
    first = tab.questions.filter(has_text="Message 15")
    await tab.js("document.querySelector('#scroller').scrollTop = 300")
    mark = "[...document.querySelectorAll('.question')].find((node) => node.textContent.startsWith('Message 20'))"
    mark += ".getBoundingClientRect().top"
    place = await tab.js(mark)
    await tab.js("document.querySelector('#scroller').scrollTop = 200")
    await expect(tab.page.locator("article")).to_have_count(80)
    assert abs(await tab.js(mark) - (place + 100)) <= 2
    await expect(first).to_have_count(1)
    await expect(tab.page.locator("#earlier")).to_be_hidden()


async def test_a_long_page_of_answers_is_drawn_bit_by_bit_from_its_end(seat: Seat) -> None:
    tab = await seat.tab()
    for number in range(12):
        seat.upstream.reply(*words(60), *END)
        await tab.ask(f"Question {number}.")
    note = """() => addEventListener("DOMContentLoaded", () => {
        const log = document.getElementById("log");
        window.drawn = [];
        const asked = () => [...log.querySelectorAll(".bubble")].map((node) => node.textContent);
        const look = () => window.drawn.push([log.childElementCount, ...asked()]);
        new MutationObserver(look).observe(log, { childList: true });
    })"""
    await tab.page.add_init_script(f"({note})()")
    await tab.page.reload()
    await expect(tab.page.locator("article")).to_have_count(24)
    drawn = await tab.js("window.drawn.filter(([count]) => count)")
    counts = [count for count, *_ in drawn]
    assert max(after - before for before, after in zip([0, *counts], counts, strict=False)) <= 10, counts
    wanted = [f"Question {number}." for number in range(12)]
    assert all(asked == wanted[-len(asked) :] for _, *asked in drawn if asked), drawn
    assert await tab.js(FROM_END) <= 1


async def test_answers_out_of_sight_are_not_drawn_and_yet_keep_their_height_and_are_found(seat: Seat) -> None:
    tab = await seat.tab()
    for number in range(3):
        seat.upstream.reply(text_chunk(f"Needle {number}.\n\n"), *words(20), *END)
        await tab.ask("Go on.")
    first = tab.text.first
    skipped = "(node) => !node.firstElementChild.checkVisibility({ contentVisibilityAuto: true })"
    height = await first.evaluate("(node) => node.offsetHeight")
    await tab.until(f"({skipped})(document.querySelector('.answer .blocks'))")
    assert await first.evaluate("(node) => node.offsetHeight") == height
    assert await tab.js("window.find('Needle 0', true, false, true)")
    await tab.page.locator("#scroller").focus()
    await tab.page.keyboard.press("Home")
    await expect(first.locator(".block").first).to_be_in_viewport()
    assert not await first.evaluate(skipped)
    await tab.page.set_viewport_size({"width": 500, "height": 800})
    narrow = await first.evaluate("(node) => node.offsetHeight")
    assert narrow > height
    await tab.js("getSelection().removeAllRanges()")  # what is selected stays drawn
    await tab.page.get_by_role("button", name="Go to the latest").click()
    await tab.until(f"({skipped})(document.querySelector('.answer .blocks'))")
    assert await first.evaluate("(node) => node.offsetHeight") == narrow


async def test_the_end_is_followed_when_twenty_rows_come_in_one_frame(seat: Seat) -> None:
    seat.upstream.reply(*words(20), *END)
    tab = await seat.tab()
    await tab.ask("Tell me a long story.")
    await tab.until(f"{FROM_END} <= 1")
    before = await tab.js("document.querySelector('#scroller').scrollHeight")
    calls = [{"tool": "bash", "command": f"echo {number}", "call_id": f"c{number}"} for number in range(20)]
    rows = [
        frame
        for call in calls
        for frame in ({"type": "tool_start", **call}, {"type": "tool_output", **call, "output": "", "exit_code": 1})
    ]
    await tell(tab, "agent", *rows)
    await expect(tab.page.locator(".act")).to_have_count(20)
    assert await tab.js("document.querySelector('#scroller').scrollHeight") > before + 20 * 40
    await tab.until(f"{FROM_END} <= 1")
