"""Every view fits: on phones, tablets and desks, at twice the size, for fingers, and in forced colours."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser
from upstream import Upstream

from browser.bench import Program, seated
from browser.test_page_accessible import STILL, VIEWS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WIDTHS = (1280, 768, 640, 390, 320)
"""640 is a window of 1280 at twice the size, 320 one at four times, which has to flow anew."""

FITS = Path(__file__).with_name("fits.js").read_text("utf-8")
FORCED = Path(__file__).with_name("forced.js").read_text("utf-8")


@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_fits_and_can_be_touched(
    browser: Browser, program: Program, upstream: Upstream, view: str
) -> None:
    faults: dict[str, str] = {}
    async with seated(browser, program.url, upstream, reduced_motion="reduce", has_touch=True) as seat:
        tab = await seat.tab()
        await VIEWS[view](tab, upstream)
        coarse = await tab.js("matchMedia('(pointer: coarse)').matches")
        for width in WIDTHS:
            await tab.page.set_viewport_size({"width": width, "height": 800})
            await tab.js(STILL)
            for fault in await tab.js(FITS, coarse or width <= 760):
                faults.setdefault(fault, str(width))
        await tab.page.set_viewport_size({"width": 1280, "height": 800})
        await tab.page.emulate_media(forced_colors="active")
        await tab.page.keyboard.press("Tab")
        faults |= dict.fromkeys(await tab.js(FORCED), "forced colours")
    assert not faults, "\n".join(f"{look}: {fault}" for fault, look in faults.items())


async def test_what_does_not_fit_would_be_seen(browser: Browser, program: Program, upstream: Upstream) -> None:
    async with seated(browser, program.url, upstream, has_touch=True) as seat:
        tab = await seat.tab()
        await tab.js(
            """() => {
                const ids = ["send", "documents-open", "attach", "uses-button"];
                const [send, menu, attach, uses] = ids.map((id) => document.getElementById(id));
                send.disabled = false;
                send.style.position = "fixed";
                send.style.left = `${innerWidth - 10}px`;
                menu.style.width = "20px";
                attach.style.position = "relative";
                attach.style.left = `${uses.getBoundingClientRect().left - attach.getBoundingClientRect().left}px`;
                attach.style.zIndex = "1";
            }"""
        )
        found = "\n".join(await tab.js(FITS, True))
        await tab.page.emulate_media(forced_colors="active")
        await tab.page.keyboard.press("Tab")
        await tab.js("document.styleSheets[0].insertRule('#use-web { outline: 0 !important }', 0)")
        found += "\n".join(await tab.js(FORCED))
    for fault in ("cut by the window: button#send", "small for a finger: button#documents-open"):
        assert fault in found
    assert "button#uses-button" in found.partition("under button#attach")[2]
    assert "a focus that is not seen: button#use-web" in found
