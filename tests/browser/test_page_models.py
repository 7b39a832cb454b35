"""Choosing a model, adding an endpoint, and the ways out when the embedded model is missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from upstream import Upstream

from browser.bench import Program, Seat, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


EMBEDDED = '[[endpoints]]\nid = "local"\nkind = "local"\nlabel = "Embedded model"\n'


@asynccontextmanager
async def first_day(browser: Browser, upstream: Upstream, folder: Path, network: str = "") -> AsyncIterator[Seat]:
    """The program with nothing but an embedded model that is not installed. `network` is the proxy to the outside."""
    proxied = {"HTTPS_PROXY": network, "HTTP_PROXY": network, "NO_PROXY": "127.0.0.1", "PIP_RETRIES": "0"}
    lower = {name.lower(): value for name, value in proxied.items()}
    program = Program(folder, EMBEDDED, {**proxied, **lower} if network else {})
    await program.start()
    try:
        async with seated(browser, program.url, upstream) as fresh:
            yield fresh
    finally:
        await program.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def bare(browser: Browser, upstream: Upstream, tmp_path: Path) -> AsyncIterator[Seat]:
    """The program on its first day."""
    async with first_day(browser, upstream, tmp_path) as fresh:
        yield fresh


async def test_the_chosen_model_answers_and_is_remembered(seat: Seat) -> None:
    seat.upstream.models = ("fake-model", "other-model")
    tab = await seat.tab()
    await tab.ask("With the first one.")
    await tab.page.locator("#picker-button").click()
    await tab.page.get_by_role("button", name="other-model").click()
    await expect(tab.page.locator("#picker-panel")).to_be_hidden()
    await expect(tab.page.locator("#picker-name")).to_have_text("other-model")
    await tab.ask("With the second one.")
    assert [request.json["model"] for request in seat.upstream.requests[-2:]] == ["fake-model", "other-model"]
    await tab.page.reload()
    await expect(tab.page.locator("#picker-name")).to_have_text("other-model")


async def test_the_model_of_a_new_chat_is_remembered_while_its_endpoint_exists(seat: Seat) -> None:
    seat.upstream.models = ("fake-model", "other-model")
    tab = await seat.tab()
    name = tab.page.locator("#picker-name")
    await tab.page.locator("#picker-button").click()
    await tab.page.get_by_role("button", name="other-model").click()
    await tab.page.reload()
    await expect(name).to_have_text("other-model")
    await tab.ask("With the second one.")
    assert seat.upstream.requests[-1].json["model"] == "other-model"
    gone = '{"endpoint_id": "gone", "model": "lost"}'
    await tab.js("(route) => localStorage.setItem('odysseus.choice', route)", gone)
    await tab.open()
    await tab.page.reload()
    await expect(name).to_have_text("fake-model")


async def test_the_dialog_gives_the_focus_back_to_what_opened_it(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.page.locator("#picker-button").click()
    await tab.page.get_by_role("button", name="Endpoints…").click()
    await expect(tab.page.get_by_role("dialog", name="Settings")).to_be_visible()
    await tab.page.keyboard.press("Escape")
    await expect(tab.page.locator("#picker-button")).to_be_focused()


async def test_escape_closes_the_picker_and_not_the_answer(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.page.locator("#picker-button").click()
    await expect(tab.page.locator("#picker-panel")).to_contain_text("Upstream")
    await expect(tab.page.locator("#picker-panel")).to_contain_text("Ready")
    await tab.page.keyboard.press("Escape")
    await expect(tab.page.locator("#picker-panel")).to_be_hidden()
    await expect(tab.page.locator("#picker-button")).to_be_focused()


async def test_a_missing_model_is_told_with_two_ways_out(bare: Seat) -> None:
    tab = await bare.tab()
    notice = tab.page.locator("#missing")
    await expect(notice).to_contain_text("not installed")
    await expect(notice.get_by_role("button", name="Install it")).to_be_visible()
    await tab.send("Hello?")
    await expect(tab.page.locator("#alert")).to_contain_text("first")
    await expect(tab.page.locator(".session")).to_have_count(0)
    await expect(tab.field).to_have_value("Hello?")
    await notice.get_by_role("button", name="Add an endpoint").click()
    form = tab.page.get_by_role("dialog", name="Settings")
    await form.get_by_label("Address").fill(bare.upstream.base_url)
    await form.get_by_label("Name").fill("Mine")
    await form.get_by_role("button", name="Add endpoint").click()
    await expect(form.locator("#endpoint-result")).to_contain_text("Mine was added")
    await form.get_by_role("button", name="Close").click()
    await expect(notice).to_be_hidden()
    await tab.field.press("Enter")
    await expect(tab.text).to_have_text("Hello from the upstream.")


async def test_an_added_endpoint_is_removed_only_when_confirmed(bare: Seat) -> None:
    tab = await bare.tab()
    await tab.page.locator("#missing").get_by_role("button", name="Add an endpoint").click()
    form = tab.page.get_by_role("dialog", name="Settings")
    await form.get_by_label("Address").fill(bare.upstream.base_url)
    await form.get_by_label("Key").fill("sk-secret")
    await form.get_by_role("button", name="Add endpoint").click()
    await expect(form.locator("#endpoint-result")).to_contain_text("was added")
    row = form.get_by_role("listitem").filter(has_text=bare.upstream.base_url)
    await expect(row).to_contain_text("with a key")
    assert "sk-secret" not in await tab.page.content()
    await row.get_by_role("button", name="Remove").click()
    await row.get_by_role("button", name="Keep").click()
    await row.get_by_role("button", name="Remove").click()
    await row.get_by_role("button", name="Remove for good").click()
    await expect(row).to_have_count(0)


async def test_a_wrong_address_is_told_in_words(bare: Seat) -> None:
    tab = await bare.tab()
    await tab.page.locator("#missing").get_by_role("button", name="Add an endpoint").click()
    form = tab.page.get_by_role("dialog", name="Settings")
    await form.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    await form.get_by_role("button", name="Add endpoint").click()
    await expect(form.locator("#endpoint-result")).to_have_attribute("data-tone", "bad")
    await expect(form.locator("#endpoint-result")).to_contain_text("cannot be reached")


async def test_a_failed_installation_is_told_in_words(browser: Browser, upstream: Upstream, tmp_path: Path) -> None:
    async with first_day(browser, upstream, tmp_path, "http://127.0.0.1:9") as seat:
        tab = await seat.tab()
        notice = tab.page.locator("#missing")
        await notice.get_by_role("button", name="Install it").click()
        await expect(notice).to_contain_text("could not be installed", timeout=20_000)
        assert "127.0.0.1" not in await notice.inner_text()
        await expect(notice.get_by_role("button", name="Try again")).to_be_visible()
        await expect(notice.get_by_role("button", name="Add an endpoint")).to_be_visible()


async def test_an_installation_shows_its_progress_and_can_be_cancelled(
    browser: Browser, upstream: Upstream, tmp_path: Path
) -> None:
    async def hold(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        writer.close()

    release = asyncio.Event()
    async with await asyncio.start_server(hold, "127.0.0.1", 0) as silent:
        network = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
        async with first_day(browser, upstream, tmp_path, network) as seat:
            tab = await seat.tab()
            notice = tab.page.locator("#missing")
            await notice.get_by_role("button", name="Install it (491 MB, Apache-2.0)").click()
            await expect(notice.get_by_role("progressbar")).to_be_visible()
            other = await seat.tab()
            await expect(other.page.get_by_role("progressbar")).to_be_visible()
            await other.page.get_by_role("button", name="Cancel").click()
            await expect(other.page.get_by_role("button", name="Cancelling…")).to_be_disabled()
            release.set()
            await expect(other.page.get_by_role("button", name="Install it")).to_be_visible()
            await tab.front()
            await expect(notice.get_by_role("button", name="Install it")).to_be_visible()


async def test_an_installation_that_another_browser_began_is_joined(
    browser: Browser, upstream: Upstream, tmp_path: Path
) -> None:
    async def hold(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        writer.close()

    release = asyncio.Event()
    async with await asyncio.start_server(hold, "127.0.0.1", 0) as silent:
        network = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
        async with first_day(browser, upstream, tmp_path, network) as one, seated(browser, one.url, upstream) as two:
            waiting, watching = await two.tab(), await two.tab()
            first = await one.tab()
            await first.page.get_by_role("button", name="Install it").click()
            await expect(first.page.get_by_role("progressbar")).to_be_visible()
            await watching.js("dispatchEvent(new Event('focus'))")
            await expect(watching.page.get_by_role("progressbar")).to_be_visible()
            await waiting.page.get_by_role("button", name="Install it").click()
            await expect(waiting.page.get_by_role("progressbar")).to_be_visible()
            await expect(waiting.page.locator("#missing")).not_to_contain_text("could not")
            release.set()
