"""Numbers in an answer's text that cite its sources: what they open, and that a reload draws what the stream drew."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, Locator, expect
from sites import Site, serve_site
from upstream import DONE, Pause, Step, Upstream, calls, finish, text_chunk, usage

from browser.bench import Program, Seat, Tab, play, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
TAIL = "\n\nNot `a [1]`, not b[1], not [9], but both [1, 2]."
COPIED = """() => {
    getSelection().selectAllChildren(document.querySelector("article.answer .blocks"));
    return getSelection().toString();
}"""
HIT = """([x, y]) => document.elementFromPoint(x, y)?.closest("button")?.getAttribute("aria-label")"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site() -> AsyncIterator[Site]:
    """A searcher that finds two pages, and those pages."""
    async with serve_site() as running:
        said = {"Ferries": "They leave at nine.", "Quays": "There is a northern quay."}
        rows = [{"title": name, "url": f"{running.origin}/{name}", "content": text} for name, text in said.items()]

        async def found(request: web.Request) -> web.StreamResponse:
            return web.json_response({"results": rows})

        running.play("/search", found)
        for name, text in said.items():
            running.page(f"/{name}", f"{text} It is so.", "text/plain; charset=utf-8")
        yield running


@pytest.fixture(scope="module")
def extra(site: Site) -> str:
    """`server.py` that searches the web at the site."""
    return f'[web]\nsearxng_url = "{site.origin}"\nallow_hosts = ["{site.exempt}"]\n'


def cited(tab: Tab) -> Locator:
    return tab.text.last.get_by_role("button", name="Source ")


def card(tab: Tab) -> Locator:
    return tab.page.locator(".source-card")


async def drawn(tab: Tab) -> str:
    return str(await tab.text.last.evaluate("(node) => node.innerHTML"))


async def cites(tab: Tab, html: str, *more: dict[str, Any]) -> None:
    """An answer with this text and two sources of the web."""
    rows = [
        {"url": f"http://127.0.0.1/{name}", "title": f"The page {name}", "snippet": f"What {name} says. " * 12}
        for name in ("one", "two")
    ]
    html = html.replace("[", '<span class="cite">[').replace("]", "]</span>")
    frames: list[dict[str, Any]] = [
        {"type": "web_sources", "data": rows},
        {"type": "block", "index": 0, "open": False, "html": html},
    ]
    await play(tab, "chat", *frames, *more)


async def test_a_stream_in_ragged_pieces_and_a_reload_draw_the_same(seat: Seat) -> None:
    tab = await seat.tab()
    half, whole = asyncio.Event(), asyncio.Event()
    pieces: list[Step] = [
        text_chunk("They leave at nine "),
        text_chunk("["),
        text_chunk("1"),
        Pause(half),
        text_chunk("]"),
    ]
    pieces += [text_chunk("."), Pause(whole), text_chunk(" From the north [2"), text_chunk("][1]."), text_chunk(TAIL)]
    seat.upstream.reply(*pieces, finish(), usage(), DONE)
    await tab.page.get_by_role("button", name="Search the web").click()
    await tab.send("When do the ferries to Ithaca leave, and from which quay?")
    await expect(tab.text.last).to_have_text("They leave at nine")
    half.set()
    await expect(cited(tab)).to_have_accessible_name("Source 1: Ferries")
    await cited(tab).click()
    await expect(card(tab)).to_contain_text("They leave at nine.")
    await tab.page.keyboard.press("Escape")
    await expect(card(tab)).to_have_count(0)
    await expect(cited(tab)).to_be_focused()
    whole.set()
    await tab.is_done()
    await expect(tab.answers.last).not_to_contain_text("Stopped")

    prompt = json.dumps(seat.upstream.requests[-1].json["messages"])
    assert "[Web source 1 " in prompt
    assert "[Web source 2 " in prompt
    assert "Put [n] behind what source n of this message says." in prompt
    stream = await drawn(tab)
    await expect(cited(tab).locator("span")).to_have_text(["1", "2", "1", "1", "2"])
    await tab.page.reload()
    await expect(cited(tab).locator("span")).to_have_text(["1", "2", "1", "1", "2"])
    assert await drawn(tab) == stream
    assert (await tab.js(COPIED)).startswith("They leave at nine [1]. From the north [2][1].")
    assert "Not a [1], not b[1], not [9], but both [1, 2]." in await tab.js(COPIED)
    await cited(tab).nth(1).click()
    await expect(card(tab)).to_contain_text("There is a northern quay.")


