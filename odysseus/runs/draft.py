"""What a run has said so far, folded from its events. The record and the checkpoint are made from it."""

from __future__ import annotations

from collections.abc import Sequence

from odysseus.events import Event, FellBack, ModelInfo, ReasoningDelta, TextDelta, UsageReport


class Draft:
    """Grows with every event of the run. Times are the clock's monotonic seconds."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._saved = (0, 0)
        self.answering: ModelInfo | None = None
        self.fallback: FellBack | None = None
        self.usage: list[UsageReport] = []
        self.first_output_at: float | None = None
        self.last_event_at: float | None = None

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._text)

    @property
    def thinking(self) -> str:
        """The reasoning so far."""
        return "".join(self._thinking)

    @property
    def has_output(self) -> bool:
        """Whether a client was shown any text or reasoning."""
        return bool(self._text or self._thinking)

    def absorb(self, events: Sequence[Event], now: float) -> None:
        """Take in what the run publishes."""
        for event in events:
            kind = type(event)
            if kind is TextDelta:
                self._text.append(event.text)  # type: ignore[union-attr]
            elif kind is ReasoningDelta:
                self._thinking.append(event.text)  # type: ignore[union-attr]
            elif isinstance(event, ModelInfo):
                self.answering = event
            elif isinstance(event, FellBack):
                self.fallback = event
                self.answering = ModelInfo(
                    event.answered_by, event.answered_by_endpoint_id, event.answered_by_label, event.context_length
                )
            elif isinstance(event, UsageReport):
                self.usage.append(event)
        self.last_event_at = now
        if self.first_output_at is None and self.has_output:
            self.first_output_at = now

    def unsaved(self) -> tuple[str, str]:
        """Text and reasoning since the last `mark_saved`."""
        text, thinking = self._saved
        return "".join(self._text[text:]), "".join(self._thinking[thinking:])

    def mark(self) -> tuple[int, int]:
        """How far it has grown, for `mark_saved`."""
        return len(self._text), len(self._thinking)

    def mark_saved(self, mark: tuple[int, int]) -> None:
        """All up to `mark` is stored."""
        self._saved = mark
