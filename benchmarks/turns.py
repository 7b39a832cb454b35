"""Answers that call a tool, round after round, for clients that take turns: one is at work, the others wait for it.

So their times are of the same moments and the same core, and none disturbs another. A part of the model process.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from upstream import answer, calls

from benchmarks.plan import Plan

BLANKS = 90


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that waits for its answer. `send` writes a whole body."""

    plan: Plan
    made: int
    send: Callable[[bytes], None]


@dataclass(slots=True)
class Side:
    """One client: its first request, and the seconds from each answer's bytes to the next request's last byte."""

    first: Mapping[str, Any] = field(default_factory=dict)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    gaps: list[float] = field(default_factory=list)
    answered_at: float = 0.0


class Turns:
    """Who waits for its turn, by key, and what was measured, by side."""

    def __init__(self) -> None:
        self.sides: defaultdict[str, Side] = defaultdict(Side)
        self._waiting: defaultdict[str, deque[Turn]] = defaultdict(deque)
        self._going: dict[str, int] = {}

    def take(self, plan: Plan, request: Mapping[str, Any], at: float, send: Callable[[bytes], None]) -> None:
        """A request whose last byte came at `at`. Whoever has waited longest is answered once nobody is at work."""
        side = self.sides[plan.side]
        made = sum(message["role"] == "tool" for message in request["messages"])
        if made:
            side.gaps.append(at - side.answered_at)
        else:
            side.first = request
            side.begun.set()
        self._going.setdefault(plan.key, plan.sides)
        self._waiting[plan.key].append(Turn(plan, made, send))
        self._next(plan.key)

    def _next(self, key: str) -> None:
        waiting = self._waiting[key]
        while waiting and len(waiting) >= self._going[key]:
            turn = waiting.popleft()
            body = _answer(turn)
            self.sides[turn.plan.side].answered_at = time.monotonic()
            turn.send(body)
            self._going[key] -= turn.made == turn.plan.calls


def _answer(turn: Turn) -> bytes:
    """The next call, else the end. The tool overlooks blanks; calls that differ are no circle to the loop breaker."""
    if turn.made == turn.plan.calls:
        return b"".join(answer("Done."))
    zone = "UTC" + " " * (turn.made % BLANKS)
    return b"".join(calls(("current_time", {"timezone": zone}), prefix=f"call{turn.made}"))
