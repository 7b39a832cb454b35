"""Make the pictures of docs/images again: a real server, the embedded model, a real Chromium.

    .venv/bin/python docs/screenshots.py

Wants the `local` and `test` extras, an installed model in data/models, and a Chromium on the machine.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PROMPTS = (
    "Make a Markdown table of three planets: name, diameter in km, number of moons.",
    "Write a Python function is_prime(n) of at most eight lines. Only the code.",
)
VIEWS = {
    "chat": (1280, 800, "light"),
    "chat-dark": (1280, 800, "dark"),
    "phone": (390, 844, "light"),
    "phone-dark": (390, 844, "dark"),
}
ANSWER_MS = 300_000


@contextmanager
def running_server(data: Path) -> Iterator[str]:
    """A server with its own data and this machine's models; gives its address."""
    (data / "models").symlink_to(ROOT / "data" / "models")
    command = [sys.executable, str(ROOT / "server.py"), "--port", "0", "--data", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield json.loads(process.stdout.readline().removeprefix("ODYSSEUS_READY "))["url"]
    finally:
        process.terminate()
        process.wait()


async def chat(browser: Browser, url: str) -> str:
    """Have the conversation; gives the address of its page."""
    page = await browser.new_page()
    await page.goto(url)
    for number, prompt in enumerate(PROMPTS, 1):
        await page.locator("textarea").fill(prompt)
        await page.keyboard.press("Enter")
        await page.locator('[role="log"][aria-busy="true"]').wait_for(timeout=ANSWER_MS)
        await page.locator('[role="log"][aria-busy="false"]').wait_for(timeout=ANSWER_MS)
        print(f"answer {number} of {len(PROMPTS)}", file=sys.stderr)
    return page.url


async def take(browser: Browser, url: str) -> None:
    """One picture for each view."""
    for name, (width, height, scheme) in VIEWS.items():
        context = await browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
        )
        page = await context.new_page()
        await page.goto(url)
        await page.locator(".block").first.wait_for()
        await page.wait_for_timeout(500)
        await page.screenshot(path=IMAGES / f"{name}.png")
        await context.close()


async def main() -> None:
    """Chat, then take every view of it."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, running_server(Path(data)) as url:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            await take(browser, await chat(browser, url))
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
