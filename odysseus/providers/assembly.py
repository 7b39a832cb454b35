"""One answer as it grows, the same for every wire: what is told once, what is held back, whether it is whole.

Pure: must not know a vendor's words nor sockets.
"""

from __future__ import annotations

from collections.abc import Iterable

from odysseus.errors import ProviderError
from odysseus.events import ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.base import AnsweredBy, Chunk, Finished
from odysseus.providers.reasoning import ThinkSplitter
from odysseus.text import clean_text

LARGE_PROMPT_TOKENS = 3500


class Assembly:
    """Takes an adapter's chunks and gives on what a reader may have now.

    `plain` says that text without NUL and lone surrogates may pass by `add`: there is nothing to decide or to join.
    """

    def __init__(self) -> None:
        self.plain = False
        self.model: str | None = None
        self.finished: Finished | None = None
        self._usage: UsageReport | None = None
        self._splitter = ThinkSplitter()
        self._spoken = False
        self._half = ""
        self._half_kind: type[TextDelta | ReasoningDelta] = TextDelta

    def add(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """The chunks to give on. Usage and the end are kept for `end`: of several reports the last counts."""
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
        self.plain = self._splitter.settled and not self._half
        return given

    def flush(self) -> list[Chunk]:
        """The text that was held back."""
        left = self._split(self._drop_half()) if self._half else []
        held = self._splitter.flush()
        self._spoken = self._spoken or bool(held)
        return [*left, *held]

    def end(self, *, whole: bool) -> list[Chunk]:
        """The usage, then, of a whole answer, its end."""
        usage: list[Chunk] = [self._usage] if self._usage else []
        return [*usage, self.finished or Finished(None)] if whole else usage

    def fault(self, *, ended: bool) -> ProviderError | None:
        """What is wrong with the answer now that no more will come; `ended` says that the provider closed it."""
        if not ended and self.finished is None:
            return ProviderError("The answer ended early: the endpoint closed the connection.", retryable=True)
        return None if self._spoken else self._empty()

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
                given += [*self._splitter.flush(), delta]
            else:
                given += self._splitter.feed(delta.text)
        self._spoken = self._spoken or bool(given)
        return given

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
