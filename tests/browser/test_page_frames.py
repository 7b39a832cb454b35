"""Every frame of the server's vocabulary has its place on the page, and a reload draws what the stream drew."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import Browser, expect
from serving import Frame
from test_docs_stream import FRAMES
from upstream import DONE, Hang, Pause, Upstream, answer, calls, finish, reasoning_chunk, text_chunk, usage

from browser.bench import Program, Seat, Tab, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

UNSHOWN: Mapping[str, str] = {
    "agent_prep": "how long the preparation took is for those who measure",
    "agent_step": "each row tells its round",
    "run_timeout": "the terminal record says it too, and a reload has only that",
    "doc_stream_open": "the editor takes the whole text with doc_update",
    "doc_stream_delta": "the editor takes the whole text with doc_update",
}
"""Frames that change nothing on the page, and why."""

APPLY = """async ([first, event]) => {
    const { applyEvent, newLive } = await import("/static/core/answer.js");
    const live = Object.assign(newLive("s", "r"), { text: "before" });
    applyEvent(live, first);
    const before = JSON.stringify({ ...live, cursor: 0 });
    applyEvent(live, event);
    return JSON.stringify({ ...live, cursor: 0 }) !== before;
}"""
"""Whether a frame changes what the page knows of an answer. A research goes before it, which some of them need."""

DRAWN = """() => {
    const told = ["role", "aria-label", "aria-expanded", "data-state", "data-tone", "href", "src", "alt", "disabled"];
    const read = (node) => {
        if (node.nodeType === Node.TEXT_NODE) return node.data.trim();
        if (node.nodeType !== Node.ELEMENT_NODE || node.hidden) return "";
        const names = [...node.classList].filter((name) => name !== "settled").sort().join(".");
        const marks = told.flatMap((name) => node.hasAttribute(name) ? [`${name}=${node.getAttribute(name)}`] : []);
        return [`<${[node.localName, names, ...marks].join(" ")}>`, ...[...node.childNodes].map(read).filter(Boolean)];
    };
    return [...document.querySelectorAll("#log > article")].map(read);
}"""
REMEMBER = """(text) => fetch("/api/memories", { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ text, pinned: true }) })"""
PLAN = "- [x] Look at the files\n- [ ] Change **one**\n"
QUESTION = {"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue", "description": "deep"}]}
LOOKS = {1280: {"width": 1280, "height": 800}, 390: {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def extra() -> str:
    """`server.py` whose agent can make pictures, and has few rounds."""
    return '[agent]\nmax_rounds = 4\n[images]\nendpoint = "up"\nmodel = "painter"\n'


def _event(frame: Frame) -> dict[str, str]:
    data = frame.kind if frame.kind == "[DONE]" else json.dumps(frame.data)
    return {"id": "9", "event": "error" if frame.kind == "error" else "", "data": data}


async def test_every_frame_changes_the_page_or_is_named_with_its_reason(seat: Seat) -> None:
    tab = await seat.tab()
    first = {"id": "8", "event": "", "data": json.dumps({"type": "research_progress", "data": {}})}
    same = {frame.kind for frame in FRAMES if not await tab.js(APPLY, [first, _event(frame)])}
    assert same == set(UNSHOWN)


def _picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 20), "red").save(out, "PNG")
    return out.getvalue()


async def _approve(tab: Tab) -> None:
    before = await tab.answers.count()
    await tab.page.get_by_role("button", name="Approve", exact=True).click()
    await expect(tab.answers).to_have_count(before + 1)
    await tab.is_done()


async def _answers(tab: Tab, upstream: Upstream, folder: Path) -> None:
    """A chat with all that an answer can have: each question brings some of it."""
    files: Any = [{"name": "ferries.txt", "mimeType": "text/plain", "buffer": b"They leave at nine."}]
    await tab.page.locator("#attach-files").set_input_files(files)
    await expect(tab.page.locator("#files .file[data-state='ready']")).to_have_count(1, timeout=30_000)
    text = "# Ferries\n\nAt **nine**.\n\n```python\nprint(9)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    details = {"prompt_tokens_details": {"cached_tokens": 100}}
    upstream.reply(reasoning_chunk("Let me think."), text_chunk(text), finish(), usage(120, 34, **details), DONE)
    await tab.ask("When do they leave?")

    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    await tab.page.locator("#workspace-button").click()
    await tab.page.locator("#workspace-path").fill(str(folder))
    await tab.page.locator("#workspace-path").press("Enter")
    await expect(tab.page.locator("#workspace-name")).to_have_text(folder.name)
    looks = [("read_file", {"path": "notes.txt"}), ("read_file", {"path": "gone.txt"})]
    edit = ("edit_file", {"path": "notes.txt", "old": "red", "new": "blue"})
    upstream.reply(calls(("update_plan", {"plan": PLAN}), *looks, text="I look at it."))
    upstream.reply(calls(edit, text="I change it.", prefix="more"))
    upstream.reply(calls(("ask_user", QUESTION), text="And now?", prefix="last"))
    await tab.ask("Change my notes.")
    await _approve(tab)
    await expect(tab.page.locator(".question-card")).to_be_visible()

    upstream.reply(calls(("generate_image", {"prompt": "A red ship"})))
    upstream.reply_json({"data": [{"b64_json": base64.b64encode(_picture()).decode()}]})
    upstream.reply(answer("Here it is."))
    await tab.ask("Paint it.")
    await _approve(tab)
    await expect(tab.text.last).to_contain_text("Here it is.")

    for number in range(4):
        upstream.reply(calls(("calculate", {"expression": f"{number}+1"}), prefix=f"r{number}"))
    await tab.ask("Add up.")

    upstream.reply(text_chunk("Half an "), Hang())
    await tab.send("Stop at half.")
    await expect(tab.text.last).to_contain_text("Half an")
    await tab.stop.click()
    await tab.is_done()
    upstream.reply(b'{"error": {"message": "Not allowed."}}', status=400)
    await tab.send("Fail.")
    await expect(tab.questions).to_have_count(6)
    await tab.is_done()


@pytest.mark.parametrize("width", LOOKS)
async def test_a_reload_draws_what_the_stream_drew(
    browser: Browser, program: Program, upstream: Upstream, tmp_path: Path, width: int
) -> None:
    (tmp_path / "notes.txt").write_text("It is red.\n")
    phone = {"has_touch": True, "is_mobile": True} if width < 500 else {}
    async with seated(browser, program.url, upstream, viewport=LOOKS[width], **phone) as seat:
        tab = await seat.tab()
        await tab.js(REMEMBER, "The user's boat is called Argo.")
        await _answers(tab, upstream, tmp_path)
        await expect(tab.page.locator("#context")).to_be_visible()
        streamed = await tab.js(DRAWN)
        shown = json.dumps(streamed)
        for part in ("reasoning", "memories", "file", "acts", "plan", "question-card", "picture", "remark", "outcome"):
            assert f"{part}" in shown, part
        await tab.page.reload()
        await expect(tab.questions).to_have_count(6)
        await expect(tab.page.locator(".question-card")).to_be_visible()
        assert await tab.js(DRAWN) == streamed


async def test_a_resume_draws_what_the_stream_drew(seat: Seat, tmp_path: Path) -> None:
    gate = asyncio.Event()
    first, second = await seat.tab(), await seat.tab()
    await first.front()
    await first.page.locator("#mode").get_by_role("button", name="Agent").click()
    seat.upstream.reply(calls(("update_plan", {"plan": PLAN}), ("calculate", {"expression": "6*7"}), text="I add."))
    seat.upstream.reply(reasoning_chunk("Hm."), text_chunk("It is "), Pause(gate), text_chunk("42."), finish(), DONE)
    await first.send("Six times seven?")
    await expect(first.text).to_contain_text("It is")
    await second.front()
    await second.open(f"#{await first.session()}")
    await expect(second.text).to_contain_text("It is")
    gate.set()
    drawn = []
    for tab in (first, second):
        await tab.front()
        await tab.is_done()
        await expect(tab.text).to_contain_text("It is 42.")
        await expect(tab.answers.locator(".figures")).to_contain_text("tokens in")
        drawn.append(await tab.js(DRAWN))
    assert drawn[0] == drawn[1]
