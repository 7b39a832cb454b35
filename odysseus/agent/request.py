"""One request to a model: its chunks as events, and what it said as a value. Knows no run, no store, no socket."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, cast

from odysseus.agent.transcript import paired, storable, without_tools
from odysseus.context.budget import MESSAGE_OVERHEAD, estimate_tokens
from odysseus.events import (
    CallWritten,
    ContextTrimmed,
    Event,
    FellBack,
    ReasoningDelta,
    Retrying,
    TextDelta,
    UsageReport,
)
from odysseus.providers.base import (
    AnsweredBy,
    ChatMessage,
    ChatRequest,
    Finished,
    ProviderState,
    ToolCall,
    ToolCallFragment,
)
from odysseus.providers.fallback import Answer, Asker, Candidate, Refit
from odysseus.providers.pricing import cost_of

Publish = Callable[[Sequence[Event]], None]
NAME_LIMIT = 64
BETWEEN_ROUNDS = "\n\n"

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{NAME_LIMIT}}}")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_SHOWN = frozenset({TextDelta, ReasoningDelta, Retrying, FellBack, ContextTrimmed})


@dataclass(slots=True)
class Said:
    """What one request has brought so far."""

    text: str = ""
    reasoning: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    state: ProviderState | None = None
    usage: UsageReport | None = None
    finished: Finished | None = None
    model: str | None = None

    def message(self) -> ChatMessage:
        """It as a message of the next prompt."""
        return ChatMessage(
            "assistant",
            self.text,
            tool_calls=tuple(self.calls),
            reasoning=self.reasoning,
            state=self.state.data if self.state else None,
        )


class Request:
    """A request under way. `said` grows; when it breaks off, it holds what came until then."""

    def __init__(
        self, asker: Asker, request: ChatRequest, publish: Publish, refit: Refit, *, round_: int = 1, before: str = ""
    ) -> None:
        self.said = Said()
        self._asker = asker
        self._request = replace(request, messages=fitting(request))
        self._publish = publish
        self._refit = refit
        self._round = round_
        self._before = before
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._written: dict[str, list[str]] = {}

    async def run(self) -> Said:
        """Stream the answer into `publish`. Raises ProviderError.

        A cancelled request has closed its upstream connection when this returns. What an answer that breaks off has
        used is published too.
        """
        try:
            async with aclosing(cast(Any, self._asker.ask(self._request, self._refitted))) as batches:
                async for batch in batches:
                    told = [chunk for chunk in batch if type(chunk) in _SHOWN]
                    if told:
                        self._tell(told)
                    if len(told) < len(batch):
                        self._take(batch)
        finally:
            self.said.text, self.said.reasoning = "".join(self._text), "".join(self._reasoning)
            self._publish_usage()
        return self.said

    async def _refitted(
        self, candidate: Candidate, request: ChatRequest
    ) -> tuple[ChatRequest, Sequence[ContextTrimmed]]:
        refitted, told = await self._refit(candidate, request)
        self._request = replace(refitted, messages=fitting(refitted))
        return self._request, told

    def _tell(self, events: list[Any]) -> None:
        for event in events:
            if type(event) is TextDelta:
                self._text.append(event.text)
            elif type(event) is ReasoningDelta:
                self._reasoning.append(event.text)
        if self._before and self._text:
            events.insert(
                next(i for i, event in enumerate(events) if type(event) is TextDelta), TextDelta(self._before)
            )
            self._before = ""
        self._publish(events)

    def _take(self, batch: Sequence[Answer]) -> None:
        for chunk in batch:
            match chunk:
                case AnsweredBy(model):
                    self.said.model = model
                case UsageReport():
                    self.said.usage = chunk
                case Finished():
                    self.said.finished = chunk
                case ToolCall():
                    self.said.calls.append(chunk if storable(chunk.state) else replace(chunk, state=None))
                    self._write(chunk.id, chunk.name, self._unwritten(chunk))
                case ToolCallFragment(_, id, name, arguments):
                    self._write(id, name, arguments)
                case ProviderState(data):
                    self.said.state = chunk if storable(data) else None

    def _write(self, call_id: str, name: str, arguments: str) -> None:
        self._written.setdefault(call_id, []).append(arguments)
        self._publish([CallWritten(call_id, name, arguments, self._round)])

    def _unwritten(self, call: ToolCall) -> str:
        """The part of a finished call's arguments that no fragment has told."""
        told = "".join(self._written.get(call.id, ()))
        if not told.strip():
            return call.arguments
        return call.arguments[len(told) :] if call.arguments.startswith(told) else ""

    def _publish_usage(self) -> None:
        """The provider's figures; else, of an answer that has begun, an estimate."""
        if self.said.usage is None and (self._text or self._reasoning or self.said.calls):
            self.said.usage = self.estimate()
        if self.said.usage:
            model = self.said.model or self._asker.current.model
            self._publish([replace(self.said.usage, model=model, round=self._round)])

    def estimate(self) -> UsageReport:
        """What the request probably cost, for providers that do not say and answers that were cut short."""
        arguments = "".join(call.arguments for call in self.said.calls)
        usage = estimated_usage(self._request, "".join(self._text) + arguments, "".join(self._reasoning))
        price = self._asker.current.price
        return replace(usage, cost=cost_of(usage, price)) if price else usage


def fitting(request: ChatRequest) -> tuple[ChatMessage, ...]:
    """The messages as every provider takes them: calls and results in pairs, or as text where no tools are offered."""
    whole = paired(map(_with_plain_names, request.messages))
    return tuple(whole if request.tools else without_tools(whole))


def _with_plain_names(message: ChatMessage) -> ChatMessage:
    """A call of a tool whose name the model made up, in letters that every endpoint takes back."""
    if not message.tool_calls or all(_NAME.fullmatch(call.name) for call in message.tool_calls):
        return message
    calls = [replace(call, name=_NO_NAME.sub("_", call.name)[:NAME_LIMIT] or "unknown") for call in message.tool_calls]
    return replace(message, tool_calls=tuple(calls))


def estimated_usage(request: ChatRequest, answer: str, thinking: str) -> UsageReport:
    """Tokens by the length of the texts."""
    prompt = sum(estimate_tokens(message.content) + MESSAGE_OVERHEAD for message in request.messages)
    reasoning = estimate_tokens(thinking)
    return UsageReport(
        input_tokens=prompt,
        output_tokens=estimate_tokens(answer) + reasoning,
        reasoning_tokens=reasoning or None,
        model=request.model,
        estimated=True,
    )
