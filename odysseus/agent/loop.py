"""The loop: requests to a model and calls of tools in turn, until the task is done, the user is asked, or a limit met.

Knows providers and tools; must not know runs, stores or sockets. A chat is a loop of one round without tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from odysseus.agent.approvals import Sealed
from odysseus.agent.calls import CallRunner, RoundResult
from odysseus.agent.guards import Circle, IntentNudge, LoopBreaker
from odysseus.agent.request import BETWEEN_ROUNDS, Publish, Request, Said
from odysseus.agent.transcript import to_entry
from odysseus.errors import ProviderError
from odysseus.events import (
    ApprovalDecision,
    BudgetExceeded,
    Event,
    LoopBroken,
    ModelInfo,
    Noted,
    NudgesExhausted,
    RoundBegun,
    RoundsExhausted,
    UsageReport,
)
from odysseus.providers.base import ChatMessage, ChatRequest, Finished
from odysseus.providers.fallback import Asker, Refit

NUDGE = "You said what you would do, but called no tool. Call it now. If nothing is left to do, give the answer."
LAST_ROUND = "You repeat the same calls with the same results. No tools are left: answer now with what you know."
BROKEN = "The model repeated the same calls with the same results. It was asked to answer without tools."
UNKEPT = "The model kept announcing an action without taking it."


Fitting = Callable[[Sequence[ChatMessage]], Awaitable[tuple[Sequence[ChatMessage], Sequence[Event]]]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one run; 0 is no limit but for rounds. `cost` in US dollars."""

    rounds: int = 50
    calls: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What the user has said to a sealed call."""

    sealed: Sealed
    decision: ApprovalDecision


@dataclass(frozen=True, slots=True)
class Task:
    """What an agent run has to do. `runner` makes its calls, with `publish` for what it shows.

    `fit` gives the messages that the window has room for, of all that the run holds, and what there is to tell of it;
    `refit` makes a request fit the window of a candidate that steps in.
    `usage` is what was used before the first request.
    """

    asker: Asker
    request: ChatRequest
    limits: Limits
    runner: Callable[[Publish], CallRunner]
    fit: Fitting
    refit: Refit
    before: Sequence[Event] = ()
    usage: Sequence[UsageReport] = ()
    decision: Decision | None = None


async def run_chat(
    asker: Asker,
    request: ChatRequest,
    publish: Publish,
    refit: Refit,
    *,
    before: Sequence[Event] = (),
    usage: Sequence[Event] = (),
) -> Finished | None:
    """One answer without tools; gives the provider's own end of it. Raises ProviderError."""
    publish([*before, model_info(asker), *usage])
    said = await Request(asker, request, publish, refit).run()
    if said.state:
        publish([Noted(to_entry(said.message()))])
    return said.finished


async def run_agent(task: Task, publish: Publish) -> Finished | None:
    """The whole loop; gives the end of the last answer. Raises ProviderError."""
    publish([*task.before, model_info(task.asker), *task.usage])
    return await _Loop(task, publish).run()


def model_info(asker: Asker) -> ModelInfo:
    """The route that is asked first."""
    selected = asker.current
    return ModelInfo(selected.model, selected.endpoint_id, selected.endpoint_label, selected.context_length)


def _paused(said: Said) -> bool:
    """Whether the provider has stopped in mid-answer and waits to be asked again (Anthropic, `pause_turn`)."""
    return said.finished is not None and said.finished.raw == "pause_turn"


class _Loop:
    """The state of one loop."""

    def __init__(self, task: Task, publish: Publish) -> None:
        self._task = task
        self._publish = publish
        self._messages = list(task.request.messages)
        self._runner = task.runner(publish)
        self._runner.hear(self._messages)
        self._breaker = LoopBreaker()
        self._nudge = IntentNudge()
        self._cost = 0.0
        self._spoken = False
        self._noted = task.decision is not None

    async def run(self) -> Finished | None:
        if self._task.decision and await self._settled(self._task.decision):
            return Finished("tool_calls")
        limits = self._task.limits
        said = Said()
        for round_ in range(1, limits.rounds + 1):
            if round_ > 1:
                self._publish([RoundBegun(round_)])
            said = await self._ask(round_, tools=True)
            if not said.calls:
                if _paused(said) or self._nudged(said, round_):
                    continue
                return said.finished
            result = await self._runner.run(said.calls, round_)
            self._messages += [answered.message for answered in result.answered]
            if result.asked or self._over_budget(result):
                return said.finished
            if circle := self._circle(said, result):
                return await self._last_round(circle, round_)
        self._publish([RoundsExhausted(limits.rounds)])
        return said.finished

    async def _settled(self, decided: Decision) -> bool:
        """Carry out the user's decision; True when the user has the next word again."""
        result = await self._runner.settle(decided.sealed, decided.decision)
        self._messages += [answered.message for answered in result.answered]
        return result.asked or self._over_budget(result)

    async def _ask(self, round_: int, *, tools: bool) -> Said:
        task = self._task
        messages: Sequence[ChatMessage] = self._messages
        if len(self._messages) > len(task.request.messages):
            messages, told = await task.fit(self._messages)
            self._publish(told)
        request = replace(task.request, messages=tuple(messages), tools=task.request.tools if tools else ())
        before = BETWEEN_ROUNDS if self._spoken else ""
        asked = Request(task.asker, request, self._publish, task.refit, round_=round_, before=before)
        try:
            said = await asked.run()
        except (ProviderError, asyncio.CancelledError):
            self._note_partial(asked.said)
            raise
        self._count(said.usage)
        self._spoken = self._spoken or bool(said.text)
        self._messages.append(said.message())
        if said.calls or said.state or self._noted:
            self._note(said.message())
        return said

    def _note(self, message: ChatMessage) -> None:
        self._noted = True
        self._publish([Noted(to_entry(message))])

    def _note_partial(self, said: Said) -> None:
        """What an answer that broke off has said, so that the next prompt has it behind the calls before it."""
        if self._noted and said.text.strip():
            self._note(ChatMessage("assistant", said.text))

    def _count(self, usage: UsageReport | None) -> None:
        self._cost += (usage.cost or 0.0) if usage else 0.0

    def _nudged(self, said: Said, round_: int) -> bool:
        """Whether the model is asked to do what it has announced."""
        matched = self._nudge.matched(said.text) if self._task.request.tools else ""
        if not matched:
            return False
        if self._nudge.exhausted:
            self._publish([NudgesExhausted("intent_without_call", UNKEPT, round_, self._nudge.count, matched)])
            return False
        self._nudge.count += 1
        if not self._noted:
            self._note(said.message())
        self._say(NUDGE)
        return True

    def _say(self, text: str) -> None:
        """Tell the model something in the user's place."""
        message = ChatMessage("user", text)
        self._messages.append(message)
        self._note(message)

    def _over_budget(self, result: RoundResult) -> bool:
        limits = self._task.limits
        if result.left:
            self._publish([BudgetExceeded("tool_calls", limits.calls, self._runner.count)])
            return True
        if limits.cost and self._cost >= limits.cost:
            self._publish([BudgetExceeded("cost", limits.cost, round(self._cost, 6))])
            return True
        return False

    def _circle(self, said: Said, result: RoundResult) -> Circle | None:
        return self._breaker.after_round([one.identity for one in result.answered], said.text)

    async def _last_round(self, circle: Circle, round_: int) -> Finished | None:
        self._publish([LoopBroken(circle.reason, BROKEN, round_, circle.detail), RoundBegun(round_ + 1)])
        self._say(LAST_ROUND)
        said = await self._ask(round_ + 1, tools=False)
        return said.finished
