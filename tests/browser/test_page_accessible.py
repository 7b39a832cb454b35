"""No view has what axe-core calls a fault, in both schemes and at both widths. A new view is one line of VIEWS."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Browser, expect
from upstream import DONE, Upstream, calls, finish, reasoning_chunk, text_chunk, usage

from browser.bench import Program, Tab, play, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LOOKS = [(1280, "light"), (390, "dark"), (390, "light"), (1280, "dark")]
STILL = """async () => {
    for (const node of document.querySelectorAll(".settled")) node.classList.remove("settled");
    for (let i = 0; i < 2; i += 1) await new Promise(requestAnimationFrame);
    const ends = document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity);
    await Promise.allSettled(ends.map(({ finished }) => finished));
}"""
RUN = """() => axe.run({ resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) =>
        `${id}: ${help} at ${target.join(" ")} (${failureSummary.split("\\n").slice(1, 3).join(";")})`)))"""
TEXT = (
    "# A heading\n\nWords with `code`, a [link](https://example.com), **weight**.\n\n"
    "```python\ndef ship(n: int) -> str:\n"
    '    return f"{n} oars"  # a comment\n```\n\n| Day | Wind |\n|---|---|\n| 1 | 3.5 |\n\n> A quote\n\n'
    "1. One\n2. Two\n   - [x] done\n\n$$\nx^2 + y^2\n$$\n\n```diff\n- old\n+ new\n```\n"
)

WIDE = (
    "A line that has " + "averylongwordwithoutanybreak" * 12 + "\n\n```python\nvalue = '" + "x" * 400 + "'\n```\n\n"
    "| "
    + " | ".join(f"Column number {n}" for n in range(12))
    + " |\n|"
    + "--|" * 12
    + "\n| "
    + " | ".join(["cell"] * 12)
    + " |\n\n"
    "$$" + "a + " * 60 + "b$$\n"
)


async def start(_: Tab, __: Upstream) -> None:
    """The page as it opens."""


async def chat(tab: Tab, upstream: Upstream) -> None:
    upstream.reply(reasoning_chunk("Hm."), text_chunk(TEXT), finish(), usage(), DONE)
    await tab.ask("Show me everything.")
    await tab.answers.locator("summary").first.click()


async def cited(tab: Tab, _: Upstream) -> None:
    row = {"url": "https://example.com/", "title": "An example", "snippet": "It is so."}
    html = '<p>So it is <span class="cite">[1]</span><span class="cite">[2]</span>.</p>'
    frames: list[dict[str, Any]] = [
        {"type": "web_sources", "data": [row]},
        {"type": "block", "index": 0, "open": False, "html": html},
    ]
    await play(tab, "chat", *frames)
    await tab.text.get_by_role("button", name="Source 1: An example").click()
    await expect(tab.page.get_by_role("dialog", name="Source 1")).to_be_visible()


async def failed(tab: Tab, upstream: Upstream) -> None:
    upstream.reply(b'{"error": {"message": "Not allowed."}}', status=400)
    await tab.send("Hello?")
    await expect(tab.page.locator("article.question .outcome")).to_be_visible()


async def drawer(tab: Tab, _: Upstream) -> None:
    await tab.ask("Hello.")
    await tab.page.set_viewport_size({"width": 390, "height": 800})
    await tab.page.locator("#menu").click()


async def found(tab: Tab, _: Upstream) -> None:
    await tab.ask("Where is Ithaca?")
    for number in range(6):
        await tab.page.request.post(f"{tab.seat.url}api/memories", data={"text": f"Knows Ithaca {number}."})
    await tab.page.request.post(f"{tab.seat.url}api/documents", data={"title": "Ithaca", "content": "Of Ithaca."})
    await tab.page.locator("#search").fill("Ithaca")
    await expect(tab.page.locator("#results .more-hits").first).to_be_attached()


async def prose(tab: Tab, upstream: Upstream) -> None:
    upstream.reply(text_chunk(WIDE), finish(), usage(), DONE)
    await tab.ask("Show me what is wide. " + "w" * 300)


async def uses(tab: Tab, _: Upstream) -> None:
    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    await tab.page.locator("#uses-button").click()
    await expect(tab.page.locator("#uses-panel")).to_be_visible()


async def folder(tab: Tab, _: Upstream) -> None:
    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    await tab.page.locator("#workspace-button").click()
    await expect(tab.page.locator("#workspace-panel")).to_be_visible()


async def led(tab: Tab, upstream: Upstream) -> None:
    await found(tab, upstream)
    await tab.page.locator("#results").get_by_role("group", name="Memories").locator(".hit").first.click()
    await expect(tab.page.locator("#settings [aria-current=true]")).to_be_visible()


async def picker(tab: Tab, _: Upstream) -> None:
    await tab.page.locator("#picker-button").click()
    await expect(tab.page.locator("#picker-list .option").first).to_be_visible()


async def card(tab: Tab, upstream: Upstream) -> None:
    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    upstream.reply(calls(("update_plan", {"plan": "- [x] Look\n- [ ] Change\n"}), ("ls", {"path": "."}), text="Look."))
    upstream.reply(calls(("bash", {"command": "rm -r build"})))
    await tab.ask("Do it.")
    await expect(tab.page.locator(".approval")).to_be_visible()
    await tab.page.locator(".act summary").first.click()


async def seen(tab: Tab, _: Upstream) -> None:
    await tab.ask("Hello.")
    await tab.page.locator("#seen-open").click()
    await expect(tab.page.locator("#seen table")).to_be_visible()


async def meter(tab: Tab, _: Upstream) -> None:
    await tab.ask("Hello.")
    await tab.page.locator("#context-button").click()
    await expect(tab.page.locator("#context-panel table")).to_be_visible()


async def compare(tab: Tab, upstream: Upstream) -> None:
    upstream.models = ("fake-model", "another-model")
    await tab.js("async () => (await fetch('/api/models?refresh=1')).status")
    await tab.js("location.hash = '#compare'")
    await expect(tab.page.get_by_role("combobox", name="Model 2")).to_be_visible()


async def document(tab: Tab, _: Upstream) -> None:
    await tab.ask("Hello.")
    await tab.page.evaluate(
        """(text) => fetch("/api/documents", { method: "POST", headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ title: "Plan of the trip", language: "markdown", content: text }) })""",
        TEXT,
    )
    await tab.page.locator("#documents-open").click()
    await tab.page.get_by_role("button", name="Plan of the trip").first.click()
    await expect(tab.page.get_by_role("textbox", name="Text")).to_be_visible()


async def research(tab: Tab, _: Upstream) -> None:
    await tab.ask("Hello.")
    await tab.page.locator("#research-open").click()
    await expect(tab.page.locator("dialog[open]")).to_be_visible()


def pressed(key: str, ready: str) -> Callable[[Tab, Upstream], Awaitable[None]]:
    """A view that a key opens in a chat."""

    async def opened(tab: Tab, _: Upstream) -> None:
        await tab.ask("Hello.")
        await tab.page.locator("#scroller").focus()
        await tab.page.keyboard.press(key)
        await expect(tab.page.locator(ready)).to_be_visible()

    return opened


def at(address: str, ready: str) -> Callable[[Tab, Upstream], Awaitable[None]]:
    """A view with an address of its own, once `ready` is visible."""

    async def opened(tab: Tab, _: Upstream) -> None:
        await tab.page.goto(tab.seat.url + address)
        await expect(tab.page.locator(ready).first).to_be_visible()

    return opened


def section(name: str) -> Callable[[Tab, Upstream], Awaitable[None]]:
    """A section of the settings."""
    return at(f"#settings/{name}", ".section-body > *")


VIEWS: Mapping[str, Callable[[Tab, Upstream], Awaitable[None]]] = {
    "start": start,
    "chat": chat,
    "cited": cited,
    "failed": failed,
    "drawer": drawer,
    "found": found,
    "led to a memory": led,
    "prose": prose,
    "picker": picker,
    "uses": uses,
    "folder": folder,
    "card": card,
    "seen": seen,
    "meter": meter,
    "compare": compare,
    "document": document,
    "research": research,
    "find": pressed("Control+Shift+F", "#find"),
    "palette": pressed("Control+k", "#palette"),
    "keys": pressed("?", "#help"),
    "settings: endpoints": section("endpoints"),
    "settings: tools": section("tools"),
    "settings: agents": section("agents"),
    "settings: memories": section("memories"),
    "settings: library": section("library"),
    "settings: appearance": section("appearance"),
    "settings: notifications": section("notifications"),
    "settings: about": section("about"),
    "calls": at("docs", "details"),
}


@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_has_no_fault(browser: Browser, program: Program, upstream: Upstream, view: str) -> None:
    faults: dict[str, Any] = {}
    async with seated(browser, program.url, upstream, reduced_motion="reduce") as seat:
        tab = await seat.tab()
        await VIEWS[view](tab, upstream)
        await tab.page.evaluate(AXE_SCRIPT)
        for width, scheme in LOOKS:
            await tab.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            await tab.page.set_viewport_size({"width": width, "height": 800})
            await tab.js(STILL)
            for fault in await tab.js(RUN):
                faults.setdefault(fault, f"{width} {scheme}")
    assert not faults, "\n".join(f"{look}: {fault}" for fault, look in faults.items())


async def test_a_fault_would_be_seen(browser: Browser, program: Program, upstream: Upstream) -> None:
    async with seated(browser, program.url, upstream) as seat:
        tab = await seat.tab()
        await tab.page.evaluate(AXE_SCRIPT)
        await tab.js("document.getElementById('send').removeAttribute('aria-label')")
        assert [fault for fault in await tab.js(RUN) if fault.startswith("button-name")]
