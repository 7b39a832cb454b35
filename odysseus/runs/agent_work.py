"""What an agent run is given: its tools, its folder, its prompt, and the sealed call that it goes on from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from odysseus.agent.approvals import Sealed
from odysseus.agent.calls import CallRunner
from odysseus.agent.loop import Decision, Fitting, Limits, Task, run_agent
from odysseus.agent.prompt import agent_prompt
from odysseus.agent.request import Publish
from odysseus.agent.toolbox import Toolbox, Trust, Wishes, choose_tools, named_tools
from odysseus.config import AgentProfile
from odysseus.context.citing import rows_of
from odysseus.context.window import Window
from odysseus.events import AgentPrepared, ApprovalDecision, ApprovalResolved, Event
from odysseus.providers.base import ChatMessage, ChatRequest, Finished
from odysseus.providers.fallback import Asker
from odysseus.runs.approvals import ApprovalBook
from odysseus.runs.briefing import Briefing, Question
from odysseus.runs.places import Places
from odysseus.runs.policies import Policies
from odysseus.runs.record import Identity
from odysseus.tools.base import ToolContext
from odysseus.tools.cited import Cited
from odysseus.tools.workspace import Workspace


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """From the config: limits, more text for the prompt, and the usual workspace."""

    limits: Limits
    ask_after_outside: bool
    system_prompt: str
    workspace: str


@dataclass(frozen=True, slots=True)
class AgentWish:
    """What a message asks of an agent beside its text. `decision` answers the sealed call of an earlier run.

    A `profile` is that of a named agent, which works unattended.
    """

    wishes: Wishes = field(default_factory=Wishes)
    workspace: str = ""
    approved_plan: str = ""
    time_zone: str = ""
    approval_id: str = ""
    decision: ApprovalDecision | None = None
    profile: AgentProfile | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One agent run: who asks whom what, and the sealed call that it begins with, if any."""

    identity: Identity
    wish: AgentWish
    asker: Asker
    asked: Question
    sealed: Sealed | None = None


@dataclass(frozen=True, slots=True)
class _Hands:
    """What a run works with, whether outside text is in its conversation, and what it may cite."""

    workspace: Workspace
    toolbox: Toolbox
    outside: bool
    sources: Cited


