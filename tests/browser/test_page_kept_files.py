"""Files that wait in the composer over a reload, those that are gone meanwhile, and those that are too large."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import expect

from browser.bench import Seat, Tab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def extra() -> str:
    """`server.py` that takes files up to 1.5 MB."""
    return "[uploads]\nmax_file_bytes = 1_500_000\n"


async def attach(tab: Tab, name: str, data: bytes) -> None:
    chosen: Any = {"name": name, "mimeType": "text/plain", "buffer": data}
    await tab.page.locator("#attach-files").set_input_files(chosen)


async def test_attached_files_are_there_after_a_reload_and_go_with_the_message(seat: Seat) -> None:
    tab = await seat.tab()
    await attach(tab, "ferry.txt", b"The ferry leaves at nine.")
    await expect(tab.page.locator("#files .file[data-state='ready']")).to_have_count(1, timeout=30_000)
    await tab.page.reload()
    await expect(tab.page.locator("#files .file[data-state='ready']")).to_contain_text("ferry.txt")
    await tab.ask("When does it leave?")
    assert "The ferry leaves at nine." in json.dumps(seat.upstream.requests[-1].json["messages"])
    await tab.page.reload()
    await expect(tab.answers).to_have_count(1)
    await expect(tab.page.locator("#files .file")).to_have_count(0)


async def test_a_file_that_is_gone_meanwhile_says_so(seat: Seat) -> None:
    tab = await seat.tab()
    gone = [{"id": "f" * 32, "name": "old.txt", "size": 3}]
    await tab.js("(files) => localStorage.setItem('odysseus.files.new', JSON.stringify(files))", gone)
    await tab.page.reload()
    chip = tab.page.locator("#files .file")
    await expect(chip).to_contain_text("It is no longer kept. Attach it again.")
    await tab.field.fill("Hello")
    await expect(tab.page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    await chip.get_by_role("button", name="Remove old.txt").click()
    await tab.field.press("Enter")
    await expect(tab.answers).to_have_count(1)


async def test_a_file_that_is_too_large_is_told_in_its_own_words(seat: Seat) -> None:
    tab = await seat.tab()
    await attach(tab, "film.txt", bytes(2_000_000))
    await expect(tab.page.locator("#files .file")).to_contain_text("larger than the limit of 1,500,000 bytes")
