"""What leaves a conversation that is too long, and in what order. Pure: tokens are counted by a function it is given.

Messages are taken in one after the other, and at each place where a model was asked the same rule is applied: over the
budget, so much leaves that the rest is well below it. So the result depends on the messages alone, and the beginning of
two prompts in a row is the same unless a step was due.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import orjson

from odysseus.context.budget import IMAGE_TOKENS, MESSAGE_OVERHEAD, estimate_tokens
from odysseus.context.cutting import head_and_tail, shares
from odysseus.context.turns import small_given, small_result, with_given
from odysseus.providers.base import ChatMessage

STEP = 0.7
"""How full the window is after a step, as a share of the budget."""
NO_ROOM = "[What was given here is left out: there is no room for it.]"
_LEAST_CUT = 40
_STATE_BYTES = 4

Tokens = Callable[[str], int]


@dataclass(slots=True)
class Part:
    """A message as it stands: `shown` and `shown_given` may be less than it had, and None when it has left."""

    message: ChatMessage
    given: str
    turn: int
    shown: ChatMessage | None
    shown_given: str
    cost: int
    given_cost: int
    small: bool = False
    rounds_left_out: int = 0

    @property
    def total(self) -> int:
        """Its tokens."""
        return self.cost + self.given_cost if self.shown else 0

    def told(self) -> ChatMessage | None:
        """The message for the prompt."""
        if self.shown is None or not (self.shown_given or self.rounds_left_out):
            return self.shown
        whole = with_given(self.shown, self.shown_given)
        return replace(whole, content=f"{whole.content}{_rounds_note(self.rounds_left_out)}")


class Trimmer:
    """A conversation that grows. `budget` is for all messages, in tokens."""

    def __init__(self, budget: int, tokens: Tokens) -> None:
        self.parts: list[Part] = []
        self.steps = 0
        self.whole = 0
        """Tokens without any trimming."""
        self._budget = budget
        self._tokens = tokens
        self._total = 0
        self._asked_at = 0
        self._gone = 0  # so many parts at the beginning have left
        self._last_turn = 0  # where the newest turn begins

    @property
    def total(self) -> int:
        """Tokens of what is left."""
        return self._total

    def add(self, message: ChatMessage, turn: int, given: str = "") -> None:
        """Take in the next message. Before each answer the model was asked."""
        if message.role == "assistant":
            self.ask()
        cost = message_tokens(message, self._tokens)
        given_cost = self._tokens(given) if given else 0
        if self.parts and self.parts[-1].turn != turn:
            self._last_turn = len(self.parts)
        self.parts.append(Part(message, given, turn, message, given, cost, given_cost))
        self._total += cost + given_cost
        self.whole += cost + given_cost

    def ask(self) -> None:
        """The model is asked now: make room if there is none."""
        if self._asked_at == len(self.parts):
            return
        self._asked_at = len(self.parts)
        if self._total > self._budget:
            self.steps += 1
            self._step(int(self._budget * STEP))

    def told(self) -> list[ChatMessage]:
        """The messages that are left, as the model sees them."""
        return [message for part in self.parts if (message := part.told()) is not None]

    def _step(self, goal: int) -> None:
        current = self._current()
        last_turn = self.parts[-1].turn
        for part in self._left(current):
            if self._total <= goal:
                return
            if part.message.role == "tool" and not part.small:
                self._shrink(part)
        for part in self._left(current):
            if self._total <= goal:
                return
            if part.given and part.turn < last_turn and not part.small:
                self._shrink_given(part)
        self._drop_turns(goal, last_turn)
        self._drop_rounds(goal, current)
        if self._total > self._budget:
            self._squeeze(goal, current)

    def _left(self, end: int) -> Iterator[Part]:
        while self._gone < len(self.parts) and self.parts[self._gone].shown is None:
            self._gone += 1
        return (part for part in self.parts[self._gone : end] if part.shown)

    def _current(self) -> int:
        """Where the current round begins: the turn's last answer, with what follows it. Before any it is the end."""
        turn = self.parts[-1].turn
        for index in range(len(self.parts) - 1, -1, -1):
            part = self.parts[index]
            if part.turn != turn:
                break
            if part.message.role == "assistant":
                return index
        return len(self.parts)

    def _shrink(self, part: Part) -> None:
        """An older result."""
        part.small = True
        small = small_result(part.message)
        cost = message_tokens(small, self._tokens) if small is part.message else self._cut_cost(part.message, small)
        if cost < part.cost:
            self._set(part, small, cost)

    def _shrink_given(self, part: Part) -> None:
        part.small = True
        self._give(part, small_given(part.given))

    def _drop_turns(self, goal: int, last_turn: int) -> None:
        for turn, parts in groupby(list(self._left(len(self.parts))), key=lambda part: part.turn):
            if turn >= last_turn or self._total <= goal:
                return
            for part in parts:
                self._drop(part)

    def _drop_rounds(self, goal: int, current: int) -> None:
        """Older rounds of the turn itself: calls with their results, whole."""
        question = self._question()
        for group in self._groups(current):
            if self._total <= goal:
                return
            for part in group:
                self._drop(part)
            if question and question.shown:
                question.rounds_left_out += 1

    def _question(self) -> Part | None:
        """The newest turn's."""
        return next((part for part in self.parts[self._last_turn :] if part.message.role == "user"), None)

    def _groups(self, current: int) -> list[list[Part]]:
        """Each answer of the newest turn before the current one, with all that follows it."""
        groups: list[list[Part]] = []
        for part in self.parts[self._last_turn : current]:
            if part.shown is None:
                continue
            if part.message.role == "assistant":
                groups.append([part])
            elif groups:
                groups[-1].append(part)
        return groups

    def _squeeze(self, goal: int, current: int) -> None:
        """The last means: cut what the last question was given, the newest results, and the question's own words."""
        asked = [part for part in self.parts[self._last_turn :] if part.shown]
        question = self._question()
        if question and question.given:
            wanted = goal if current < len(self.parts) else self._budget
            self._cut_given(question, question.given_cost - (self._total - wanted))
        results = [part for part in self.parts[current:] if part.message.role == "tool"]
        if results and self._total > self._budget:
            room = self._budget - (self._total - sum(part.cost for part in results))
            for part, share in zip(results, shares([part.cost for part in results], max(0, room)), strict=True):
                self._cut(part, share)
        for part in asked:
            if self._total > self._budget and part.message.role == "user":
                self._cut(part, part.cost - (self._total - self._budget))

    def _cut_given(self, part: Part, room: int) -> None:
        head = max(1, len(part.given))
        while head > 20:
            text = small_given(part.given, head)
            cost = self._cost_like(part.given, text)
            if cost <= room:
                self._give(part, text)
                return
            head = min(head * max(room, 1) // max(cost, 1), head * 3 // 4)
        self._give(part, NO_ROOM)

    def _cut(self, part: Part, room: int) -> None:
        """Cut a message's own text to so many tokens."""
        assert part.shown
        if part.cost <= room:
            return
        text = part.shown.content
        density = self._density(part.message.content)
        wanted = int(max(_LEAST_CUT, room - MESSAGE_OVERHEAD) / density)
        cut = replace(part.shown, content=head_and_tail(text, wanted), images=())
        self._set(part, cut, self._cut_cost(part.message, cut))

    def _give(self, part: Part, text: str) -> None:
        cost = self._cost_like(part.given, text)
        if cost < part.given_cost:
            self._total += cost - part.given_cost
            part.shown_given, part.given_cost = text, cost

    def _set(self, part: Part, shown: ChatMessage, cost: int) -> None:
        self._total += cost - part.cost
        part.shown, part.cost = shown, cost

    def _drop(self, part: Part) -> None:
        self._total -= part.total
        part.shown = None

    def _cut_cost(self, whole: ChatMessage, cut: ChatMessage) -> int:
        """Tokens of a message with less text than it had."""
        rest = replace(cut, content="")
        return message_tokens(rest, self._tokens) + self._cost_like(whole.content, cut.content)

    def _cost_like(self, whole: str, cut: str) -> int:
        """Tokens of a part of a text. Never counted, so that they stay the same."""
        return math.ceil(estimate_tokens(cut) * self._density(whole))

    def _density(self, text: str) -> float:
        """How much dearer this text is than its estimate."""
        return max(1.0, self._tokens(text) / max(1, estimate_tokens(text)))


def message_tokens(message: ChatMessage, tokens: Tokens) -> int:
    """Tokens of a message by itself, without what it was given."""
    counted = sum(map(tokens, message_texts(message)))
    state = len(orjson.dumps(message.state)) // _STATE_BYTES if message.state else 0
    return counted + state + MESSAGE_OVERHEAD + IMAGE_TOKENS * len(message.images)


def message_texts(message: ChatMessage) -> Sequence[str]:
    """The texts that are counted for it. Reasoning goes back only with calls, or as a vendor's state."""
    if not message.tool_calls:
        return (message.content,) if message.content else ()
    thought = message.reasoning
    calls = (f"{call.name} {call.arguments}" for call in message.tool_calls)
    return [text for text in (message.content, thought, *calls) if text]


def _rounds_note(rounds: int) -> str:
    if not rounds:
        return ""
    what = "step" if rounds == 1 else "steps"
    return f"\n\n[… {rounds} earlier {what} of the work on this, with their results, are left out here to save room …]"
