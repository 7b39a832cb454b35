"""Reasoning that a model writes in tags or channels at the start of its answer, told apart from the answer.

Pure: must not know where the text comes from. A tag later in the answer is text like any other.
"""

from __future__ import annotations

from odysseus.events import ReasoningDelta, TextDelta
from odysseus.providers.harmony import OPENERS, HarmonySplitter, longest_overlap

_CLOSING = {"<think>": "</think>", "<thinking>": "</thinking>"}


class ThinkSplitter:
    """Holds back only what may still become a tag. `settled` once the rest is answer and needs no look."""

    def __init__(self) -> None:
        self.settled = False
        self._held = ""
        self._closing: str | None = None
        self._closed = False
        self._harmony: HarmonySplitter | None = None

    def feed(self, text: str) -> list[TextDelta | ReasoningDelta]:
        """A piece of the answer as it comes."""
        if self.settled:
            return [TextDelta(text)]
        if self._harmony:
            return self._harmony.feed(text)
        self._held += text
        if self._closing is None and not self._closed:
            return self._at_start()
        return self._in_reasoning() if self._closing else self._after_reasoning()

    def flush(self) -> list[TextDelta | ReasoningDelta]:
        """What is held, as it stands. Blanks that never became an answer are dropped."""
        self.settled = True
        if self._harmony:
            return self._harmony.flush()
        held, self._held = self._held, ""
        if not held.strip():
            return []
        return [ReasoningDelta(held) if self._closing else TextDelta(held)]

    def _at_start(self) -> list[TextDelta | ReasoningDelta]:
        opened = self._held.lstrip()
        for tag, closing in _CLOSING.items():
            if opened.startswith(tag):
                self._held, self._closing = opened[len(tag) :], closing
                return self._in_reasoning()
        if opened.startswith(OPENERS):
            self._harmony = HarmonySplitter()
            return self._harmony.feed(opened)
        if any(tag.startswith(opened) for tag in (*_CLOSING, *OPENERS)):
            return []
        return self.flush()

    def _in_reasoning(self) -> list[TextDelta | ReasoningDelta]:
        assert self._closing is not None
        reasoning, closing, rest = self._held.partition(self._closing)
        if not closing:
            keep = longest_overlap(reasoning, (self._closing,))
            reasoning, self._held = reasoning[: len(reasoning) - keep], reasoning[len(reasoning) - keep :]
            return [ReasoningDelta(reasoning)] if reasoning else []
        self._held, self._closing, self._closed = rest, None, True
        found: list[TextDelta | ReasoningDelta] = [ReasoningDelta(reasoning)] if reasoning else []
        return found + self._after_reasoning()

    def _after_reasoning(self) -> list[TextDelta | ReasoningDelta]:
        """The blank lines between the closing tag and the answer belong to neither."""
        self._held = self._held.lstrip()
        return self.flush() if self._held else []
