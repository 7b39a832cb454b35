"""Measures the page in a real Chromium, and prints what it saw as JSON: a fast answer, a long chat opened and scrolled.

A process of its own, since it uses the page's tests (`tests/browser/bench.py`), and since Chromium gets all cores.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from browser.bench import Program, chromium, config_for, launch
from playwright.async_api import Browser, CDPSession, Page, Route, async_playwright
from upstream import DONE, Paced, Upstream, finish, text_chunk, usage

TOKENS = 10_000
RATE = 1000.0
ANSWERS = 300
STEP = 1500
PATIENCE = 120_000

SECTION = (
    "## Part {n}\n\nThe sea was calm that day, and **nobody** had told the crew of `Ithaca` what the wind would do.\n\n"
    "```python\ndef course(wind: float, days: int) -> list[float]:\n"
    '    """Where the ship is, day by day."""\n    return [wind * day for day in range(days)]\n```\n\n'
    "| Day | Wind | Crew |\n|---|---|---|\n| 1 | 3.5 | 12 |\n| 2 | 4.1 | 12 |\n| 3 | 0.2 | 11 |\n\n"
    "1. Raise the sail.\n2. Keep the oars dry.\n3. Do not open the bag.\n\n"
)
BARE = """<!doctype html><meta charset="utf-8"><pre id="text" style="white-space: pre-wrap"></pre>"""
APPEND = """async (session) => {
    const text = document.getElementById("text").appendChild(new Text());
    const body = JSON.stringify({ session, message: "Go." });
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch("/api/chat_stream", { method: "POST", body, headers });
    let rest = "";
    for await (const bytes of answer.body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + bytes).split("\\n");
        rest = lines.pop();
        const deltas = lines.filter((line) => line.startsWith('data: {"delta"'));
        for (const delta of deltas) text.appendData(JSON.parse(delta.slice(6)).delta);
    }
}"""
WATCH = """() => {
    window.long = [];
    const note = (list) => window.long.push(...list.getEntries().map(({ duration }) => duration));
    new PerformanceObserver(note).observe({ type: "longtask" });
}"""
TALK = """async (count) => {
    const headers = { "Content-Type": "application/json" };
    const post = (path, body) => fetch(path, { method: "POST", body: JSON.stringify(body), headers });
    const { id } = await (await post("/api/session", {})).json();
    for (let i = 0; i < count; i += 1) {
        await (await post("/api/chat_stream", { session: id, message: `Question ${i}` })).text();
    }
    return id;
}"""
OPENED = """async () => {
    const drawn = () => document.querySelectorAll("article").length >= 50;
    while (!drawn()) await new Promise(requestAnimationFrame);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now();
}"""
SCROLL = """async (step) => {
    const area = document.getElementById("scroller");
    const times = [];
    let last = performance.now();
    area.scrollTop = area.scrollHeight;
    while (area.scrollTop > 300) {
        area.scrollTop -= step;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
    }
    return times;
}"""
ALL = """async (count) => {
    const area = document.getElementById("scroller");
    while (document.querySelectorAll("article").length < count) {
        area.scrollTop = area.scrollTop > 0 ? 0 : 1;
        await new Promise(requestAnimationFrame);
    }
}"""


def pieces(text: str) -> list[bytes]:
    """A text as chunks of some four characters, as tokens come."""
    return [text_chunk(text[start : start + 4]) for start in range(0, len(text), 4)]


def sections(tokens: int) -> list[bytes]:
    """So many tokens of prose, code, tables and lists."""
    text = "".join(SECTION.format(n=number) for number in range(1, tokens * 4 // len(SECTION) + 2))
    return pieces(text)[:tokens]


@asynccontextmanager
async def watched(browser: Browser) -> AsyncIterator[tuple[Page, CDPSession]]:
    """A new tab whose long tasks and work are counted."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, service_workers="block")
    page = await context.new_page()
    page.set_default_timeout(PATIENCE)
    tools = await context.new_cdp_session(page)
    await tools.send("Performance.enable")
    yield page, tools
    await context.close()


async def work(tools: CDPSession) -> dict[str, float]:
    """Seconds of the tab's main thread so far, by kind."""
    told = await tools.send("Performance.getMetrics")
    return {one["name"]: one["value"] for one in told["metrics"] if one["name"].endswith("Duration")}


async def more_work(tools: CDPSession, before: dict[str, float]) -> dict[str, float]:
    """What was added since."""
    return {name: value - before[name] for name, value in (await work(tools)).items()}


async def streamed(browser: Browser, url: str, upstream: Upstream) -> dict[str, Any]:
    """A fast answer in the page."""
    upstream.reply(Paced(sections(TOKENS), RATE), finish(), usage(), DONE)
    async with watched(browser) as (page, tools):
        await page.goto(url)
        await page.locator("#picker-name").get_by_text("fake-model").wait_for()
        await page.evaluate(WATCH)
        before = await work(tools)
        await page.locator("#message").fill("Go.")
        await page.keyboard.press("Enter")
        await page.locator("#log[aria-busy=true]").wait_for()
        await page.locator("#log[aria-busy=false]").wait_for()
        return {"long": await page.evaluate("window.long"), **await more_work(tools, before)}


async def appended(browser: Browser, url: str, upstream: Upstream) -> dict[str, Any]:
    """The same answer in a page that only appends its text."""
    upstream.reply(Paced(sections(TOKENS), RATE), finish(), usage(), DONE)
    async with watched(browser) as (page, tools):

        async def bare(route: Route) -> None:
            await route.fulfill(body=BARE, content_type="text/html")

        await page.route("**/bare", bare)
        await page.goto(f"{url}bare")
        session = await page.evaluate(
            "fetch('/api/session', {method: 'POST', body: '{}', headers: {'Content-Type': 'application/json'}})"
            ".then((answer) => answer.json()).then(({ id }) => id)"
        )
        await page.evaluate(WATCH)
        before = await work(tools)
        await page.evaluate(APPEND, session)
        return {"long": await page.evaluate("window.long"), **await more_work(tools, before)}


async def long_chat(page: Page, url: str, upstream: Upstream) -> str:
    """A chat of many long answers; its id."""
    for _ in range(ANSWERS):
        upstream.reply(b"".join(sections(800)), finish(), usage(), DONE)
    await page.goto(url)
    return str(await page.evaluate(TALK, ANSWERS))


async def opened(browser: Browser, url: str, upstream: Upstream) -> dict[str, Any]:
    """A long chat opened for the first time and again, read back to its beginning, and scrolled."""
    async with watched(browser) as (page, _):
        session = await long_chat(page, url, upstream)
    seen: dict[str, Any] = {}
    for name in ("first", "again"):
        async with watched(browser) as (page, _):
            await page.goto(f"{url}#{session}")
            seen[name] = await page.evaluate(OPENED)
            if name == "again":
                await page.evaluate(WATCH)
                await page.evaluate(ALL, ANSWERS * 2)
                seen["earlier"] = await page.evaluate("window.long.splice(0)")
                seen["frames"] = await page.evaluate(SCROLL, STEP)
    return seen


async def main() -> None:
    """Print what was measured."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    path = chromium()
    if path is None:
        print(json.dumps(None))
        return
    with tempfile.TemporaryDirectory() as folder:
        async with Upstream() as upstream, async_playwright() as playwright:
            program = Program(Path(folder), config_for(upstream))
            browser = await launch(playwright, path)
            await program.start()
            seen = {
                "streamed": await streamed(browser, program.url, upstream),
                "appended": await appended(browser, program.url, upstream),
                "opened": await opened(browser, program.url, upstream),
            }
            await program.stop()
            await browser.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main())
