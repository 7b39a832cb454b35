"""The calls of a run: judged, run, shown, and answered to the model, in order; those that only read side by side.

Knows tools and events; must not know the model that called, nor how the run is stored.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import orjson

from odysseus.agent import approvals
from odysseus.agent.approvals import Sealed
from odysseus.agent.prompt import as_outside, is_outside
from odysseus.agent.toolbox import Need, Toolbox, Trust, must_ask
from odysseus.agent.transcript import to_entry
from odysseus.errors import OdysseusError
from odysseus.events import ApprovalDecision, Event, Noted, ToolEnded, ToolProgressed, ToolStarted, UserAsked
from odysseus.providers.base import ChatMessage, ToolCall
from odysseus.tools.base import OutsideError, Preview, Tool, ToolContext, ToolError, ToolResult
from odysseus.tools.cited import Cited, Row
from odysseus.tools.output import PREFIX, cut, fit

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 1.0
AT_ONCE = 8
FULL_COMMAND_LIMIT = 20_000
ERROR_LIMIT = 8_000
STOPPED = ToolResult("Stopped.", 130)
WAITING = "Waiting for your approval."
DENIED = "The user refused this call. Do not try it again in another form: find another way, or ask."
NOBODY = "Not run: this tool needs a person's approval, and nobody can be asked here. Do without it."
SHOWN_LIMIT = 100_000
TOO_LONG = "Not run: it is too long to be shown to the user for approval. Do it in smaller steps."
OWN_ERROR = "The tool met an error of its own. The server's log has the details."
CHANGED = "Not run: what it would do has changed since the user was asked. Make the call again."

_OUTPUT_NAME = re.compile(PREFIX + r"[0-9a-f]{16}")

Publish = Callable[[Sequence[Event]], None]


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may be run."""

    call: ToolCall
    tool: Tool
    arguments: Any
    need: Need | None


