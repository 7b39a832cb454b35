"""One answer as it grows: what waits for the end, and what makes it whole."""

from __future__ import annotations

import pytest

from odysseus.events import ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.assembly import Assembly, merge_state
from odysseus.providers.base import Chunk, Finished, ProviderState, ToolCall, ToolCallFragment
from odysseus.providers.tool_calls import ToolCallDelta

CALL = ToolCall("a", "f", '{"x":1}')


def test_calls_come_at_the_end_before_the_usage() -> None:
    assembly, usage = Assembly(["f"]), UsageReport(1, 2)
    assert assembly.add([ToolCallFragment(0, "a", "f", '{"x"')]) == [ToolCallFragment(0, "a", "f", '{"x"')]
    assert assembly.add([Finished("tool_calls", "tool_use"), usage, ToolCallFragment(0, "", "", ":1}")])
    assert assembly.fault(ended=True) is None
    assert assembly.end(whole=True) == [CALL, usage, Finished("tool_calls", "tool_use")]


def test_of_an_answer_that_is_not_whole_no_call_is_given() -> None:
    assembly = Assembly()
    assembly.add([CALL, ProviderState({"x": 1}), UsageReport(1, 2)])
    assert assembly.end(whole=False) == [UsageReport(1, 2)]
    assert assembly.fault(ended=False) is not None


def test_whole_calls_are_never_melted_together() -> None:
    assembly = Assembly()
    given = assembly.add([ToolCall("", "f", "{}"), ToolCall("", "f", "{}", state={"s": 1}), ToolCall("", "f", "")])
    assert [type(chunk) for chunk in given] == [ToolCallFragment, ToolCallFragment]
    calls = [chunk for chunk in assembly.end(whole=True) if isinstance(chunk, ToolCall)]
    assert [(call.name, call.arguments, call.state) for call in calls] == [
        ("f", "{}", None), ("f", "{}", {"s": 1}), ("f", "{}", None),
    ]  # fmt: skip
    assert len({call.id for call in calls}) == 3


ENDS: list[tuple[list[Chunk | ToolCallDelta], Finished | None, Finished]] = [
    ([CALL], Finished("stop", "stop"), Finished("tool_calls", "stop")),
    ([CALL], None, Finished("tool_calls")),
    ([CALL], Finished("length", "length"), Finished("length", "length")),
    ([CALL], Finished("content_filter", "x"), Finished("content_filter", "x")),
    ([TextDelta("x")], Finished("tool_calls", "tool_calls"), Finished("stop", "tool_calls")),
    ([TextDelta("x")], None, Finished(None)),
]


@pytest.mark.parametrize(("chunks", "end", "expected"), ENDS)
def test_the_end_fits_what_came(chunks: list[Chunk | ToolCallDelta], end: Finished | None, expected: Finished) -> None:
    assembly = Assembly()
    assembly.add([*chunks, *([end] if end else [])])
    assert assembly.end(whole=True)[-1] == expected


def test_a_call_alone_is_an_answer_and_an_empty_piece_is_none() -> None:
    spoken, silent = Assembly(), Assembly()
    spoken.add([ToolCallDelta(0, "", "f")])
    silent.add([ToolCallDelta(0, "a"), Finished("tool_calls")])
    assert spoken.fault(ended=True) is None
    assert "empty answer" in str(silent.fault(ended=True))


def test_blanks_around_calls_are_no_text_and_tags_before_them_reasoning() -> None:
    assembly = Assembly()
    given = assembly.add([TextDelta("<think>"), TextDelta("hm"), TextDelta("</think>\n\n"), CALL])
    assert given == [ReasoningDelta("hm"), ToolCallFragment(0, "a", "f", '{"x":1}')]
    assert assembly.flush() == []


def test_states_are_put_together_and_come_first() -> None:
    assembly = Assembly()
    assembly.add([ProviderState({"list": [1], "map": {"a": 1}, "one": 1}), TextDelta("x")])
    assembly.add([ProviderState({"list": [2], "map": {"b": 2}, "one": 2, "new": None})])
    state = ProviderState({"list": [1, 2], "map": {"a": 1, "b": 2}, "one": 2, "new": None})
    assert assembly.end(whole=True) == [state, Finished(None)]


def test_merging_changes_neither_side() -> None:
    old, new = {"a": [1], "m": {"x": [1]}}, {"a": [2], "m": {"x": [2]}}
    assert merge_state(old, new) == {"a": [1, 2], "m": {"x": [1, 2]}}
    assert (old, new) == ({"a": [1], "m": {"x": [1]}}, {"a": [2], "m": {"x": [2]}})
