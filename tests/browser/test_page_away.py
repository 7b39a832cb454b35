"""The page opens without the server, says so, and goes on when it is back; a new release takes the place of the old."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect
from upstream import DONE, Hang, Pause, Upstream, finish, text_chunk, usage

from browser.bench import SERVER, Program, Seat, Tab, config_for, seated, words

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

AWAY = "The server is not running. Start it with python server.py."
KEPT = """(async () => {
    const { active, installing, waiting } = await navigator.serviceWorker.ready;
    const name = document.querySelector("script[src]").src.match(/v-([0-9a-f]+)/)[1];
    return active.state === "activated" && !installing && !waiting && (await caches.has(`page-${name}`));
})()"""
VERSIONS = """[...new Set(performance.getEntriesByType("resource")
    .map(({ name }) => name.match(/\\/static\\/(v-[0-9a-f]+)?/)).filter(Boolean).map((found) => found[1]))]"""


@pytest_asyncio.fixture(loop_scope="session")
async def own(tmp_path: Path, upstream: Upstream) -> AsyncIterator[Program]:
    """A program of the test's own, from a copy whose page may be changed."""
    for name in ("odysseus", "static"):
        shutil.copytree(SERVER.parent / name, tmp_path / "copy" / name, ignore=shutil.ignore_patterns("__pycache__"))
    script = Path(shutil.copy(SERVER, tmp_path / "copy"))
    program = Program(tmp_path / "place", config_for(upstream), script=script)
    await program.start()
    yield program
    await program.stop()


async def kept(seat: Seat) -> Tab:
    """The page in a tab, with its files kept."""
    tab = await seat.tab()
    await tab.until(KEPT)
    return tab


async def test_the_page_opens_without_the_server_and_goes_on_when_it_is_back(
    browser: Browser, own: Program, upstream: Upstream
) -> None:
    async with seated(browser, own.url, upstream, service_workers="allow") as seat:
        upstream.reply(*words(1))
        tab = await kept(seat)
        away = tab.page.locator("#away")
        await tab.ask("Go.")
        await tab.field.fill("A draft")
        await own.stop()
        await tab.page.reload()
        await expect(away).to_contain_text(AWAY)
        await expect(tab.page.locator("#alert")).to_be_hidden()
        await expect(tab.field).to_have_value("A draft")
        await own.start()
        await expect(away).to_be_hidden()
        await expect(tab.questions).to_have_text(["Go."])
        await expect(tab.page.locator("#picker-name")).to_have_text("fake-model")
        await expect(tab.field).to_have_value("A draft")


async def test_another_release_takes_the_place_of_the_last_one_whole(
    browser: Browser, own: Program, upstream: Upstream
) -> None:
    async with seated(browser, own.url, upstream, service_workers="allow") as seat:
        tab = await kept(seat)
        index = own.script.parent / "static" / "index.html"
        index.write_text(index.read_text("utf-8").replace("Where shall we begin?", "Where shall we go?"), "utf-8")
        greeting = tab.page.locator(".greeting")
        for _ in range(2):
            await tab.page.reload()
            await expect(greeting).to_have_text("Where shall we go?")
            assert len(await tab.js(VERSIONS)) == 1
            await tab.until(KEPT)
        await own.stop()
        await tab.page.reload()
        await expect(greeting).to_have_text("Where shall we go?")
        assert len(await tab.js(VERSIONS)) == 1


async def test_an_answer_comes_through_as_it_is_written(browser: Browser, program: Program, upstream: Upstream) -> None:
    async with seated(browser, program.url, upstream, service_workers="allow") as seat:
        upstream.reply(*words(2), Hang())
        tab = await kept(seat)
        await tab.page.reload()
        assert await tab.js("navigator.serviceWorker.controller !== null")
        await tab.send("Go.")
        await expect(tab.text.locator(".block")).to_have_count(2)
        assert await tab.js("caches.match('/api/models').then((found) => found === undefined)")
        await tab.stop.click()
        await tab.is_done()


WANTED = {
    "the settings": (lambda tab: tab.page.get_by_role("link", name="Settings"), "dialog#settings"),
    "the commands": (lambda tab: tab.page.get_by_role("button", name="Commands"), "dialog[open] input"),
    "a comparison": (lambda tab: tab.page.get_by_role("link", name="Compare"), 'role=region[name="Compare models"]'),
    "the research": (lambda tab: tab.page.get_by_role("button", name="Research"), "dialog[open]"),
    "the documents": (lambda tab: tab.page.get_by_role("button", name="Documents"), "#document"),
}


@pytest.mark.parametrize(("way", "part"), WANTED.values(), ids=WANTED.keys())
async def test_a_part_that_cannot_be_loaded_says_so_and_comes_when_it_can(
    seat: Seat, way: Callable[[Tab], Locator], part: str
) -> None:
    seat.expected = ["cannot be loaded"]
    tab = await seat.tab()
    await tab.page.route("**/views/**", lambda route: route.abort("connectionrefused"))
    await way(tab).click()
    alert = tab.page.get_by_role("alert").filter(has_text="cannot be loaded. Is the server still running?")
    await expect(alert).to_be_visible()
    await expect(tab.page.locator(part)).to_have_count(0)
    await tab.page.unroute("**/views/**")
    await tab.js("location.hash = ''")
    await way(tab).click()
    await expect(tab.page.locator(part)).to_be_visible()
    await expect(alert).to_be_hidden()


async def test_what_waits_to_be_sent_is_sent_though_its_list_could_not_be_loaded(seat: Seat) -> None:
    seat.expected = ["cannot be loaded"]
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk("One two"), Pause(gate), text_chunk(" three."), finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    await tab.page.route("**/views/queue.js", lambda route: route.abort("connectionrefused"))
    await tab.send("And this.")
    await expect(tab.page.locator("#alert")).to_contain_text("cannot be loaded")
    await tab.page.unroute("**/views/queue.js")
    gate.set()
    await expect(tab.questions).to_have_text(["Count.", "And this."])
    await tab.is_done()
