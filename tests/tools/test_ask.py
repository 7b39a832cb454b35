"""Questions, plans and wishes to the page, as the contract has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contexts import context

from odysseus.events import PlanUpdated, UiControlled, UserAsked
from odysseus.tools.ask import PLAN_LIMIT, ask_tools
from odysseus.tools.base import Tool, ToolError, ToolResult

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in ask_tools()}


async def call(folder: Path, name: str, given: Mapping[str, Any]) -> ToolResult:
    tool = TOOLS[name]
    result: ToolResult = await tool.run(tool.parse(given), context(folder))
    return result


async def test_a_question_ends_the_turn_and_waits(tmp_path: Path) -> None:
    options = [{"label": " Red\n", "description": "Like a rose."}, {"label": "Blue"}]
    asked = await call(tmp_path, "ask_user", {"question": " Which colour? ", "options": options, "multi": True})
    data = {
        "question": "Which colour?",
        "options": [{"label": "Red", "description": "Like a rose."}, {"label": "Blue", "description": ""}],
        "multi": True,
    }
    assert (asked.ends_turn, asked.exit_code, asked.extras) == (True, None, {"ask_user": data})
    assert (asked.events, asked.after) == ((), [UserAsked(data)])


async def test_a_question_needs_no_options(tmp_path: Path) -> None:
    asked = await call(tmp_path, "ask_user", {"question": "What is your name?"})
    assert asked.extras["ask_user"] == {"question": "What is your name?", "options": [], "multi": False}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "question"),
        ({"question": ""}, "question"),
        ({"question": " \n"}, "no question to ask"),
        ({"question": "q", "options": [{"label": str(number)} for number in range(9)]}, "options"),
        ({"question": "q", "options": [{"label": "a"}, {"label": " a"}]}, "label of its own"),
        ({"question": "q", "options": [{"label": " "}]}, "label of its own"),
        ({"question": "q", "options": [{"label": ""}]}, "label"),
        ({"question": "q", "options": [{"label": "a", "value": "approve"}]}, "value"),
        ({"question": "q", "kind": "tool_approval"}, "kind"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_told(tmp_path: Path, given: Mapping[str, Any], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await call(tmp_path, "ask_user", given)


PLAN = "# Trip\n\n- [x] book\n* [X] pack\n  1. [ ] go\n- [ ] come back\n- not a step"


async def test_a_plan_is_shown_whole(tmp_path: Path) -> None:
    shown = await call(tmp_path, "update_plan", {"plan": f"\n{PLAN}\n"})
    assert shown.events == [PlanUpdated(PLAN)]
    assert shown.output == "The user sees the plan: 2 of 4 steps done."
    assert (shown.ends_turn, shown.exit_code, shown.after) == (False, 0, ())


async def test_a_plan_may_be_as_long_as_the_contract_says(tmp_path: Path) -> None:
    longest = "- [ ] " + "字" * (PLAN_LIMIT - 6)
    assert (await call(tmp_path, "update_plan", {"plan": longest})).events == [PlanUpdated(longest)]
    with pytest.raises(ToolError, match="plan"):
        await call(tmp_path, "update_plan", {"plan": longest + "x"})


@pytest.mark.parametrize(
    "plan",
    ["", "First this, then that.", "- step", "- [ ]", "[ ] step", "- [y] step", "- [ ]\nstep", "\n" * PLAN_LIMIT],
)
async def test_a_plan_is_a_checklist(tmp_path: Path, plan: str) -> None:
    with pytest.raises(ToolError, match=r"checklist|plan"):
        await call(tmp_path, "update_plan", {"plan": plan})


WISHES: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
    ({"action": "toggle", "toggle_name": "web", "state": True}, {"toggle_name": "web", "state": True}),
    ({"action": "toggle", "toggle_name": "incognito", "state": "false"}, {"toggle_name": "incognito", "state": False}),
    ({"action": "set_mode", "mode": "agent"}, {"mode": "agent"}),
    ({"action": "switch_model", "model": "m", "endpoint_id": "e"}, {"model": "m", "endpoint_id": "e"}),
    ({"action": "switch_model", "model": "m"}, {"model": "m", "endpoint_id": ""}),
    ({"action": "set_theme", "theme_name": " dark ", "panel": ""}, {"theme_name": "dark"}),
    ({"action": "open_panel", "panel": "documents"}, {"panel": "documents"}),
    ({"action": "highlight", "selector": "#send", "label": "Here"}, {"selector": "#send", "label": "Here"}),
    ({"action": "highlight", "selector": "#send"}, {"selector": "#send", "label": ""}),
    ({"action": "clear_highlight"}, {}),
]


@pytest.mark.parametrize(("given", "fields"), WISHES)
async def test_a_wish_to_the_page_has_the_fields_of_the_contract(
    tmp_path: Path, given: Mapping[str, Any], fields: Mapping[str, Any]
) -> None:
    told = await call(tmp_path, "ui_control", given)
    data = {"ui_event": given["action"], **fields}
    assert (told.events, told.extras, told.after) == ([UiControlled(data)], {"ui_event": data}, ())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "action"),
        ({"action": "reload"}, "action"),
        ({"action": "toggle", "toggle_name": "shell", "state": True}, "toggle_name"),
        ({"action": "toggle", "toggle_name": "web"}, "needs state"),
        ({"action": "toggle", "state": True}, "needs toggle_name"),
        ({"action": "toggle", "toggle_name": "web", "state": "maybe"}, "state"),
        ({"action": "set_mode", "mode": "plan"}, "mode"),
        ({"action": "set_mode"}, "needs mode"),
        ({"action": "switch_model", "endpoint_id": "e"}, "needs model"),
        ({"action": "set_theme", "theme_name": "  "}, "needs theme_name"),
        ({"action": "open_panel"}, "needs panel"),
        ({"action": "highlight", "label": "x"}, "needs selector"),
        ({"action": "highlight", "selector": "x" * 201}, "selector"),
        ({"action": "clear_highlight", "selector": "#x"}, "takes no selector"),
        ({"action": "set_mode", "mode": "chat", "state": False, "panel": "x"}, "takes no state and no panel"),
    ],
)
async def test_a_wish_that_is_none_of_the_contracts_is_refused(
    tmp_path: Path, given: Mapping[str, Any], words: str
) -> None:
    with pytest.raises(ToolError, match=words):
        await call(tmp_path, "ui_control", given)


def test_rows_say_what_is_done() -> None:
    def row(name: str, **given: Any) -> str:
        return TOOLS[name].command(TOOLS[name].parse(given))

    assert row("ask_user", question="Which\none?") == "Which one?"
    assert row("update_plan", plan=PLAN) == "2 of 4 steps done"
    assert row("ui_control", action="toggle", toggle_name="web", state=True) == "toggle web True"
    assert row("ui_control", action="toggle") == "toggle"


def test_they_change_nothing_and_need_no_leave() -> None:
    assert all(tool.reads_only and tool.policy == "allow" for tool in TOOLS.values())
    assert {effect for tool in TOOLS.values() for effect in tool.effects} == {"read"}


def test_no_choice_in_a_schema_is_empty() -> None:
    """Some vendors refuse the whole request for one."""
    properties = TOOLS["ui_control"].parameters["properties"]
    assert properties["toggle_name"]["enum"] == ["bash", "incognito", "rag", "research", "web"]
    assert all("" not in field.get("enum", []) and "anyOf" not in field for field in properties.values())


@pytest.mark.parametrize("fields", [{"action": "set_mode", "mode": "agent"}, {"action": "switch_model", "model": "m"}])
async def test_outside_text_switches_nothing(tmp_path: Path, fields: dict[str, str]) -> None:
    (control,) = [tool for tool in ask_tools() if tool.name == "ui_control"]
    given = control.parse(fields)
    assert (await control.run(given, context(tmp_path))).exit_code == 0
    with pytest.raises(ToolError, match="the user's alone"):
        await control.run(given, context(tmp_path, outside=True))
