"""The page fits its window at both widths and in both schemes, and can be used by keyboard and by touch."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from playwright.async_api import Browser, expect
from upstream import DONE, Pause, Upstream, finish, text_chunk, usage

from browser.bench import Program, Tab, seated
from browser.test_page_accessible import WIDE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

START_BYTES = 60_000
"""What the page may load to start, of its own script and style, as it comes over the wire."""

SMALL = """[...document.querySelectorAll("button, nav a, input")]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.disabled)
    .filter((node) => node.getBoundingClientRect().height < 40)
    .map((node) => node.id || node.className)"""
WEIGHT = """() => performance.getEntriesByType("resource")
    .filter(({ name }) => /\\.(js|css)$/.test(name))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)"""
CONTRAST = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const backOf = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const color = rgb(getComputedStyle(at).backgroundColor);
            if (color[3] === 255) return color;
        }
        return [255, 255, 255];
    };
    const weak = [];
    for (const node of document.querySelectorAll("body *")) {
        const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
        const shown = node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
        if (!own || node.disabled || !shown) continue;
        const [a, b] = [light(rgb(getComputedStyle(node).color)), light(backOf(node))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        const name = `${node.tagName}.${node.className} "${node.textContent.slice(0, 20)}"`;
        if (ratio < 4.5) weak.push(`${name} ${ratio.toFixed(2)}`);
    }
    return weak;
}"""


async def fits(tab: Tab) -> None:
    """Nothing sticks out sideways, and every text can be read."""
    assert await tab.js("document.documentElement.scrollWidth <= innerWidth")
    assert await tab.js("document.body.scrollWidth <= innerWidth && document.body.scrollHeight <= innerHeight")
    assert await tab.js(
        "(() => { const s = document.querySelector('#scroller'); return s.scrollWidth <= s.clientWidth; })()"
    )
    assert await tab.js(CONTRAST) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
async def test_wide_content_scrolls_inside_itself(
    browser: Browser, program: Program, upstream: Upstream, width: int, scheme: Literal["light", "dark"]
) -> None:
    phone = width < 500
    size = {"width": width, "height": 844 if phone else 800}
    options = {"viewport": size, "color_scheme": scheme, "has_touch": phone, "is_mobile": phone}
    async with seated(browser, program.url, upstream, **options) as seat:
        tab = await seat.tab()
        await fits(tab)
        gate = asyncio.Event()
        upstream.reply(text_chunk(WIDE), Pause(gate), text_chunk("\nThe end."), finish(), usage(), DONE)
        await tab.send("Show me everything. " + "w" * 300)
        await expect(tab.text.locator("table")).to_be_visible()
        await fits(tab)
        gate.set()
        await tab.is_done()
        await fits(tab)
        for name in ("Code", "Table", "Formula"):
            box = tab.text.get_by_role("region", name=name)
            await box.focus()
            await tab.page.keyboard.press("ArrowRight")
            await tab.until(f"document.activeElement.ariaLabel === '{name}' && document.activeElement.scrollLeft > 0")
        if phone:
            await tab.page.get_by_role("button", name="Show chats").tap()
            await expect(tab.page.locator("#search")).to_be_in_viewport()
            await fits(tab)
            assert await tab.js(SMALL) == []


async def test_the_drawer_opens_and_closes_on_a_phone(browser: Browser, program: Program, upstream: Upstream) -> None:
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    async with seated(browser, program.url, upstream, **options) as seat:
        tab = await seat.tab()
        await tab.ask("A chat on the phone")
        side = tab.page.locator("#side")
        await expect(side).not_to_be_in_viewport()
        await tab.page.get_by_role("button", name="Show chats").tap()
        await expect(side).to_be_in_viewport()
        await tab.page.locator("#scrim").tap(position={"x": 380, "y": 400})
        await expect(side).not_to_be_in_viewport()
        await tab.page.get_by_role("button", name="Show chats").tap()
        await side.get_by_role("link", name="A chat on the phone").tap()
        await expect(side).not_to_be_in_viewport()


async def _focus(tab: Tab) -> bool:
    """Whether the focus is inside the drawer."""
    return bool(await tab.js("document.querySelector('#side').contains(document.activeElement)"))


async def test_the_drawer_keeps_the_focus_until_it_is_left(
    browser: Browser, program: Program, upstream: Upstream
) -> None:
    async with seated(browser, program.url, upstream, viewport={"width": 640, "height": 400}) as seat:
        tab = await seat.tab()
        await tab.ask("A chat at twice the size")
        menu = tab.page.get_by_role("button", name="Show chats")
        await menu.focus()
        await tab.page.keyboard.press("Enter")
        assert await _focus(tab)
        assert await tab.js("document.querySelector('#main').inert")
        for _ in range(12):
            await tab.page.keyboard.press("Tab")
            assert await _focus(tab) or await tab.js("document.activeElement === document.body")
        await tab.page.keyboard.press("Escape")
        await expect(tab.page.locator("body")).to_have_attribute("data-drawer", "closed")
        await expect(menu).to_be_focused()
        await tab.page.keyboard.press("Enter")
        await tab.page.set_viewport_size({"width": 1280, "height": 800})
        await tab.field.click()
        await expect(tab.field).to_be_focused()


async def test_forced_colours_leave_every_box_its_border(
    browser: Browser, program: Program, upstream: Upstream
) -> None:
    async with seated(browser, program.url, upstream, forced_colors="active") as seat:
        upstream.reply(b'{"error": {"message": "Not allowed."}}', status=400)
        tab = await seat.tab()
        await tab.send("Hello?")
        await expect(tab.page.locator("article.question .outcome")).to_be_visible()
        for box in (".question .bubble", ".question .outcome", ".row a[aria-current]"):
            assert await tab.page.locator(box).evaluate("(node) => getComputedStyle(node).borderTopStyle") == "solid", (
                box
            )


async def test_code_without_a_language_has_no_empty_head(
    browser: Browser, program: Program, upstream: Upstream
) -> None:
    async with seated(browser, program.url, upstream) as seat:
        upstream.reply(text_chunk("```\nplain\n```\n\n```python\nx = 1\n```\n"), finish(), usage(), DONE)
        tab = await seat.tab()
        await tab.ask("Show me both.")
        heights = await tab.text.locator("pre").evaluate_all("(all) => all.map((node) => node.offsetHeight)")
        assert heights[0] < heights[1] - 15


async def test_everything_loads_from_this_server_and_is_small(
    browser: Browser, program: Program, upstream: Upstream
) -> None:
    async with seated(browser, program.url, upstream) as seat:
        tab = await seat.tab()
        assert 10_000 < await tab.js(WEIGHT) <= START_BYTES
        assert await tab.page.locator("[style], script:not([src]), style").count() <= 1  # the field's own height
