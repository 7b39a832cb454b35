"""Answers in the harmony format that reach us raw: channels of reasoning and answer, told apart by special tokens.

Pure: must not know where the text comes from. A message to a tool stays text as it is.
"""

from __future__ import annotations

import re

from odysseus.events import ReasoningDelta, TextDelta

OPENERS = ("<|channel|>", "<|start|>")
_MESSAGE = "<|message|>"
_ENDS = ("<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>")
_END = re.compile("|".join(map(re.escape, _ENDS)))
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_HEADER_LIMIT = 400  # characters; a longer header is no header

Delta = TextDelta | ReasoningDelta


class HarmonySplitter:
    """Takes the answer from its first token on. Holds back only a header, or what may still become a token."""

    def __init__(self) -> None:
        self._held = ""
        self._in_message = False
        self._kind: type[Delta] = TextDelta
        self._to_tool = False
        self._gap = ""
        self._told: set[type[Delta]] = set()

    def feed(self, text: str) -> list[Delta]:
        """A piece of the answer as it comes."""
        self._held += text
        given: list[Delta] = []
        while (step := self._in_body() if self._in_message else self._in_header()) is not None:
            given += step
        return given

    def flush(self) -> list[Delta]:
        """What is held, as it stands, but no header that leads to nothing."""
        held, self._held = self._held, ""
        return self._tell(held) if self._in_message else []

    def _in_header(self) -> list[Delta] | None:
        """Read on to the message; None when more is needed."""
        header, found, rest = self._held.partition(_MESSAGE)
        if not found and len(header) < _HEADER_LIMIT + len(_MESSAGE) and self._may_be_header(header):
            return None
        self._in_message = True
        if len(header) >= _HEADER_LIMIT or not header.lstrip().startswith(OPENERS):
            return self._begin_without_header()
        self._held = rest
        return self._begin(header)

    def _begin_without_header(self) -> list[Delta]:
        """Take what is held as answer, with the token that opened no header."""
        self._kind, self._to_tool, self._gap = TextDelta, False, ""
        opener = next((token for token in OPENERS if self._held.lstrip().startswith(token)), "")
        before, token, self._held = self._held.partition(opener) if opener else ("", "", self._held)
        return self._tell(before + token)

    def _may_be_header(self, header: str) -> bool:
        start = header.lstrip()
        return any(start.startswith(opener) or opener.startswith(start) for opener in OPENERS)

    def _begin(self, header: str) -> list[Delta]:
        """Open the message that this header announces."""
        channel = _CHANNEL.search(header)
        self._to_tool = " to=" in header
        reasoning = channel is not None and channel[1] == "analysis" and not self._to_tool
        self._kind = ReasoningDelta if reasoning else TextDelta
        self._gap = "\n\n" if self._kind in self._told else ""
        return self._tell(header.lstrip() + _MESSAGE) if self._to_tool else []

    def _in_body(self) -> list[Delta] | None:
        """Give on the text of the message up to its end; None when more is needed."""
        end = _END.search(self._held)
        if end is None:
            keep = longest_overlap(self._held, _ENDS)
            body, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
            return self._tell(body) if body else None
        body, rest = self._held[: end.start()], self._held[end.end() :]
        opens_next = end[0] in OPENERS
        if self._to_tool and not opens_next:
            body += end[0]
        self._held, self._in_message = (end[0] + rest if opens_next else rest), False
        return self._tell(body)

    def _tell(self, text: str) -> list[Delta]:
        """The text in its channel; two messages of one channel stand apart."""
        if not text:
            return []
        text, self._gap = self._gap + text, ""
        self._told.add(self._kind)
        return [self._kind(text)]


def longest_overlap(text: str, tokens: tuple[str, ...]) -> int:
    """The length of the longest end of the text that begins one of the tokens."""
    longest = min(len(text), max(map(len, tokens)) - 1)
    return next((size for size in range(longest, 0, -1) if any(t.startswith(text[-size:]) for t in tokens)), 0)
