"""Whatever held an answer up, cut it or left something out is one plain line, in the stream and from the history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect
from upstream import DONE, Hang, Pause, Upstream, answer, calls, finish, paced, text_chunk, usage

from browser.bench import Program, Seat, Tab, config_for, launched, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LIMITS = """
[server]
replay_bytes = 65536
[agent]
max_rounds = 6
max_tool_calls = 8
max_cost = 0.5
[prices.dear-model]
input = 20000.0
output = 0.0
"""
SMALL = """
[[endpoints]]
id = "small"
kind = "openai"
label = "Small"
context_length = 2048
models = ["fake-model"]
"""
JSON = {"Content-Type": "application/json"}
PATCH = """([session, fields]) => fetch(`/api/session/${session}`, { method: "PATCH",
    headers: { "Content-Type": "application/json" }, body: JSON.stringify(fields) }).then(({ status }) => status)"""
CALL = ("calculate", {"expression": "6*7"})

Played = Callable[[Tab, Upstream, Path], Awaitable[None]]


@pytest.fixture(scope="module")
def extra(upstream: Upstream) -> str:
    """`server.py` with low limits, and with an endpoint whose window is small."""
    small = f'{SMALL}base_url = "{upstream.base_url}"\n'
    return small + LIMITS


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hasty(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Program]:
    """`server.py` that waits for a model one second, and two for an answer."""
    limits = "[server]\nidle_seconds = 1.0\nmax_wall_seconds = 2.0\n"
    async with launched(tmp_path_factory.mktemp("hasty"), config_for(upstream, extra=limits)) as running:
        yield running


def _line(tab: Tab) -> Locator:
    """The lines of the newest answer that are no words of the model."""
    return tab.answers.last.locator(".remark, .fallback:not(:empty), .outcome:not([hidden])")


async def _agent(tab: Tab) -> None:
    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()


async def _patch(tab: Tab, **fields: Any) -> None:
    """Change the chat, and have the page read it again: it may not know yet when the next message is sent."""
    assert await tab.js(PATCH, [await tab.session(), fields]) == 200
    await tab.page.reload()
    await expect(tab.page.locator("#picker-name")).not_to_have_text("…")
    await expect(tab.answers).to_have_count(1)


async def rounds(tab: Tab, upstream: Upstream, _: Path) -> None:
    await _agent(tab)
    for number in range(6):
        upstream.reply(calls(("calculate", {"expression": f"{number}+1"}), prefix=f"r{number}"))


async def tool_calls(tab: Tab, upstream: Upstream, _: Path) -> None:
    await _agent(tab)
    upstream.reply(calls(*[CALL] * 8)).reply(calls(CALL, prefix="more"))


async def cost(tab: Tab, upstream: Upstream, _: Path) -> None:
    await tab.ask("Hello.")
    await _patch(tab, model="dear-model")
    await _agent(tab)
    for name in ("a", "b"):
        upstream.reply(*calls(CALL, prefix=name)[:-1], usage(20), DONE)


async def circles(tab: Tab, upstream: Upstream, _: Path) -> None:
    await _agent(tab)
    for number in range(4):
        upstream.reply(calls(CALL, prefix=f"r{number}"))
    upstream.reply(answer("It stays 42."))


async def promises(tab: Tab, upstream: Upstream, _: Path) -> None:
    await _agent(tab)
    for __ in range(3):
        upstream.reply(answer("One moment, I will open the file now."))


async def folder(tab: Tab, _: Upstream, place: Path) -> None:
    await tab.ask("Hello.")
    await _patch(tab, workspace=str(place))
    await _agent(tab)
    place.rmdir()


async def stand_in(tab: Tab, upstream: Upstream, _: Path) -> None:
    await tab.ask("Hello.")
    await _patch(tab, fallback=["up/other-model"])
    upstream.reply(b'{"error": "busy"}', status=503, headers=JSON).reply(answer("Here."))


async def _filled(tab: Tab, upstream: Upstream) -> None:
    """A chat that fills its small window."""
    await tab.ask("Hello.")
    await _patch(tab, endpoint_id="small", model="fake-model")
    for _ in range(3):
        upstream.reply(text_chunk("word " * 400), finish(), DONE)
        await tab.ask("More.")


async def summarised(tab: Tab, upstream: Upstream, _: Path) -> None:
    await _filled(tab, upstream)
    upstream.reply(answer("- They said words.")).reply(answer("Here."))


async def trimmed(tab: Tab, upstream: Upstream, _: Path) -> None:
    await _filled(tab, upstream)
    upstream.reply(b'{"error": "no"}', status=400, headers=JSON).reply(text_chunk("word " * 400), finish(), DONE)
    await tab.ask("More.")
    upstream.reply(answer("Here."))


async def cut(_: Tab, upstream: Upstream, __: Path) -> None:
    upstream.reply(text_chunk("Half a"), finish("length"), DONE)


async def filtered(_: Tab, upstream: Upstream, __: Path) -> None:
    upstream.reply(text_chunk("Half a"), finish("content_filter"), DONE)


async def silent(_: Tab, upstream: Upstream, __: Path) -> None:
    upstream.reply(text_chunk("Half a"), Hang())


async def endless(_: Tab, upstream: Upstream, __: Path) -> None:
    upstream.reply(*paced(200, 10.0))


LINES: Mapping[Played, str] = {
    rounds: "Paused after 6 rounds, the most for one answer.",
    tool_calls: "Ended: this answer has used its 8 tool calls.",
    cost: "Ended: this answer has cost $0.80, and $0.50 is the most it may.",
    circles: "The model repeated the same calls with the same results. It was asked to answer without tools.",
    promises: "The model kept announcing an action without taking it.",
    folder: "cannot be used.",
    stand_in: "fake-model could not answer (HTTP 503: busy). other-model answered instead.",
    summarised: "The older messages were summarised for the model, to fit its window of 2,048 tokens. They stay here.",
    trimmed: "oldest messages were left out for the model: its window of 2,048 tokens is full.",
    cut: "The answer was cut at the longest length.",
    filtered: "The provider's content filter cut the answer.",
}
TIMEOUTS: Mapping[Played, str] = {
    silent: "Ended: the model sent nothing for too long.",
    endless: "Ended: the answer took longer than the time limit.",
}


async def _told(tab: Tab, upstream: Upstream, place: Path, play: Played) -> str:
    """The line that the newest answer has in the stream, once it has the same, and all else, from the history."""
    await play(tab, upstream, place)
    await tab.ask("Go on.")
    await expect(_line(tab)).to_have_count(1)
    told, whole = await _line(tab).inner_text(), await tab.answers.last.inner_text()
    await tab.page.reload()
    await expect(tab.answers.last).to_have_text(whole, use_inner_text=True)
    assert await _line(tab).inner_text() == told
    return told


@pytest.mark.parametrize("play", LINES, ids=lambda play: play.__name__)
async def test_it_is_told_in_one_line_live_and_after_a_reload(seat: Seat, tmp_path: Path, play: Played) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    told = await _told(await seat.tab(), seat.upstream, place, play)
    assert LINES[play] in told
    assert "\n" not in told.removesuffix("\nContinue")


@pytest.mark.parametrize("play", TIMEOUTS, ids=lambda play: play.__name__)
async def test_a_time_limit_is_told_in_one_line_live_and_after_a_reload(
    browser: Browser, hasty: Program, upstream: Upstream, tmp_path: Path, play: Played
) -> None:
    async with seated(browser, hasty.url, upstream) as seat:
        assert await _told(await seat.tab(), upstream, tmp_path, play) == TIMEOUTS[play]


async def test_what_a_replay_has_lost_is_said_and_comes_back_with_the_end(seat: Seat) -> None:
    gate = asyncio.Event()
    tab = await seat.tab()
    await _agent(tab)
    seat.upstream.reply(calls(CALL, text="First."))
    long = [text_chunk("word " * 400 + "\n\n") for _ in range(50)]
    seat.upstream.reply(*long, text_chunk("More."), Pause(gate), text_chunk(" The end."), finish(), DONE)
    await tab.send("Say much.")
    await expect(tab.text).to_contain_text("More.")
    await tab.page.reload()
    await expect(_line(tab)).to_contain_text("What came before was too much to be shown again in full.")
    await expect(tab.text).to_contain_text("First.")
    await expect(tab.page.locator(".act")).to_have_count(0)
    gate.set()
    await tab.is_done()
    await expect(tab.page.locator(".act")).to_have_count(1)
    await expect(_line(tab)).to_have_count(0)
    await expect(tab.text).to_contain_text("The end.")
