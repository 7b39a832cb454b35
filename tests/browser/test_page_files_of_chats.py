"""Chats as files on the page: exported from the list, read without a network, and imported again."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect
from upstream import Upstream, finish, reasoning_chunk, text_chunk

from browser.bench import Seat, Tab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def exported(tab: Tab, word: str, ending: str, folder: Path) -> Path:
    """The file that the chat's menu gives."""
    row = tab.page.locator(".session", has=tab.page.locator("a[aria-current='page']"))
    await row.hover()
    await row.locator(".more").click()
    await row.get_by_role("button", name="Export").click()
    async with tab.page.expect_download() as download:
        await row.get_by_role("link", name=word).click()
    path = folder / f"chat{ending}"
    await (await download.value).save_as(path)
    return path


async def test_a_chat_leaves_as_a_file_and_comes_back(
    seat: Seat, upstream: Upstream, browser: Browser, tmp_path: Path
) -> None:
    tab = await seat.tab()
    code = "```python\nprint('hi')\n```"
    evil = '<img src="https://example.com/x.png"> ![x](https://example.com/y.png)'
    upstream.reply(reasoning_chunk("a thought"), text_chunk(f"**Bold** {evil}\n\n{code}"), finish())
    await tab.ask("To be kept")
    await expect(tab.answers).to_have_count(1)
    await expect(tab.answers.locator("strong")).to_have_text("Bold")
    session = await tab.session()
    page_file = await exported(tab, "Web page", ".html", tmp_path)
    json_file = await exported(tab, "JSON", ".json", tmp_path)

    offline = await browser.new_context(offline=True, java_script_enabled=False)
    asked: list[str] = []
    offline.on("request", lambda request: asked.append(request.url))
    reader = await offline.new_page()
    await reader.goto(page_file.as_uri())
    await expect(reader.locator("article strong")).to_have_text("Bold")
    await expect(reader.locator(".hl")).to_be_visible()
    await expect(reader.get_by_text("a thought")).not_to_be_visible()
    await reader.get_by_text("Reasoning").click()
    await expect(reader.get_by_text("a thought")).to_be_visible()
    assert len(asked) == 1
    assert await reader.locator("script").count() == 0
    await offline.close()

    async with tab.page.expect_file_chooser() as chooser:
        await tab.page.get_by_role("button", name="Import a chat").click()
    await (await chooser.value).set_files(json_file)
    await expect(tab.page.locator(".session a[aria-current='page']")).not_to_have_attribute("href", f"#{session}")
    await expect(tab.answers.locator("strong")).to_have_text("Bold")
    async with tab.page.expect_file_chooser() as chooser:
        await tab.page.get_by_role("button", name="Import a chat").click()
    await (await chooser.value).set_files({"name": "x.json", "mimeType": "application/json", "buffer": b"{}"})
    await expect(tab.page.locator("#alert-text")).to_contain_text("no chat that Odysseus exported")
