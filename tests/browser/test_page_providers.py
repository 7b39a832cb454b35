"""What the page says of retries and of a model that answers in another's place."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect
from upstream import DONE, Pause, finish, text_chunk

from browser.bench import Seat

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

JSON = {"Content-Type": "application/json"}
SET_FALLBACK = """async (session) => {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ fallback: ["up/other-model"] });
  const answer = await fetch(`/api/session/${session}`, { method: "PATCH", headers, body });
  return answer.status;
}"""


async def test_a_retry_is_told_while_it_waits(seat: Seat) -> None:
    gate = asyncio.Event()
    seat.upstream.reply(b'{"error": "busy"}', status=503, headers=JSON | {"Retry-After": "1"})
    seat.upstream.reply(Pause(gate), text_chunk("Here."), finish(), DONE)
    tab = await seat.tab()
    await tab.send("Try.")
    await expect(tab.status).to_have_text("HTTP 503: busy. Trying again in 1 s (1 of 2)…")
    gate.set()
    await tab.is_done()
    await expect(tab.text).to_have_text("Here.")


async def test_a_stand_in_is_told_and_told_again_after_a_reload(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("First.")
    assert await tab.js(SET_FALLBACK, await tab.session()) == 200
    seat.upstream.reply(b'{"error": "busy"}', status=503, headers=JSON)
    await tab.send("Second.")
    note = tab.answers.last.locator(".fallback")
    told = "fake-model could not answer (HTTP 503: busy). other-model answered instead."
    await expect(note).to_have_text(told)
    await tab.is_done()
    await tab.page.reload()
    await expect(note).to_have_text(told)
