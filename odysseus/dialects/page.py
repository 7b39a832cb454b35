"""The page dialect: the chat frames, with deltas of one moment merged, and the answer as rendered blocks.

One feed serves one connection. It renders in a thread, the open block at most every 40 ms and less often when that is
slow. Every frame has an `id:` line: the number of the run's last frame that it covers, which is the page's cursor.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import groupby

from odysseus.dialects import chat
from odysseus.dialects.sse import data_frame, gap_frame
from odysseus.events import Event, Metrics, ReasoningDelta, RunEnded, TextDelta
from odysseus.render.blocks import Block, BlockRenderer
from odysseus.runs.log import Encode, Subscription
from odysseus.runs.run import Run
from odysseus.runs.trace import CUTS

RENDER_SECONDS = 0.040
RENDER_SHARE = 4
EVENTS_AT_ONCE = 4096
ENDS_TEXT = CUTS | {Metrics, RunEnded}


class PageFeed:
    """What one page is sent. `encode` is what the run's own frames are made with."""

    def __init__(self, run: Run, subscription: Subscription, encode: Encode = chat.encode) -> None:
        self._run = run
        self._encode = encode
        self._subscription = subscription
        self._renderer = BlockRenderer()
        self._unrendered = ""
        self._closed: list[str] = []
        self._seen = 0
        self._due = 0.0
        self._number = subscription.cursor
        if not subscription.gap:
            self._take_text_before_cursor()

    async def next_bytes(self) -> bytes:
        """The next bytes; empty at the end of the stream."""
        while True:
            lost = self._subscription.skip_gap()
            data = self._after_gap(*lost) if lost else b""
            data += await self._written(self._subscription.take_events(EVENTS_AT_ONCE))
            if (self._unrendered or self._closed) and time.monotonic() >= self._due:
                data += await self._rendered()
            if data or self._subscription.ended:
                return data
            await self._wait()

    async def _wait(self) -> None:
        """Until there are events, or it is time to show the text that waits."""
        left = self._due - time.monotonic() if self._unrendered or self._closed else None
        try:
            async with asyncio.timeout(left):
                await self._subscription.wait()
        except TimeoutError:
            return

    def _take_text_before_cursor(self) -> tuple[str, str]:
        """Have what the cursor has passed rendered too; gives it, as text and reasoning."""
        coming = self._subscription.coming_events()
        text, thinking = self._run.draft.text, self._run.draft.thinking
        text = text[: len(text) - _length(coming, TextDelta)]
        start = self._seen
        for cut in self._run.draft.cuts:
            if start <= cut <= len(text):
                self._closed.append(self._unrendered + text[start:cut])
                self._unrendered, start = "", cut
        self._unrendered += text[start:]
        self._seen = len(text)
        return text, thinking[: len(thinking) - _length(coming, ReasoningDelta)]

    def _after_gap(self, first: int, last: int) -> bytes:
        """The gap, and the whole text up to its end in place of the lost deltas."""
        text, thinking = self._take_text_before_cursor()
        self._number = last
        return self._framed(gap_frame(first, last)) + self._framed(
            data_frame({"type": "page_text", "text": text, "thinking": thinking})
        )

    async def _written(self, events: Sequence[Event]) -> bytes:
        parts: list[bytes] = []
        for kind, group in groupby(events, type):
            same = list(group)
            if kind is TextDelta or kind is ReasoningDelta:
                parts.append(self._merged(kind, same))
                continue
            if self._unrendered or self._closed or kind in ENDS_TEXT:
                parts.append(await self._rendered(final=kind in ENDS_TEXT))
            for event in same:
                frame = self._encode(event)
                if frame is not None:
                    self._number += 1
                    parts.append(self._framed(frame))
        return b"".join(parts)

    def _merged(self, kind: type[Event], deltas: Sequence[Event]) -> bytes:
        text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta | ReasoningDelta))
        self._number += len(deltas)
        if kind is ReasoningDelta:
            return self._framed(chat.reasoning_frame(text))
        self._unrendered += text
        self._seen += len(text)
        return self._framed(chat.text_frame(text))

    async def _rendered(self, *, final: bool = False) -> bytes:
        closed, text = self._closed, self._unrendered
        self._closed, self._unrendered = [], ""
        begun = time.monotonic()
        blocks = await asyncio.to_thread(_advance, self._renderer, closed, text, final)
        now = time.monotonic()
        self._due = now + max(RENDER_SECONDS, RENDER_SHARE * (now - begun))
        return b"".join(self._framed(block_frame(block)) for block in blocks)

    def _framed(self, frame: bytes) -> bytes:
        return b"id: %d\n%b" % (self._number, frame)


def block_frame(block: Block) -> bytes:
    """One block of the answer as it stands now."""
    return data_frame({"type": "block", "index": block.index, "open": block.open, "html": block.html})


def _advance(renderer: BlockRenderer, closed: Sequence[str], text: str, final: bool) -> list[Block]:
    """Render whole stretches of text, then the open one, which `final` closes too."""
    blocks = [block for stretch in closed for block in renderer.finish(stretch)]
    blocks += renderer.feed(text) if text else []
    return [*blocks, *renderer.finish()] if final else blocks


def _length(events: Sequence[Event], kind: type[Event]) -> int:
    return sum(
        len(event.text) for event in events if type(event) is kind and isinstance(event, TextDelta | ReasoningDelta)
    )
