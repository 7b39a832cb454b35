"""One turn: a request to a model, its chunks as events. Knows no run, no store, no socket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from odysseus.context.budget import MESSAGE_OVERHEAD, estimate_tokens
from odysseus.events import Event, FinishReason, Mode, ModelInfo, ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.base import AnsweredBy, ChatRequest, Chunk, Finished, Provider

Publish = Callable[[Sequence[Event]], None]


@dataclass(frozen=True, slots=True)
class Turn:
    """What is asked of whom."""

    mode: Mode
    provider: Provider
    endpoint_id: str
    endpoint_label: str
    request: ChatRequest
    context_length: int | None = None


async def run_turn(turn: Turn, publish: Publish) -> FinishReason | None:
    """Stream one answer into `publish`; give the provider's reason for its end. Raises ProviderError.

    A cancelled turn has closed its upstream connection when this returns.
    """
    publish([ModelInfo(turn.request.model, turn.endpoint_id, turn.endpoint_label)])
    model, usage, reason = turn.request.model, None, None
    stream = cast(Any, turn.provider.stream(turn.request))
    async with aclosing(stream) as batches:
        async for batch in batches:
            deltas = [chunk for chunk in batch if type(chunk) is TextDelta or type(chunk) is ReasoningDelta]
            if deltas:
                publish(deltas)
            for chunk in _others(batch, len(deltas)):
                if isinstance(chunk, AnsweredBy):
                    model = chunk.model
                elif isinstance(chunk, UsageReport):
                    usage = chunk
                elif isinstance(chunk, Finished):
                    reason = chunk.reason
    if usage:
        publish([replace(usage, model=model)])
    return reason


def _others(batch: Sequence[Chunk], deltas: int) -> Sequence[Chunk]:
    """The chunks that are no deltas; nearly always none."""
    if len(batch) == deltas:
        return ()
    return [chunk for chunk in batch if not isinstance(chunk, TextDelta | ReasoningDelta)]


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
