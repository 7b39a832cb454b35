"""One answer as it grows, the same for every wire: what is told once, what is held back, whether it is whole.

Pure: must not know a vendor's words nor sockets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from odysseus.errors import ProviderError
from odysseus.events import ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.base import AnsweredBy, Chunk, Finished, ProviderState, ToolCall, ToolCallFragment
from odysseus.providers.reasoning import ThinkSplitter
from odysseus.providers.text_calls import TextCalls
from odysseus.providers.tool_calls import ToolCallAssembly, ToolCallDelta
from odysseus.text import clean_text

LARGE_PROMPT_TOKENS = 3500


class Assembly:
    """Takes an adapter's chunks and gives on what a reader may have now.

    `plain` says that text without NUL and lone surrogates may pass by `add`: there is nothing to decide or to join.
    While `watches`, it goes by `pass_on` then, as it may still become a written call.
    `tools` are the names on offer, `written` those that may also be called in the text, with the schemas of their
    arguments.
    """

    def __init__(self, tools: Collection[str] = (), written: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.plain = False
        self.model: str | None = None
        self.finished: Finished | None = None
        self._usage: UsageReport | None = None
        self._calls = ToolCallAssembly(tools)
        self._state: dict[str, Any] = {}
        self._splitter = ThinkSplitter()
        self._written = TextCalls(written or {})
        self.watches = not self._written.idle
        self._read = False  # the calls there are were read from the text
        self._spoken = False
        self._half = ""
        self._half_kind: type[TextDelta | ReasoningDelta] = TextDelta

    def add(self, chunks: Iterable[Chunk | ToolCallDelta]) -> list[Chunk]:
        """The chunks to give on. Calls, state, usage and the end are kept for `end`.

        Of several usage reports the last counts. States are put together: lists are joined, mappings merged.
        """
        given: list[Chunk] = []
        for chunk in chunks:
            match chunk:
                case TextDelta() | ReasoningDelta():
                    given += self._split(self._joined(chunk))
                case AnsweredBy(model):
                    given += [chunk] if model != self.model else []
                    self.model = model
                case UsageReport():
                    self._usage = chunk
                case Finished():
                    self.finished = chunk
                case ProviderState(data):
                    self._state = merge_state(self._state, data)
                case ToolCall(id, name, arguments, _, state):
                    given += self._native(self._calls.add(None, id, name, arguments, state, opens=True))
                case ToolCallFragment(index, id, name, arguments):
                    given += self._native(self._calls.add(index, id, name, arguments))
                case ToolCallDelta(index, id, name, arguments, state, opens):
                    given += self._native(self._calls.add(index, id, name, arguments, state, opens=opens))
        self.plain = self._splitter.settled and not self._half
        self.watches = not self._written.idle
        return given

    def pass_on(self, delta: TextDelta | ReasoningDelta) -> list[Chunk]:
        """What `add` gives on for this, when `plain`."""
        return self._tell((delta,))

    def flush(self) -> list[Chunk]:
        """The text that was held back, and the calls that were written in it."""
        left = self._split(self._drop_half()) if self._half else []
        left += self._tell(self._splitter.flush())
        held, calls = self._written.finish()
        self._read = bool(calls)
        self._spoken = self._spoken or bool(held)
        told = [self._calls.add(None, "", call.name, call.arguments, opens=True) for call in calls]
        return [*left, *held, *chain.from_iterable(told)]

    def end(self, *, whole: bool) -> list[Chunk]:
        """The usage, and of a whole answer before it the state and the calls, after it the end."""
        usage: list[Chunk] = [self._usage] if self._usage else []
        if not whole:
            return usage
        end = self.finished or Finished(None)
        calls = [replace(call, written=self._read) for call in self._calls.finish(cut=end.reason == "length")]
        state: list[Chunk] = [ProviderState(self._state)] if self._state else []
        return [*state, *calls, *usage, _fitting_end(end, calls=bool(calls))]

    def fault(self, *, ended: bool) -> ProviderError | None:
        """What is wrong with the answer now that no more will come; `ended` says that the provider closed it."""
        if not ended and self.finished is None:
            return ProviderError("The answer ended early: the endpoint closed the connection.", retryable=True)
        return None if self._spoken or self._calls.begun else self._empty()

    def _empty(self) -> ProviderError:
        reason = self.finished.reason if self.finished else None
        if reason == "content_filter":
            return ProviderError("The endpoint's content filter held the answer back.")
        tokens = self._usage.input_tokens if self._usage else 0
        if reason == "length" or tokens >= LARGE_PROMPT_TOKENS:
            size = f" has {tokens:,} tokens and" if tokens else ""
            return ProviderError(
                f"The model gave an empty answer. The prompt{size} may be larger than the model's context size: "
                "shorten the chat or load the model with a larger context."
            )
        return ProviderError("The model gave an empty answer. Try again or choose another model.", retryable=True)

    def _split(self, deltas: Iterable[TextDelta | ReasoningDelta]) -> list[Chunk]:
        given: list[Chunk] = []
        for delta in deltas:
            if isinstance(delta, ReasoningDelta):
                given += self._tell([*self._splitter.flush(), delta])
            else:
                given += self._tell(self._splitter.feed(delta.text))
        return given

    def _tell(self, deltas: Iterable[TextDelta | ReasoningDelta]) -> list[Chunk]:
        """What may be given on now: what may become a written call waits."""
        given: list[Chunk] = [told for delta in deltas for told in self._written.feed(delta)]
        self._spoken = self._spoken or bool(given)
        return given

    def _native(self, told: Iterable[Chunk]) -> list[Chunk]:
        """The pieces of a native call. With one of those, what is written in the text is no call."""
        held = self._written.give_up() if self._calls.begun else []
        self._spoken = self._spoken or bool(held)
        return [*held, *told]

    def _joined(self, delta: TextDelta | ReasoningDelta) -> list[TextDelta | ReasoningDelta]:
        """The delta with clean text; half of a surrogate pair at its end waits for the next delta of its kind."""
        left = self._drop_half() if self._half and self._half_kind is not type(delta) else []
        text = self._half + delta.text
        self._half, self._half_kind = "", type(delta)
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return [*left, type(delta)(clean_text(text))] if text else left

    def _drop_half(self) -> list[TextDelta | ReasoningDelta]:
        half, self._half = self._half, ""
        return [self._half_kind(clean_text(half))]


def _fitting_end(end: Finished, *, calls: bool) -> Finished:
    """Some servers say `stop` when they call tools, others `tool_calls` when they do not."""
    if calls and end.reason in (None, "stop"):
        return replace(end, reason="tool_calls")
    return end if calls or end.reason != "tool_calls" else replace(end, reason="stop")


def merge_state(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Both states in one: lists are joined, mappings merged, anything else is replaced."""
    merged = dict(old)
    for key, value in new.items():
        before = merged.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = merge_state(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            merged[key] = [*before, *value]
        else:
            merged[key] = value
    return merged
