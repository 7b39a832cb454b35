"""What a run has said so far, folded from its events. The record and the checkpoint are made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from odysseus.events import Event, FellBack, ModelInfo, ReasoningDelta, TextDelta, ToolStarted, UsageReport
from odysseus.runs.record import Produced
from odysseus.runs.trace import CUTS, Step, step_of, tool_calls


class Mark(NamedTuple):
    """How far a draft has grown: pieces of text and of reasoning, and steps."""

    text: int = 0
    thinking: int = 0
    steps: int = 0


class Draft:
    """Grows with every event of the run. Times are the clock's monotonic seconds."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._length = 0
        self._saved = Mark()
        self.steps: list[Step] = []
        self.cuts: list[int] = []
        self._acted = False
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
        """Whether a client was shown any text, reasoning or tool row."""
        return bool(self._text or self._thinking or self._acted)

    @property
    def produced(self) -> Produced:
        """It all, as what the record is made from."""
        return Produced(self.text, self.answering, self.usage, tool_calls(self.steps), self._acted)

    def absorb(self, events: Sequence[Event], now: float) -> None:
        """Take in what the run publishes."""
        for event in events:
            kind = type(event)
            if kind is TextDelta:
                self._text.append(event.text)  # type: ignore[union-attr]
                self._length += len(event.text)  # type: ignore[union-attr]
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
            else:
                self._act(event)
        self.last_event_at = now
        if self.first_output_at is None and self.has_output:
            self.first_output_at = now

    def unsaved(self) -> tuple[str, str, list[Step]]:
        """Text, reasoning and steps since the last `mark_saved`."""
        saved = self._saved
        return "".join(self._text[saved.text :]), "".join(self._thinking[saved.thinking :]), self.steps[saved.steps :]

    def mark(self) -> Mark:
        """How far it has grown, for `mark_saved`."""
        return Mark(len(self._text), len(self._thinking), len(self.steps))

    def _act(self, event: Event) -> None:
        """Remember what the agent did, and where in the text."""
        self._acted = self._acted or isinstance(event, ToolStarted)
        if type(event) in CUTS:
            self.cuts.append(self._length)
        step = step_of(event, self._length)
        if step:
            self.steps.append(step)

    def mark_saved(self, mark: Mark) -> None:
        """All up to `mark` is stored."""
        self._saved = mark
