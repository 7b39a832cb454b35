"""Make the pictures of docs/images again: a real server, the embedded model, a real Chromium.

    .venv/bin/python docs/screenshots.py            # all
    .venv/bin/python docs/screenshots.py settings   # those whose name begins so

Wants the extras `local`, `web` and `test`, an installed model in data/models (two for the comparison, which is left out
otherwise), and a Chromium on the machine. Everything is real but the web that the research reads: docs/little_site.py.
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

from little_site import little_site, settings
from playwright.async_api import Browser, Page, async_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
ANSWER_MS = 900_000
STILL_MS = 500
DESK, PHONE = (1280, 840), (390, 844)
PACKING = """# Packing list

* 30 metres of rope
* Lamp oil
* Two charts of the Ionian Sea

## Before noon

1. See Mentor about the sails.
2. Pay the harbour.
"""

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
    planets = "Mercury, 4,879 km, 0 moons; Earth, 12,742 km, 1 moon; Mars, 6,779 km, 2 moons"
    await ask(page, f"Make a Markdown table of this, with the columns planet, diameter and moons: {planets}.")
    await ask(page, "Write a Python function is_palindrome(word) of two lines. Only the code.")


async def agent(page: Page) -> None:
    """A command that waits for its approval."""
    await page.locator("#mode").get_by_role("button", name="Agent").click()
    await ask(page, "Run the command: python3 --version")


async def documents(page: Page) -> None:
    """A question about a document that is open."""
    await page.evaluate(
        """([title, content]) => fetch("/api/documents", {
            method: "POST", headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ title, content, language: "markdown" }),
        })""",
        ["Packing list", PACKING],
    )
    await show_document(page)
    await ask(page, "Which three things are on the packing list?")


async def show_document(page: Page) -> None:
    """The document beside the chat, as it looks."""
    await page.locator("#documents-open").click()
    await page.locator(".doc-open", has_text="Packing list").click()
    await page.get_by_role("button", name="Preview").click()
    await page.locator(".doc-preview").wait_for()


async def compare(page: Page) -> None:
    """Two models, blind, and the vote that is asked for."""
    await page.evaluate("location.hash = '#compare'")
    await page.get_by_label("Blind").check()
    await page.get_by_label("Question to all models").fill("Suggest three names for a small sailing boat.")
    await page.keyboard.press("Enter")
    await page.get_by_text("Which answer is the best?").wait_for(timeout=ANSWER_MS)


async def research(page: Page) -> None:
    """A question that the little web is read for."""
    await page.locator("#uses-button").click()
    await page.get_by_role("switch", name="Research").check()
    await page.keyboard.press("Escape")
    await ask(page, "What is known of the lighthouse at Skerry Point?")


async def to_top(page: Page) -> None:
    """The beginning of the chat, not its end."""
    await page.evaluate("document.querySelector('#scroller').scrollTop = 0")


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


PARTS: Mapping[str, Part] = {
    "chat": chat,
    "agent": agent,
    "documents": documents,
    "compare": compare,
    "research": research,
    "settings": memories,
}
"""What has to happen before a picture can be taken, each in a chat of its own."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture. An empty `address` is that of the chat which `part` has made; `then` happens before it is taken."""

    part: str
    ready: str
    size: tuple[int, int] = DESK
    dark: bool = False
    address: str = ""
    then: Part | None = None


SHOTS: Mapping[str, Shot] = {
    "chat": Shot("chat", ".block"),
    "chat-dark": Shot("chat", ".block", dark=True),
    "phone": Shot("chat", ".block", PHONE),
    "phone-dark": Shot("chat", ".block", PHONE, dark=True),
    "agent": Shot("agent", ".card"),
    "agent-dark": Shot("agent", ".card", dark=True),
    "documents": Shot("documents", ".block", then=show_document),
    "documents-dark": Shot("documents", ".block", dark=True, then=show_document),
    "compare": Shot("compare", ".compare-cell .block"),
    "compare-dark": Shot("compare", ".compare-cell .block", dark=True),
    "research": Shot("research", ".block", then=to_top),
    "research-dark": Shot("research", ".block", dark=True, then=to_top),
    "settings": Shot("settings", ".section-body > *", address="#settings/memories"),
    "settings-dark": Shot("settings", ".section-body > *", dark=True, address="#settings/tools"),
}


@contextmanager
def running_server(data: Path, config: str) -> Iterator[str]:
    """A server with its own data and settings and this machine's models; gives its address."""
    (data / "models").symlink_to(ROOT / "data" / "models")
    (data / "config.toml").write_text(config, "utf-8")
    where = ["--data", str(data), "--config", str(data / "config.toml")]
    command = [sys.executable, str(ROOT / "server.py"), "--port", "0", *where]
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
    if shot.then:
        await shot.then(page)
    await page.wait_for_timeout(STILL_MS)
    await page.screenshot(path=IMAGES / f"{name}.png")
    await page.close()


def chosen(wanted: tuple[str, ...]) -> dict[str, Shot]:
    """The wanted pictures, without the comparison where there are no two models."""
    two = len(list((ROOT / "data" / "models").glob("*.gguf"))) > 1
    named = {name: shot for name, shot in SHOTS.items() if not wanted or name.startswith(wanted)}
    return {name: shot for name, shot in named.items() if two or shot.part != "compare"}


async def main(wanted: tuple[str, ...]) -> None:
    """Prepare what the wanted pictures show, and take them."""
    shots = chosen(wanted)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    IMAGES.mkdir(parents=True, exist_ok=True)
    async with little_site() as origin, async_playwright() as playwright:
        with tempfile.TemporaryDirectory() as data, running_server(Path(data), settings(origin)) as url:
            browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            parts = dict.fromkeys(shot.part for shot in shots.values())
            addresses = {part: await prepare(browser, url, part) for part in parts}
            for name, shot in shots.items():
                await take(browser, url + shot.address if shot.address else addresses[shot.part], name, shot)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main(tuple(sys.argv[1:])))
