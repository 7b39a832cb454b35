"""The line of figures under an answer: only what is known, an agent's as sums, and the same from the history."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from playwright.async_api import expect
from upstream import DONE, Hang, Step, calls, finish, paced, text_chunk, usage

from browser.bench import Seat, Tab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PRICES = "[prices.fake-model]\ninput = 10.0\noutput = 100.0\ncached = 1.0\n"
"""Dollars for a million tokens."""
SPEED = r"[\d.,]+ tokens/s"
WAIT = r"first words (within|after) [\d.]+ s"
ESTIMATED = rf"about \d+ tokens in · about \d+ out · {WAIT} · about \$[\d.]+"
CALL = ("calculate", {"expression": "6*7"})
BROKEN = b'data: {"error": {"message": "Out of memory.", "code": 500}}\n\n'
FIGURES = "(all) => all.map((one) => one.textContent)"


@pytest.fixture(scope="module")
def extra() -> str:
    """`server.py` that knows what its model costs."""
    return PRICES


async def _newest(tab: Tab, pattern: str) -> None:
    """Wait until the figures of the newest answer are these, and no others."""
    await expect(tab.answers.last.locator(".figures")).to_have_text(re.compile(f"^{pattern}$"))


async def _told(tab: Tab, name: str) -> Sequence[str]:
    return list(await tab.answers.locator(name).evaluate_all(FIGURES))


async def test_each_answer_tells_what_is_known_of_it_and_a_reload_tells_the_same(seat: Seat) -> None:
    tab, upstream = await seat.tab(), seat.upstream
    slow: list[Step] = paced(20, 60.0)[:1]
    cached = usage(1204, 20, prompt_tokens_details={"cached_tokens": 1000})
    upstream.reply(slow, finish(), cached, DONE)
    await tab.ask("Quick, with a cache.")
    await _newest(tab, rf"1,204 tokens in, 1,000 cached · 20 out · {SPEED} · {WAIT} · \$0\.0050")

    upstream.reply(slow, finish(), DONE)
    await tab.ask("Without counts.")
    await _newest(tab, rf"about \d+ tokens in · about \d+ out · about {SPEED} · {WAIT} · about \$[\d.]+")
    await expect(tab.answers.first.locator(".figures")).to_have_text(re.compile(r"^20 tokens · [\d.]+ s · \$0\.0050$"))

    upstream.reply(text_chunk("Yes."), finish(), usage(1000, 2), DONE)
    await tab.ask("Say yes.")
    await _newest(tab, rf"1,000 tokens in · 2 out · {WAIT} · \$0\.01")

    upstream.reply(text_chunk("Half an "), Hang())
    await tab.send("Stop at half.")
    await expect(tab.text.last).to_contain_text("Half an")
    await tab.stop.click()
    await tab.is_done()
    await _newest(tab, ESTIMATED)

    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    for name in ("a", "b"):
        upstream.reply(calls(CALL, prefix=name))
    upstream.reply(text_chunk("It is 42."), finish(), usage(30, 7), DONE)
    await tab.ask("Six times seven, twice.")
    await _newest(tab, rf"70 tokens in · 17 out · ({SPEED} · )?{WAIT} · \$0\.0024")
    await expect(tab.answers.last.locator(".all-figures")).to_contain_text("3 requests to the model · 2 calls of tools")

    upstream.reply(text_chunk("Half an "), BROKEN)
    await tab.send("Fail at half.")
    await expect(tab.answers.last.locator(".outcome")).to_contain_text("Out of memory.")
    await tab.is_done()
    await _newest(tab, ESTIMATED)

    short, whole = await _told(tab, ".figures"), await _told(tab, ".all-figures")
    assert not [told for told in (*short, *whole) if re.search(r"\b0 |NaN|null|undefined|Infinity|\$0\.0+\b", told)]
    await tab.page.reload()
    await expect(tab.answers).to_have_count(6)
    assert (await _told(tab, ".figures"), await _told(tab, ".all-figures")) == (short, whole)
