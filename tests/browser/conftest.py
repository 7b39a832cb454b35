"""One Chromium, one program and one scripted upstream for each test file, one profile for each test."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright
from upstream import Upstream

from browser.bench import Program, Seat, chromium, config_for, launch, launched, seated


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, a fresh one: after hundreds of profiles it may stop drawing for seconds.

    Without one the tests are skipped, or fail where everything is required.
    """
    path = chromium()
    if path is None:
        reason = "There is no Chromium: install the package `chromium` to run the page's tests."
        (pytest.fail if os.environ.get("ODYSSEUS_REQUIRE_ALL") else pytest.skip)(reason)
    async with async_playwright() as playwright:
        running = await launch(playwright, path)
        yield running
        await running.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def upstream() -> AsyncIterator[Upstream]:
    """The scripted model server of the file; a test counts its requests from where the one before left."""
    async with Upstream() as running:
        yield running


@pytest.fixture(scope="module")
def extra() -> str:
    """Settings of the program beside its endpoint; a test file that needs some has a fixture of this name."""
    return ""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def program(upstream: Upstream, extra: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Program]:
    """`server.py` with the upstream as its endpoint."""
    async with launched(tmp_path_factory.mktemp("program"), config_for(upstream, extra=extra)) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def seat(browser: Browser, program: Program, upstream: Upstream) -> AsyncIterator[Seat]:
    """A fresh profile of the browser."""
    async with seated(browser, program.url, upstream) as fresh:
        yield fresh