@dataclass(frozen=True, slots=True)
class Answered:
    """A call with what the model is told of it."""

    call: ToolCall
    message: ChatMessage
    output: str
    ends_turn: bool = False

    @property
    def identity(self) -> tuple[str, str, str]:
        """Name, arguments and result, equal for calls that bring nothing new."""
        return self.call.name, _canonical(self.call.arguments), _OUTPUT_NAME.sub(PREFIX, self.output)


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What came of the calls of a round. `asked` says that the user has the next word; `left` did not run."""

    answered: Sequence[Answered]
    asked: bool = False
    left: Sequence[ToolCall] = ()


class CallRunner:
    """Runs the calls of one run. `context` makes a call's context, `seal` keeps a call that waits for the user."""

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        trust: Trust,
        publish: Publish,
        context: Callable[[str, Callable[[str, str], None]], ToolContext],
        seal: Callable[[Sealed], Awaitable[Sealed]],
        blank: Sealed,
        sources: Cited,
        limit: int = 0,
    ) -> None:
        self.trust = trust
        self.count = 0
        self._toolbox = toolbox
        self._publish = publish
        self._context = context
        self._seal = seal
        self._blank = blank
        self._sources = sources
        self._untold: Sequence[Row] = ()
        self._limit = limit
        self._texts: list[str] = []

    @property
    def spent(self) -> bool:
        """Whether no further call may run."""
        return bool(self._limit) and self.count >= self._limit

    def hear(self, messages: Sequence[ChatMessage]) -> None:
        """Take in what the user and others have said; not what tools made of a call's own arguments, like an error."""
        self._texts += [
            message.content
            for message in messages
            if message.role == "user" or (message.role == "tool" and is_outside(message.content))
        ]

    async def run(self, calls: Sequence[ToolCall], round_: int) -> RoundResult:
        """All calls of an answer, until one has to wait for the user, ends the turn, or is over the limit."""
        answered: list[Answered] = []
        left = list(calls)
        while left and not self.spent:
            ready: Ready | ToolError = self._judge(left[0])
            if isinstance(ready, Ready) and ready.need and self.trust.unattended:
                ready = ToolError(NOBODY)
            elif isinstance(ready, Ready) and ready.need:
                preview = await self._previewed(ready)
                if isinstance(preview, Preview):
                    await self._ask(ready, preview, left, round_)
                    return RoundResult(answered, asked=True)
                ready = preview
            together = self._together(left) if isinstance(ready, Ready) else []
            if together:
                new = await self._side_by_side(together, round_)
            else:
                new = [await self._one(ready, left[0], round_)]
            answered += new
            left = left[len(new) :]
            if any(one.ends_turn for one in new):
                return RoundResult(answered, asked=True)
        return RoundResult(answered, left=left)

    async def settle(self, sealed: Sealed, decision: ApprovalDecision) -> RoundResult:
        """Run or refuse exactly the sealed call, as round 0, then the calls that came after it."""
        call = sealed.calls[0]
        self._untold = sealed.sources
        first = await self._refused(call) if decision == "deny" else await self._approved(sealed)
        if decision == "approve_task" and not self._moved(sealed):
            self.trust = replace(self.trust, granted=True)
        if first.ends_turn:
            return RoundResult([first], asked=True)
        rest = await self.run(sealed.calls[1:], 0)
        return replace(rest, answered=[first, *rest.answered])

    def _judge(self, call: ToolCall) -> Ready | ToolError:
        try:
            tool, arguments = self._toolbox.find(call)
        except ToolError as error:
            return error
        return Ready(call, tool, arguments, must_ask(tool, arguments, call, self.trust, self._seen))

    def _seen(self, text: str) -> bool:
        return any(text in heard for heard in self._texts)

    def _together(self, calls: Sequence[ToolCall]) -> list[Ready]:
        """The calls at the head that only read and need no word of the user, as many as may run at once."""
        most = min(AT_ONCE, self._limit - self.count) if self._limit else AT_ONCE
        judged = (self._judge(call) for call in calls[:most])
        return [
            ready
            for ready in takewhile(lambda one: isinstance(one, Ready) and not one.need and _beside(one.tool), judged)
            if isinstance(ready, Ready)
        ]

    async def _side_by_side(self, calls: Sequence[Ready], round_: int) -> list[Answered]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(ready, ready.call, round_)) for ready in calls]
        return [task.result() for task in tasks]

    async def _one(self, ready: Ready | ToolError, call: ToolCall, round_: int) -> Answered:
        command = _command(ready, call)
        self._publish([ToolStarted(call.id, call.name, command, round_)])
        begun = time.monotonic()
        result, outside = STOPPED, False
        try:
            if isinstance(ready, ToolError):
                result, outside = _failed(ready), isinstance(ready, OutsideError)
            else:
                result, outside = await self._result(ready, call, round_)
        finally:
            answered = self._close(call, command, result, time.monotonic() - begun, round_, outside=outside)
        return answered

    async def _result(self, ready: Ready, call: ToolCall, round_: int) -> tuple[ToolResult, bool]:
        """What the tool gives, and whether it is outside text. Whatever it raises becomes a result to read."""
        self.count += 1
        tool = ready.tool
        progress = _Progress(self._publish, call, round_)
        context = replace(
            self._context(f"{round_}.{call.id}", progress.tell),
            outside=self.trust.outside,
            approved=ready.need is not None,  # what needs the user's word comes here with it only
        )
        try:
            async with asyncio.timeout(tool.seconds):
                result = await tool.run(ready.arguments, context)
        except TimeoutError:
            return ToolResult(f"{tool.name} took longer than {tool.seconds:g} seconds and was stopped.", 124), False
        except OdysseusError as error:
            return _failed(error), isinstance(error, OutsideError)
        except Exception:
            log.exception("the tool %s met an unexpected error", tool.name)
            return ToolResult(OWN_ERROR, 1), False
        finally:
            progress.stop()
        output = await fit(result.output, tool.output_limit, context.workspace.outputs, context.call_id)
        return replace(result, output=output), tool.outside or result.outside

    def _close(
        self, call: ToolCall, command: str, result: ToolResult, elapsed: float, round_: int, *, outside: bool
    ) -> Answered:
        """The row's end, and the answer to the model, as one."""
        said = as_outside(result.output) if outside else result.output
        message = ChatMessage("tool", said or "(no output)", tool_call_id=call.id)
        extras = self._with_untold(result.extras)
        ended = ToolEnded(
            call.id, call.name, command, result.output, result.exit_code, round_, round(elapsed, 3), extras
        )
        self._publish([*result.events, ended, *result.after, Noted(to_entry(message))])
        if outside:
            self._texts.append(result.output)
            self.trust = replace(self.trust, outside=True)
        return Answered(call, message, result.output, result.ends_turn)

    def _with_untold(self, extras: Mapping[str, Any]) -> Mapping[str, Any]:
        """The first row of a run that goes on tells of the sources that the run before it had, too."""
        told, self._untold = self._untold, ()
        return {**extras, "sources": [*told, *extras.get("sources", ())]} if told else extras

    async def _previewed(self, ready: Ready) -> Preview | ToolError:
        """What the call will do; the error, where it could not be done anyway."""
        try:
            preview = await ready.tool.preview(ready.arguments, self._quiet_context(ready.call))
        except ToolError as error:
            return error
        except Exception:
            log.exception("the preview of %s met an unexpected error", ready.tool.name)
            return ToolError(OWN_ERROR)
        return preview if len(preview.content) <= SHOWN_LIMIT else ToolError(TOO_LONG)

    def _quiet_context(self, call: ToolCall) -> ToolContext:
        return self._context(call.id, lambda _message, _tail: None)

    async def _ask(self, ready: Ready, preview: Preview, left: Sequence[ToolCall], round_: int) -> None:
        """Seal the call with those after it, and put its card before the user."""
        call, tool = ready.call, ready.tool
        sealed = replace(
            self._blank,
            approval_id=approvals.new_approval_id(),
            calls=tuple(left),
            content=preview.content,
            fingerprint=preview.fingerprint,
            effects=tuple(sorted(tool.effects)),
            workspace=str(self._quiet_context(call).workspace.root),
            sources=tuple(self._sources.rows),
            why=approvals.reason(tool, outside=ready.need == "outside", written=ready.need == "written"),
        )
        sealed = await self._seal(sealed)
        command = _command(ready, call)
        self._publish(
            [
                ToolStarted(call.id, call.name, command, round_),
                ToolEnded(call.id, call.name, command, WAITING, None, round_),
                UserAsked(approvals.card(sealed)),
            ]
        )

    async def _refused(self, call: ToolCall) -> Answered:
        command = _command(self._judge(call), call)
        self._publish([ToolStarted(call.id, call.name, command, 0)])
        return self._close(call, command, ToolResult(DENIED, 1), 0.0, 0, outside=False)

    def _moved(self, sealed: Sealed) -> bool:
        """Whether this run works in another folder than the user was shown."""
        return str(self._quiet_context(sealed.calls[0]).workspace.root) != sealed.workspace

    async def _approved(self, sealed: Sealed) -> Answered:
        """The sealed call, unless the world has moved on under it."""
        call = sealed.calls[0]
        ready: Ready | ToolError = ToolError(CHANGED) if self._moved(sealed) else self._judge(call)
        if isinstance(ready, Ready):
            preview = await self._previewed(ready)
            if isinstance(preview, ToolError):
                ready = preview
            elif not approvals.unchanged(sealed, preview):
                ready = ToolError(CHANGED)
        return await self._one(ready, call, 0)