async def test_what_the_agent_found_is_cited_live_and_after_a_reload(seat: Seat, site: Site) -> None:
    tab = await seat.tab()
    await tab.page.get_by_role("button", name="Agent").click()
    seat.upstream.reply(calls(("web_search", {"query": "ferries"}), text="I look [1]."))
    seat.upstream.reply(text_chunk("They leave at nine [1], and not at ten [3]."), finish(), usage(), DONE)
    await tab.ask("When do they leave?")
    for _ in range(2):
        await expect(cited(tab)).to_have_count(2)
        await cited(tab).nth(1).click()
        link = card(tab).get_by_role("link", name="Open")
        await expect(link).to_have_attribute("href", f"{site.origin}/Ferries")
        await expect(link).to_have_attribute("rel", "noopener noreferrer")
        await tab.page.keyboard.press("Escape")
        await expect(tab.answers.last.locator("details.sources summary")).to_have_text("Sources (2)")
        now = await tab.text.last.locator(".block").evaluate_all("(all) => all.map((one) => one.innerHTML)")
        await tab.page.reload()
    await expect(cited(tab)).to_have_count(2)
    assert await tab.text.last.locator(".block").evaluate_all("(all) => all.map((one) => one.innerHTML)") == now


async def test_a_source_is_opened_and_closed_with_the_keyboard(seat: Seat) -> None:
    tab = await seat.tab()
    await cites(tab, "<p>So [1][2].</p>")
    await cited(tab).first.press("Enter")
    await expect(tab.page.get_by_role("dialog", name="Source 1")).to_be_focused()
    await tab.page.keyboard.press("Tab")
    await expect(card(tab).get_by_role("link", name="Open")).to_be_focused()
    await tab.page.keyboard.press("Escape")
    await expect(card(tab)).to_have_count(0)
    await expect(cited(tab).first).to_be_focused()
    await tab.page.keyboard.press("Tab")
    await tab.page.keyboard.press("Space")
    await expect(tab.page.get_by_role("dialog", name="Source 2")).to_be_visible()


async def test_one_is_open_at_a_time_and_its_number_closes_it(seat: Seat) -> None:
    tab = await seat.tab()
    await cites(tab, "<p>So [1] and [2].</p>")
    await cited(tab).first.click()
    await expect(card(tab)).to_contain_text("The page one")
    await cited(tab).last.click()
    await expect(card(tab)).to_have_count(1)
    await expect(card(tab)).to_contain_text("The page two")
    await cited(tab).last.click()
    await expect(card(tab)).to_have_count(0)
    await cited(tab).last.click()
    await tab.field.click()
    await expect(card(tab)).to_have_count(0)
    await expect(tab.field).to_be_focused()


async def test_numbers_that_are_no_source_stay_as_they_were_written(seat: Seat) -> None:
    tab = await seat.tab()
    await cites(tab, "<p>So [3] and [1, 3].</p>")
    await expect(tab.text.last).to_have_text("So [3] and [1, 3].")
    await expect(cited(tab)).to_have_count(0)


async def test_a_passage_of_the_library_says_where_it_is_from(seat: Seat) -> None:
    tab = await seat.tab()
    row = {"doc_id": "1", "filename": "notes/quay.pdf", "snippet": "The northern quay.", "similarity": 0.7, "page": 4}
    await cites(tab, "<p>So [3].</p>", {"type": "rag_sources", "data": [row]})
    await cited(tab).click()
    for text in ("notes/quay.pdf", "Library · page 4", "The northern quay."):
        await expect(card(tab)).to_contain_text(text)
    await expect(card(tab).get_by_role("link")).to_have_count(0)


async def test_a_report_cites_its_findings(seat: Seat) -> None:
    tab = await seat.tab()
    finding = {"text": "It is so.", "source_url": "http://127.0.0.1/two", "source_title": "The page two", "round": 1}
    progress = {"phase": "writing", "research_id": "job"}
    told: list[dict[str, Any]] = [
        {"type": "research_progress", "data": progress},
        {"type": "research_findings", "data": [finding]},
    ]
    await cites(tab, "<p>So [1] and [2].</p>", *told)
    await expect(cited(tab)).to_have_accessible_name("Source 1: The page two")


@pytest.mark.parametrize("phone", [False, True])
async def test_a_source_stays_in_the_window(
    browser: Browser, program: Program, upstream: Upstream, phone: bool
) -> None:
    async with seated(browser, program.url, upstream, **(PHONE if phone else {})) as seat:
        tab = await seat.tab()
        await cites(tab, f"<p>[1] {'So it is. ' * 60}[2][1]</p>")
        for number in (0, 1, 2):
            await (cited(tab).nth(number).tap() if phone else cited(tab).nth(number).click())
            await expect(card(tab)).to_be_in_viewport(ratio=1)
            box, at = await card(tab).bounding_box(), await cited(tab).nth(number).bounding_box()
            assert box
            assert at
            assert box["y"] >= at["y"] + at["height"] or box["y"] + box["height"] <= at["y"], (
                "it does not hide its number"
            )
            await tab.page.keyboard.press("Escape")
            await expect(card(tab)).to_have_count(0)
        if phone:
            at = await cited(tab).first.bounding_box()
            assert at
            middle = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
            for x, y in ((0, 0), (20, 0), (0, 21), (0, -21)):
                assert await tab.js(HIT, [middle[0] + x, middle[1] + y]) == "Source 1: The page one"
            for number in (1, 2):
                at = await cited(tab).nth(number).bounding_box()
                assert at
                hit = await tab.js(HIT, [at["x"] + at["width"] / 2, at["y"] + at["height"] / 2])
                assert str(hit).startswith(f"Source {3 - number}:")
