"""One turn: a request to a model, its chunks as events. Knows no run, no store, no socket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from odysseus.context.budget import MESSAGE_OVERHEAD, estimate_tokens
from odysseus.events import (
    Event,
    FellBack,
    Mode,
    ModelInfo,
    ReasoningDelta,
    Retrying,
    TextDelta,
    UsageReport,
)
from odysseus.providers.base import AnsweredBy, ChatRequest, Finished
from odysseus.providers.fallback import Answer, Asker

Publish = Callable[[Sequence[Event]], None]


@dataclass(frozen=True, slots=True)
class Turn:
    """What is asked, and who may answer."""

    mode: Mode
    asker: Asker
    request: ChatRequest


async def run_turn(turn: Turn, publish: Publish) -> Finished | None:
    """Stream one answer into `publish`; give the provider's own end of it. Raises ProviderError.

    A cancelled turn has closed its upstream connection when this returns. What an answer that breaks off has used is
    published too.
    """
    selected = turn.asker.current
    publish([ModelInfo(selected.model, selected.endpoint_id, selected.endpoint_label, selected.context_length)])
    ending = _Ending()
    try:
        async with aclosing(cast(Any, turn.asker.ask(turn.request))) as batches:
            async for batch in batches:
                told = [chunk for chunk in batch if type(chunk) in _TOLD]
                if told:
                    publish(told)
                if len(told) < len(batch):
                    ending.take(batch)
    finally:
        if ending.usage:
            publish([replace(ending.usage, model=ending.model or turn.asker.current.model)])
    return ending.finished


_TOLD = frozenset({TextDelta, ReasoningDelta, Retrying, FellBack})


class _Ending:
    """What an answer says besides its text."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.usage: UsageReport | None = None
        self.finished: Finished | None = None

    def take(self, batch: Sequence[Answer]) -> None:
        for chunk in batch:
            if isinstance(chunk, AnsweredBy):
                self.model = chunk.model
            elif isinstance(chunk, UsageReport):
                self.usage = chunk
            elif isinstance(chunk, Finished):
                self.finished = chunk


def estimated_usage(request: ChatRequest, answer: str, thinking: str) -> UsageReport:
    """What a request probably cost, for providers that do not say and answers that were cut short."""
    prompt = sum(estimate_tokens(message.content) + MESSAGE_OVERHEAD for message in request.messages)
    reasoning = estimate_tokens(thinking)
    return UsageReport(
        input_tokens=prompt,
        output_tokens=estimate_tokens(answer) + reasoning,
        reasoning_tokens=reasoning or None,
        model=request.model,
        estimated=True,
    )