class _Progress:
    """Tells of a running call every second."""

    def __init__(self, publish: Publish, call: ToolCall, round_: int) -> None:
        self._publish = publish
        self._call = call
        self._round = round_
        self._said = ("", "")
        self._begun = time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(PROGRESS_SECONDS, self._tick)

    def tell(self, message: str, tail: str) -> None:
        """What it says next."""
        self._said = (message, tail)

    def stop(self) -> None:
        """Say no more."""
        self._timer.cancel()

    def _tick(self) -> None:
        message, tail = self._said
        elapsed = time.monotonic() - self._begun
        self._timer = asyncio.get_running_loop().call_later(PROGRESS_SECONDS, self._tick)
        self._publish([ToolProgressed(self._call.id, self._call.name, message, elapsed, self._round, tail)])


def _failed(error: OdysseusError) -> ToolResult:
    """An error as a result; it may quote what the model wrote, at any length."""
    return ToolResult(cut(error.message, ERROR_LIMIT), 1)


def _beside(tool: Tool) -> bool:
    """Whether it may run at the side of others."""
    return tool.reads_only and not tool.alone


def _canonical(arguments: str) -> str:
    """Arguments that mean the same are the same."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # no JSON, or nested too deeply
        return arguments


def _command(ready: Ready | ToolError, call: ToolCall) -> str:
    """What is called, for people; the bare arguments where they could not be read."""
    text = ready.tool.command(ready.arguments) if isinstance(ready, Ready) else call.arguments
    return text[:FULL_COMMAND_LIMIT]
