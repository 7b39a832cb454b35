"""Make the pictures of docs/images again: a real server, the embedded model, a real Chromium.

    .venv/bin/python docs/screenshots.py            # all
    .venv/bin/python docs/screenshots.py settings   # those whose name begins so

Wants the `local` and `test` extras, an installed model in data/models, and a Chromium on the machine.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
ANSWER_MS = 300_000
STILL_MS = 500
DESK, PHONE = (1280, 800), (390, 844)

Part = Callable[[Page], Awaitable[None]]


async def ask(page: Page, prompt: str) -> None:
    """Send, and wait for the end of the answer."""
    await page.locator("#message").fill(prompt)
    await page.keyboard.press("Enter")
    await page.locator('#log[aria-busy="true"]').wait_for(timeout=ANSWER_MS)
    await page.locator('#log[aria-busy="false"]').wait_for(timeout=ANSWER_MS)
    print(f"answered: {prompt}", file=sys.stderr)


async def chat(page: Page) -> None:
    """A table and some code."""
    await ask(page, "Make a Markdown table of three planets: name, diameter in km, number of moons.")
    await ask(page, "Write a Python function is_prime(n) of at most eight lines. Only the code.")


async def agent(page: Page) -> None:
    """A command that waits for its approval."""
    await page.locator("#mode").get_by_role("button", name="Agent").click()
    await ask(page, "Run the command: python3 --version")


async def memories(page: Page) -> None:
    """A few things to remember."""
    await page.evaluate(
        """async (texts) => {
            const headers = { "Content-Type": "application/json" };
            const add = (text) => fetch("/api/memories", { method: "POST", headers, body: JSON.stringify({ text }) });
            for (const text of texts) await add(text);
        }""",
        ["Prefers metric units.", "Writes Python with type hints.", "Is called Penelope."],
    )


PARTS: Mapping[str, Part] = {"chat": chat, "agent": agent, "settings": memories}
"""What has to happen before a picture can be taken, each in a chat of its own."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture. An empty `address` is that of the chat which `part` has made."""

    part: str
    ready: str
    size: tuple[int, int] = DESK
    dark: bool = False
    address: str = ""


SHOTS: Mapping[str, Shot] = {
    "chat": Shot("chat", ".block"),
    "chat-dark": Shot("chat", ".block", dark=True),
    "phone": Shot("chat", ".block", PHONE),
    "phone-dark": Shot("chat", ".block", PHONE, dark=True),
    "agent": Shot("agent", ".card"),
    "agent-dark": Shot("agent", ".card", dark=True),
    "settings": Shot("settings", ".section-body > *", address="#settings/memories"),
    "settings-dark": Shot("settings", ".section-body > *", dark=True, address="#settings/tools"),
}


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


async def prepare(browser: Browser, url: str, part: str) -> str:
    """Have something happen; gives the address of its page."""
    page = await browser.new_page()
    await page.goto(url)
    await PARTS[part](page)
    address = page.url
    await page.close()
    return address


async def take(browser: Browser, address: str, name: str, shot: Shot) -> None:
    """One picture."""
    width, height = shot.size
    page = await browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if shot.dark else "light"
    )
    await page.goto(address)
    await page.locator(shot.ready).first.wait_for()
    await page.wait_for_timeout(STILL_MS)
    await page.screenshot(path=IMAGES / f"{name}.png")
    await page.close()


async def main(wanted: tuple[str, ...]) -> None:
    """Prepare what the wanted pictures show, and take them."""
    shots = {name: shot for name, shot in SHOTS.items() if not wanted or name.startswith(wanted)}
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, running_server(Path(data)) as url:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            parts = dict.fromkeys(shot.part for shot in shots.values())
            addresses = {part: await prepare(browser, url, part) for part in parts}
            for name, shot in shots.items():
                await take(browser, url + shot.address if shot.address else addresses[shot.part], name, shot)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main(tuple(sys.argv[1:])))
