"""The real program and a real Chromium for the page's tests: `server.py` in a process of its own, and tabs that watch
for what must never happen (errors in the console, refused by the policy, something loaded from elsewhere).

Knows the page's ids and the command line; must not know anything of odysseus.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    Request,
    Route,
    expect,
)
from upstream import Step, Upstream, text_chunk

SERVER = Path(__file__).resolve().parents[2] / "server.py"
GUARD = 10.0
START_GUARD = 30.0
NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """The path of the system's Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


async def launch(playwright: Playwright, path: str) -> Browser:
    """Chromium without a window."""
    return await playwright.chromium.launch(executable_path=path, headless=True, args=list(QUIET))


@dataclass
class Program:
    """`server.py` as a process that can be killed and started again on the same port and data."""

    folder: Path
    config: str
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    process: asyncio.subprocess.Process | None = None
    script: Path = SERVER

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def start(self) -> None:
        """Start, and wait for the ready line."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "config.toml"
        settings.write_text(self.config, "utf-8")
        where = ["--port", str(self.port), "--data", str(self.folder / "data"), "--config", str(settings)]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ODYSSEUS_")}
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(self.script), *where, "--log-level", "warning"),
            stdout=asyncio.subprocess.PIPE,
            env={**inherited, **self.environment},
        )
        assert self.process.stdout is not None
        async with asyncio.timeout(START_GUARD):
            line = await self.process.stdout.readline()
        self.port = int(json.loads(line.removeprefix(b"ODYSSEUS_READY "))["port"])

    async def stop(self, *, kill: bool = False) -> None:
        """End the process, politely or not, and wait for it."""
        if self.process is None or self.process.returncode is not None:
            return
        (self.process.kill if kill else self.process.terminate)()
        async with asyncio.timeout(GUARD):
            await self.process.communicate()


@asynccontextmanager
async def launched(folder: Path, config: str) -> AsyncIterator[Program]:
    """`server.py` with these settings, stopped at the end."""
    running = Program(folder, config)
    await running.start()
    try:
        yield running
    finally:
        await running.stop()


def config_for(upstream: Upstream, *, extra: str = "") -> str:
    """Settings with the scripted upstream as the endpoint of new sessions, and more tables in `extra`."""
    endpoint = f'[[endpoints]]\nid = "up"\nkind = "openai"\nlabel = "Upstream"\nbase_url = "{upstream.base_url}"\n'
    return f'[chat]\nendpoint = "up"\nmodel = "fake-model"\n{endpoint}{extra}'


class Wire:
    """A TCP line to the program that can be cut while the program goes on."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open: set[asyncio.StreamWriter] = set()
        self._asked: dict[asyncio.StreamWriter, bytes] = {}
        self._silent: set[asyncio.StreamWriter] = set()
        self.url = ""

    async def __aenter__(self) -> Wire:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Reset every connection."""
        for writer in self._open:
            writer.transport.abort()

    def silence(self, path: bytes) -> None:
        """Carry nothing more on the connections whose last request was for `path`, and leave them open."""
        self._silent |= {writer for writer, asked in self._asked.items() if path in asked}

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward = await asyncio.open_connection("127.0.0.1", self._target)
        ends = {writer, onward[1]}
        self._open |= ends
        await asyncio.gather(self._ask(reader, onward[1], writer), self._answer(onward[0], writer))
        self._open -= ends

    async def _ask(
        self, reader: asyncio.StreamReader, onward: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        with _closing(onward):
            while data := await reader.read(65_536):
                self._asked[back] = data.partition(b"\r\n")[0]
                onward.write(data)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with _closing(writer):
            while data := await reader.read(65_536):
                if writer not in self._silent:
                    writer.write(data)


@contextmanager
def _closing(writer: asyncio.StreamWriter) -> Iterator[None]:
    """Close the other end when this one is done or was cut."""
    try:
        yield
    except ConnectionError:
        pass
    finally:
        writer.close()


@dataclass
class Seat:
    """One browser profile at the program, and what went wrong in any of its tabs."""

    context: BrowserContext
    url: str
    upstream: Upstream
    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    async def tab(self, address: str = "") -> Tab:
        """A new tab, with the page loaded and its lists read."""
        page = await self.context.new_page()
        page.set_default_timeout(GUARD * 1000)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        page.on("request", self._asked)
        tab = Tab(page, self)
        await tab.open(address)
        return tab

    def _heard(self, message: ConsoleMessage) -> None:
        # A call that is answered with 4xx or not at all is an answer like any other; Chromium tells of each.
        usual = message.text.startswith(("Failed to load resource", "Service Worker registration blocked"))
        if message.type in {"error", "warning"} and not usual:
            self.faults.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.faults.append(f"loaded from elsewhere: {request.url}")

    def check(self) -> None:
        """Fail on anything that was seen and not expected."""
        found = [fault for fault in self.faults if not any(part in fault for part in self.expected)]
        assert not found, found


@dataclass
class Tab:
    """The page in one tab, by what a person does and sees."""

    page: Page
    seat: Seat

    async def open(self, address: str = "") -> None:
        await self.page.goto(self.seat.url + address)
        await expect(self.page.locator("#picker-name")).not_to_have_text("…")

    @property
    def field(self) -> Locator:
        return self.page.locator("#message")

    @property
    def answers(self) -> Locator:
        return self.page.locator("article.answer")

    @property
    def text(self) -> Locator:
        """The rendered text of the answers."""
        return self.page.locator("article.answer .blocks")

    @property
    def questions(self) -> Locator:
        return self.page.locator("article.question .bubble")

    @property
    def stop(self) -> Locator:
        return self.page.get_by_role("button", name="Stop", exact=True)

    @property
    def status(self) -> Locator:
        return self.page.locator("#status")

    async def front(self) -> None:
        """Bring the tab to the front; Chromium draws the others slowly."""
        await self.page.bring_to_front()

    async def send(self, text: str) -> None:
        """Write and press Enter, or the button where Enter makes a new line."""
        await self.field.fill(text)
        if await self.js("matchMedia('(any-pointer: fine), (any-hover: hover)').matches"):
            await self.field.press("Enter")
        else:
            await self.page.locator("#send").click()

    async def ask(self, text: str) -> None:
        """Send, and wait for the whole answer."""
        before = await self.answers.count()
        await self.send(text)
        await expect(self.answers).to_have_count(before + 1)
        await self.is_done()

    async def is_done(self) -> None:
        await expect(self.page.locator("#log")).to_have_attribute("aria-busy", "false")

    async def session(self) -> str:
        """The id in the address."""
        await self.until("location.hash.length > 1")
        return str(await self.page.evaluate("location.hash.slice(1)"))

    async def js(self, code: str, argument: Any = None) -> Any:
        return await self.page.evaluate(code, argument)

    async def until(self, condition: str) -> None:
        """Wait until the JavaScript expression is true."""
        # Not wait_for_function: it evaluates text in the page, which the page's own policy forbids.
        poll = f"(async () => {{ while (!(await ({condition}))) await new Promise(requestAnimationFrame); }})()"
        async with asyncio.timeout(GUARD):
            await self.page.evaluate(poll)

    async def set_hidden(self, hidden: bool) -> None:
        """Have the tab believe that it is hidden or shown, as a browser tells it."""
        await self.js(
            """(state) => {
                Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
                Object.defineProperty(document, "hidden", { value: state === "hidden", configurable: true });
                document.dispatchEvent(new Event("visibilitychange"));
            }""",
            "hidden" if hidden else "visible",
        )


@asynccontextmanager
async def seated(browser: Browser, url: str, upstream: Upstream, **options: Any) -> AsyncIterator[Seat]:
    """A fresh profile; at the end nothing forbidden may have happened in it."""
    # A service worker would hide requests from the routes of a test; those about it ask for one.
    usual = {"viewport": {"width": 1280, "height": 800}, "service_workers": "block"}
    context = await browser.new_context(**{**usual, **options})
    seat = Seat(context, url, upstream)
    try:
        yield seat
        seat.check()
    finally:
        await context.close()


def words(count: int, start: int = 0) -> list[Step]:
    """Numbered paragraphs, one in each chunk: enough text to scroll."""
    return [
        text_chunk(f"Paragraph {number}. " + "The sea was calm that day. " * 6 + "\n\n")
        for number in range(start, start + count)
    ]


async def play(tab: Tab, mode: str, *frames: dict[str, Any]) -> None:
    """Have the page be told these frames as the answer to its first message, and see it to its end."""
    await tell(tab, mode, *frames)
    await expect(tab.answers).to_have_count(1)
    await tab.is_done()


async def tell(tab: Tab, mode: str, *frames: dict[str, Any]) -> None:
    """Send a message, and have the page be told these frames as its answer."""
    record = {"status": "completed", "message_id": "answer", "user_message_id": "question"}

    async def fulfil(route: Route) -> None:
        told = [*frames, {"type": f"{mode}_terminal", "data": record}]
        lines = [f"id: {number}\ndata: {json.dumps(frame)}\n\n" for number, frame in enumerate(told, 1)]
        head = {"Content-Type": "text/event-stream", "X-Odysseus-Run-Id": "f" * 32}
        await route.fulfill(status=200, headers=head, body="".join(lines) + "data: [DONE]\n\n")

    await tab.page.route("**/api/chat_stream*", fulfil)
    await tab.send("Go.")
