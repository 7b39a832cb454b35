"""Tools that speak to the user and to the page: a question, the plan, and what the page should show.

They change nothing outside the chat; what the page makes of a wish is its own affair.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from odysseus.events import Mode, PlanUpdated, UiControlled, UserAsked
from odysseus.text import clean_text
from odysseus.tools.base import Arguments, Tool, ToolContext, ToolError, ToolResult, make_tool, one_line

PLAN_LIMIT = 8192
MOST_OPTIONS = 8
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[([ xX])\][ \t]+\S", re.MULTILINE)

UiEvent = Literal["toggle", "set_mode", "switch_model", "set_theme", "open_panel", "highlight", "clear_highlight"]
Toggle = Literal["web", "bash", "rag", "research", "incognito"]

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "toggle": ("toggle_name", "state"),
    "set_mode": ("mode",),
    "switch_model": ("model", "endpoint_id"),
    "set_theme": ("theme_name",),
    "open_panel": ("panel",),
    "highlight": ("selector", "label"),
    "clear_highlight": (),
}
_OPTIONAL = frozenset({"endpoint_id", "label"})


class Option(Arguments, frozen=True):
    """An answer to choose."""

    label: Annotated[str, Meta(min_length=1, max_length=120, description="A few words.")]
    description: Annotated[str, Meta(max_length=500, description="What choosing it means.")] = ""


class AskUser(Arguments, frozen=True):
    """Arguments of ask_user."""

    question: Annotated[str, Meta(min_length=1, max_length=2000, description="One clear question.")]
    options: Annotated[
        tuple[Option, ...],
        Meta(max_length=MOST_OPTIONS, description="Answers to choose from; none lets the user write freely."),
    ] = ()
    multi: Annotated[bool, Meta(description="Whether several may be chosen.")] = False


class UpdatePlan(Arguments, frozen=True):
    """Arguments of update_plan."""

    plan: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=PLAN_LIMIT,
            description="The whole plan as a Markdown checklist: one `- [ ] step` a line, `- [x]` when it is done.",
        ),
    ]


class UiControl(Arguments, frozen=True):
    """Arguments of ui_control."""

    action: Annotated[UiEvent, Meta(description="What the page should do; each takes only the fields that name it.")]
    toggle_name: Annotated[Toggle, Meta(description="toggle: which switch.")] | UnsetType = UNSET
    state: Annotated[bool, Meta(description="toggle: on or off.")] | UnsetType = UNSET
    mode: Annotated[Mode, Meta(description="set_mode: the mode.")] | UnsetType = UNSET
    model: Annotated[str, Meta(max_length=200, description="switch_model: the model.")] = ""
    endpoint_id: Annotated[str, Meta(max_length=100, description="switch_model: its endpoint, if known.")] = ""
    theme_name: Annotated[str, Meta(max_length=60, description="set_theme: the theme, like light or dark.")] = ""
    panel: Annotated[str, Meta(max_length=60, description="open_panel: the panel.")] = ""
    selector: Annotated[str, Meta(max_length=200, description="highlight: a CSS selector.")] = ""
    label: Annotated[str, Meta(max_length=200, description="highlight: words beside it.")] = ""


def ask_tools() -> Sequence[Tool]:
    """The tools that speak to the user and the page."""
    ask = make_tool(
        "ask_user",
        "Ask the user a question and wait for the answer. Use it only when you cannot go on without.",
        AskUser,
        _ask,
        ["read"],
        command=lambda given: one_line(given.question),
    )
    return (
        replace(ask, alone=True),  # it ends the turn, so nothing may run at its side
        make_tool(
            "update_plan",
            "Show the user your plan for a task of several steps, and keep it current as steps are done.",
            UpdatePlan,
            _plan,
            ["read"],
            command=lambda given: _progress(given.plan),
        ),
        make_tool(
            "ui_control",
            "Change what the page shows: a switch, the mode, the model, the theme, a panel or a highlight.",
            UiControl,
            _control,
            ["read"],
            command=lambda given: one_line(" ".join(str(value) for value in _ui_event(given).values())),
        ),
    )


POWERS = frozenset({"toggle", "set_mode", "switch_model"})
"""What changes how far an agent may go, or who reads the chat."""


async def _ask(given: AskUser, _: ToolContext) -> ToolResult:
    labels = [one_line(clean_text(option.label)) for option in given.options]
    if len(set(labels)) < len(labels) or not all(labels):
        raise ToolError("Each option needs a label of its own.")
    question = clean_text(given.question).strip()
    if not question:
        raise ToolError("There is no question to ask.")
    options = [
        {"label": label, "description": clean_text(option.description).strip()}
        for label, option in zip(labels, given.options, strict=True)
    ]
    data = {"question": question, "options": options, "multi": given.multi}
    return ToolResult(
        "The question is before the user. The answer is their next message.",
        exit_code=None,
        extras={"ask_user": data},
        after=[UserAsked(data)],
        ends_turn=True,
    )


async def _plan(given: UpdatePlan, _: ToolContext) -> ToolResult:
    plan = clean_text(given.plan).strip()
    if not _ITEM.search(plan):
        raise ToolError("The plan must be a Markdown checklist: one line like `- [ ] step` for each step.")
    return ToolResult(f"The user sees the plan: {_progress(plan)}.", events=[PlanUpdated(plan)])


async def _control(given: UiControl, context: ToolContext) -> ToolResult:
    if context.outside and given.action in POWERS:
        raise ToolError(f"The action {given.action} is the user's alone now that outside text has come in. Ask for it.")
    data = _ui_event(given)
    fields = _FIELDS[given.action]
    if missing := [name for name in fields if name not in data]:
        raise ToolError(f"The action {given.action} needs {' and '.join(missing)}.")
    if foreign := [name for name in given.__struct_fields__[1:] if name not in fields and _value(given, name) != ""]:
        raise ToolError(f"The action {given.action} takes no {' and no '.join(foreign)}.")
    return ToolResult("The page is told.", extras={"ui_event": data}, events=[UiControlled(data)])


def _ui_event(given: UiControl) -> Mapping[str, Any]:
    """The contract's data of the action: its own fields, as far as they are given, and no other."""
    values = {name: _value(given, name) for name in _FIELDS[given.action]}
    return {"ui_event": given.action} | {
        name: value for name, value in values.items() if value != "" or name in _OPTIONAL
    }


def _value(given: UiControl, name: str) -> Any:
    """A field's value, empty when it is not given."""
    value = getattr(given, name)
    if value is UNSET:
        return ""
    return clean_text(value).strip() if isinstance(value, str) else value


def _progress(plan: str) -> str:
    marks = _ITEM.findall(plan)
    return f"{sum(mark != ' ' for mark in marks)} of {len(marks)} steps done"
