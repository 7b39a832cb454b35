"""The page's feed: from any cursor, over any gap, the same answer, each frame's number never going back."""

from __future__ import annotations

import asyncio
import random

import pytest
from serving import GUARD, Frame, parse_frame

from odysseus.clock import SystemClock
from odysseus.dialects import chat
from odysseus.dialects.page import PageFeed
from odysseus.events import Event, Metrics, ReasoningDelta, StreamDone, TextDelta
from odysseus.render.blocks import render_markdown
from odysseus.runs.log import RunLog
from odysseus.runs.record import Identity
from odysseus.runs.run import Limits, Run

PIECES = ["# Title\n\n", "a *word* ", "and **more** ", "\n\n", "```py\nx = 1\n```\n\n", "- one\n", "- two\n\n", "字🚲 "]


def new_run(limit: int = 10**9) -> Run:
    """A run that says what the test makes it say."""
    identity = Identity("r" * 32, "s", "chat", "m", "e", "E", 0.0)
    return Run(identity, "q", RunLog(chat.encode, limit), SystemClock(), Limits(1.0, 1.0), detached=True)


def end(run: Run) -> None:
    run.publish([Metrics({}), StreamDone()])
    run.log.close()


async def frames_of(feed: PageFeed) -> list[Frame]:
    """All that the page is sent."""
    data = b""
    async with asyncio.timeout(6 * GUARD):
        while piece := await feed.next_bytes():
            data += piece
    return [parse_frame(raw) for raw in data.split(b"\n\n")[:-1]]


def text_of(frames: list[Frame]) -> str:
    """The answer as the page knows it at the end, from what it was sent."""
    text = ""
    for frame in frames:
        if frame.kind == "page_text":
            text = frame.data["text"]
        elif frame.kind == "delta" and not frame.data.get("thinking"):
            text += frame.data["delta"]
    return text


def html_of(frames: list[Frame]) -> str:
    """The answer's blocks as they stand at the end."""
    blocks = {frame.data["index"]: frame.data["html"] for frame in frames if frame.kind == "block"}
    return "".join(f'<div class="block">{blocks[index]}</div>' for index in sorted(blocks))


@pytest.mark.parametrize("seed", range(12))
async def test_any_cursor_and_any_pace_give_the_same_answer(seed: int) -> None:
    chance = random.Random(seed)
    run = new_run(chance.choice([10**9, 10**9, 4_000]))
    feeds: list[tuple[str, asyncio.Task[list[Frame]]]] = []
    for _ in range(40):
        events: list[Event] = [
            TextDelta(chance.choice(PIECES)) if chance.random() < 0.8 else ReasoningDelta("hm ")
            for _ in range(chance.randrange(1, 4))
        ]
        run.publish(events)
        if chance.random() < 0.15:
            after = chance.randrange(run.log.end + 1)
            # What a page with this cursor has: the text of the frames it was sent.
            gone = after < run.log.dropped
            coming = [] if gone else run.log.events_after(after, 10**9)
            missing = sum(len(event.text) for event in coming if isinstance(event, TextDelta))
            known = "" if gone else run.draft.text[: len(run.draft.text) - missing]
            feed = PageFeed(run, run.log.subscribe(after))
            feeds.append((known, asyncio.create_task(frames_of(feed))))
        await asyncio.sleep(0)
    end(run)
    feeds.append(("", asyncio.create_task(frames_of(PageFeed(run, run.log.subscribe())))))
    for known, task in feeds:
        frames = await task
        replaced = any(frame.kind == "page_text" for frame in frames)
        assert text_of(frames) == (run.draft.text if replaced or not known else run.draft.text[len(known) :])
        assert html_of(frames) == render_markdown(run.draft.text)
        numbers = [frame.number for frame in frames if frame.number is not None]
        assert len(numbers) == len(frames)
        assert numbers == sorted(numbers)
        assert (numbers[-1], frames[-1].kind) == (run.log.end, "[DONE]")


async def test_text_that_waits_is_shown_without_another_event() -> None:
    run = new_run()
    feed = PageFeed(run, run.log.subscribe())
    run.publish([TextDelta("hello")])
    async with asyncio.timeout(GUARD):
        data = b""
        while b'"block"' not in data:
            data += await feed.next_bytes()
    assert b"<p>hello</p>" in data


async def test_a_burst_comes_as_one_delta() -> None:
    run = new_run()
    run.publish([TextDelta(f"{number} ") for number in range(1000)])
    end(run)
    frames = await frames_of(PageFeed(run, run.log.subscribe()))
    assert [frame.kind for frame in frames].count("delta") == 1
    assert frames[0].number == 1000
