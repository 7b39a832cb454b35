"""Which tools a run may use, and what has to be asked first. Pure; the same rules offer a tool and guard its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from odysseus.providers.base import ToolCall, ToolSpec
from odysseus.tools.base import Seen, Tool, ToolError

PLANNING_TOOLS = frozenset({"update_plan", "ask_user"})
SHELL_TOOLS = frozenset({"bash", "python"})
WEB_TOOLS = frozenset({"web_search", "web_fetch"})
RISKY = frozenset({"write", "execute", "destructive", "private"})
LIKENESS = 3


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a message says of tools (chat stream, section 1)."""

    use_web: bool = False
    allow_web_search: bool | None = None
    allow_bash: bool | None = None
    plan_mode: bool = False
    incognito: bool = False


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one run by name; `withheld` says of the others why they may not run."""

    tools: Mapping[str, Tool]
    withheld: Mapping[str, str] = field(default_factory=dict)

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is offered."""
        return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in self.tools.values())

    def find(self, call: ToolCall) -> tuple[Tool, Any]:
        """The tool and its checked arguments. Raises ToolError that tells the model what was wrong."""
        tool = self.tools.get(call.name)
        if tool is None:
            reason = self.withheld.get(call.name)
            raise ToolError(reason or f"There is no tool {call.name!r}. The tools are: {', '.join(self.tools)}.")
        if call.problem:
            raise ToolError(call.problem)
        return tool, tool.parse(_arguments(call))


@dataclass(frozen=True, slots=True)
class Trust:
    """How far a run is trusted. `granted` by the user for this task; `outside` once others' text has entered it.

    `unattended` says that nobody can be asked, so that what would ask is refused.
    """

    granted: bool = False
    outside: bool = False
    ask_after_outside: bool = True
    unattended: bool = False


Need = Literal["policy", "outside", "written"]


def choose_tools(tools: Sequence[Tool], wishes: Wishes) -> Toolbox:
    """The tools that a message may use. Each has the policy that holds for it."""
    reasons = {tool.name: _withheld(tool, wishes) for tool in tools}
    return Toolbox(
        {tool.name: tool for tool in tools if not reasons[tool.name]},
        {name: reason for name, reason in reasons.items() if reason},
    )


def named_tools(tools: Sequence[Tool], names: Sequence[str], allowed: Sequence[str]) -> list[Tool]:
    """The tools of these names, in their order; the allowed ones act without asking, whatever comes in."""
    found = {tool.name: tool for tool in tools}
    chosen = [found[name] for name in names if name in found]
    return [replace(tool, policy="allow", trusted=True) if tool.name in allowed else tool for tool in chosen]


def must_ask(tool: Tool, arguments: Any, call: ToolCall, trust: Trust, seen: Seen) -> Need | None:
    """Why the user has to be asked before this call; None when it may run."""
    if trust.granted or tool.trusted:
        return None
    if tool.policy == "ask":
        return "policy"
    acts = bool(tool.effects & RISKY) or ("network" in tool.effects and tool.sends(arguments, seen))
    if acts and trust.outside and trust.ask_after_outside:
        return "outside"
    return "written" if call.written and (acts or not tool.reads_only) else None


def _withheld(tool: Tool, wishes: Wishes) -> str:
    if tool.policy == "deny":
        return f"The tool {tool.name} is denied by the settings. Do without it."
    if wishes.plan_mode and not tool.reads_only and tool.name not in PLANNING_TOOLS:
        return f"The tool {tool.name} may not run in plan mode. Only look, and give the plan with update_plan."
    if tool.name in SHELL_TOOLS and wishes.allow_bash is False:
        return f"The user has turned {tool.name} off for this message. Do without it."
    if tool.name in WEB_TOOLS and wishes.allow_web_search is False:
        return f"The user has turned {tool.name} off for this message. Do without it."
    if wishes.incognito and tool.keeps:
        return f"The tool {tool.name} is off in an incognito chat, where nothing is kept. Do without it."
    return ""


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    """The call's arguments; blank ones are none. The adapters have checked that they are an object.

    Raises ToolError for what could be read but not written again, as rows and servers need it.
    """
    given = orjson.loads(call.arguments) if call.arguments.strip() else {}
    try:
        orjson.dumps(given)
    except orjson.JSONEncodeError as error:
        raise ToolError(
            "The arguments are nested too deeply. Give them with fewer lists and objects in each other."
        ) from error
    return given if isinstance(given, dict) else {}