class AgentDesk:
    """Prepares agent runs and sees them through. `policies` has the tools that there are now."""

    def __init__(
        self,
        policies: Policies,
        briefing: Briefing,
        approvals: ApprovalBook,
        places: Places,
        settings: AgentSettings,
    ) -> None:
        self.briefing = briefing
        self.approvals = approvals
        self.places = places
        self._policies = policies
        self._settings = settings

    def system_prompt(self, base: str, wish: AgentWish) -> str:
        """The system text of an agent run."""
        chosen = wish.workspace or self._settings.workspace
        where = f"the user's folder {Path(chosen).name!r}" if chosen else "a folder of this chat's own"
        return agent_prompt(
            base,
            workspace=f"Your workspace is {where}. Paths are relative to it.",
            plan_mode=wish.wishes.plan_mode,
            approved_plan=wish.approved_plan,
            more=self._settings.system_prompt,
        )

    def toolbox(self, wish: AgentWish) -> Toolbox:
        """The tools that a message with these wishes may use now."""
        tools = self._policies.tools()
        if wish.profile:
            tools = named_tools(tools, wish.profile.tools, wish.profile.allow)
        return choose_tools(self._policies.apply(tools, unattended=wish.profile is not None), wish.wishes)

    async def run(self, job: Job, publish: Publish, tell: Callable[[ChatRequest], None]) -> Finished | None:
        """One agent run from its preparation to its end; `tell` gets its first request.

        Raises ProviderError, StoreError.
        """
        began = time.perf_counter()
        wish, session_id = job.wish, job.identity.session_id
        chosen = wish.workspace or self._settings.workspace
        workspace, rejected = await self.places.open(session_id, chosen, incognito=wish.wishes.incognito)
        placed = time.perf_counter()
        toolbox = self.toolbox(wish)
        selected = time.perf_counter()
        briefed = await self.briefing.brief(job.asked, toolbox.specs())
        sources = Cited(job.sealed.sources if job.sealed else rows_of(briefed.events))
        tell(briefed.request)
        seconds = {"request_setup": placed - began, "tool_selection": selected - placed, **briefed.seconds}
        task = Task(
            job.asker,
            briefed.request,
            self._limits(wish),
            lambda show: self._runner(job, _Hands(workspace, toolbox, briefed.opened.outside, sources), show),
            _fitting(briefed.opened.window),
            briefed.refit,
            before=[*_resolved(job), *rejected, *briefed.events, AgentPrepared(_rounded(seconds))],
            usage=briefed.usage,
            decision=Decision(job.sealed, wish.decision) if job.sealed and wish.decision else None,
        )
        return await run_agent(task, publish)

    async def forget(self, session_id: str) -> None:
        """Remove what a deleted session leaves."""
        self.approvals.forget(session_id)
        await self.places.forget(session_id)

    async def close(self) -> None:
        """Remove what incognito chats leave."""
        await self.places.close()

    def _limits(self, wish: AgentWish) -> Limits:
        limits = self._settings.limits
        return replace(limits, rounds=wish.profile.max_rounds) if wish.profile else limits

    def _runner(self, job: Job, hands: _Hands, publish: Publish) -> CallRunner:
        identity, wish = job.identity, job.wish
        incognito = wish.wishes.incognito

        def context(call_id: str, progress: Callable[[str, str], None]) -> ToolContext:
            unique = f"{identity.run_id}.{call_id}"
            return ToolContext(
                *(identity.session_id, identity.run_id, unique, hands.workspace, progress, incognito, wish.time_zone),
                sources=hands.sources,
            )

        async def seal(sealed: Sealed) -> Sealed:
            return await self.approvals.seal(sealed, incognito=incognito)

        return CallRunner(
            toolbox=hands.toolbox,
            trust=Trust(
                outside=hands.outside,
                ask_after_outside=self._settings.ask_after_outside,
                unattended=wish.profile is not None,
            ),
            publish=publish,
            context=context,
            seal=seal,
            blank=_blank(identity, wish),
            sources=hands.sources,
            limit=self._settings.limits.calls,
        )


def wish_of(sealed: Sealed, decided: AgentWish) -> AgentWish:
    """The wish of the run that asked, for the run that goes on from what the user has decided."""
    kept = dict(sealed.wishes)
    beside = {name: kept.pop(name) for name in ("workspace", "approved_plan")}
    return replace(decided, wishes=Wishes(**kept), **beside)


def _fitting(window: Window) -> Fitting:
    """What the loop asks before each of its later requests."""

    async def fit(messages: Sequence[ChatMessage]) -> tuple[Sequence[ChatMessage], Sequence[Event]]:
        found = await window.fit(messages)
        return found.messages, [found.trimmed] if found.trimmed else []

    return fit


def _rounded(seconds: Mapping[str, float]) -> Mapping[str, float]:
    return {name: round(value, 4) for name, value in seconds.items()}


def _resolved(job: Job) -> Sequence[Event]:
    if job.sealed is None or job.wish.decision is None:
        return ()
    return [ApprovalResolved(job.sealed.approval_id, job.wish.decision)]


def _blank(identity: Identity, wish: AgentWish) -> Sealed:
    """A sealed call of this run, without its call."""
    wishes: dict[str, Any] = {
        **{name: getattr(wish.wishes, name) for name in wish.wishes.__slots__},
        "workspace": wish.workspace,
        "approved_plan": wish.approved_plan,
    }
    return Sealed(
        approval_id="",
        session_id=identity.session_id,
        run_id=identity.run_id,
        user_message_id=identity.user_message_id,
        calls=(),
        content="",
        fingerprint="",
        effects=(),
        workspace="",
        why="",
        wishes=wishes,
        expires_at=0.0,
    )
