"""The page of the calls: it shows every call and every type, at both widths and in both schemes, and is small."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Page, Request, expect

from browser.bench import Program
from browser.test_page_looks import CONTRAST, SMALL, WEIGHT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MOST_BYTES = 10_000


@asynccontextmanager
async def docs(browser: Browser, program: Program, address: str = "", **options: Any) -> AsyncIterator[Page]:
    """The page, read; nothing may go wrong on it, and nothing may come from elsewhere."""
    context = await browser.new_context(**options)
    page, faults = await context.new_page(), list[str]()

    def asked(request: Request) -> None:
        if not request.url.startswith(program.url):
            faults.append(request.url)

    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", asked)
    try:
        await page.goto(f"{program.url}docs{address}")
        await expect(page.locator("#status")).to_contain_text("OpenAPI")
        yield page
        assert faults == []
    finally:
        await context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_every_call_and_type_can_be_read(
    browser: Browser, program: Program, width: int, scheme: Literal["light", "dark"]
) -> None:
    size = {"width": width, "height": 800}
    async with docs(browser, program, viewport=size, color_scheme=scheme, has_touch=width < 500) as page:
        told = await (await page.request.get(f"{program.url}openapi.json")).json()
        calls = [operation["operationId"] for methods in told["paths"].values() for operation in methods.values()]
        types = [f"schema-{name}" for name in told["components"]["schemas"]]
        shown = await page.locator("details").evaluate_all("nodes => nodes.map((node) => node.id)")
        assert sorted(shown) == sorted(calls + types)
        await page.locator("details").evaluate_all("nodes => nodes.forEach((node) => { node.open = true; })")
        await expect(page.locator("details:not(:has(.inside))")).to_have_count(0)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await page.evaluate(CONTRAST) == []
        if width < 500:
            assert await page.evaluate(SMALL) == []


async def test_a_call_shows_its_fields_its_answers_and_how_to_make_it(browser: Browser, program: Program) -> None:
    async with docs(browser, program, "#send") as page:
        call = page.locator("#send")
        await expect(call).to_have_attribute("open", "")
        await expect(call.locator("dt.must", has_text="session")).to_be_visible()
        example = (
            f'curl -N \'{program.url}api/chat_stream\' --json \'{{"session":"{{session}}","message":"Say hello."}}\''
        )
        await expect(call.locator("pre")).to_have_text(example)
        await call.get_by_role("link", name="ChatStreamEvent").click()
        event = page.locator("#schema-ChatStreamEvent")
        await expect(event).to_have_attribute("open", "")
        await event.get_by_role("link", name="ChatFrame").click()
        await page.locator("#schema-ChatFrame").get_by_role("link", name="ChatEvent").click()
        await page.locator("#schema-ChatEvent").get_by_role("link", name="ToolOutputFrame").click()
        await expect(page.locator("#schema-ToolOutputFrame")).to_contain_text("exit_code")


async def test_the_calls_can_be_filtered(browser: Browser, program: Program) -> None:
    async with docs(browser, program) as page:
        await page.get_by_role("searchbox").fill("delete session")
        await expect(page.locator("#deleteSession")).to_be_visible()
        await expect(page.locator("#send")).to_be_hidden()
        await page.get_by_role("searchbox").fill("")
        await expect(page.locator("#send")).to_be_visible()


async def test_the_page_is_small(browser: Browser, program: Program) -> None:
    async with docs(browser, program) as page:
        assert 0 < await page.evaluate(WEIGHT) < MOST_BYTES
