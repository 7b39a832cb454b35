from __future__ import annotations

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from odysseus.agent.transcript import NOT_RUN, from_entry, paired, to_entry, without_tools
from odysseus.providers.base import ChatMessage, ToolCall


def asked(*ids: str, text: str = "") -> ChatMessage:
    return ChatMessage("assistant", text, tool_calls=tuple(ToolCall(id_, "ls", "{}") for id_ in ids))


def result(id_: str, text: str = "ok") -> ChatMessage:
    return ChatMessage("tool", text, tool_call_id=id_)


def test_a_message_survives_the_store_with_all_that_the_vendor_wants_back() -> None:
    call = ToolCall("a", "bash", '{"command": "ls"}', None, {"google": {"thought_signature": "QUJD"}}, written=True)
    message = ChatMessage("assistant", "text", tool_calls=(call,), reasoning="why", state={"blocks": [{"x": 1}]})
    assert from_entry(orjson.loads(orjson.dumps(to_entry(message)))) == message


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    assert paired([asked("a", "b"), result("a"), ChatMessage("user", "go on")]) == [
        asked("a", "b"),
        result("a"),
        result("b", NOT_RUN),
        ChatMessage("user", "go on"),
    ]


def test_a_result_without_a_call_is_left_out() -> None:
    assert paired([ChatMessage("user", "hi"), result("x"), asked("a"), result("x"), result("a")]) == [
        ChatMessage("user", "hi"),
        asked("a"),
        result("a"),
    ]


def test_results_stand_in_the_order_of_the_calls_and_once() -> None:
    assert paired([asked("a", "b"), result("b", "2"), result("a", "1"), result("b", "again")]) == [
        asked("a", "b"),
        result("a", "1"),
        result("b", "2"),
    ]


def test_the_same_id_in_two_rounds_belongs_to_each_of_them() -> None:
    turns = [asked("call_0"), result("call_0", "1"), asked("call_0"), result("call_0", "2")]
    assert paired(turns) == turns


messages = st.lists(
    st.one_of(
        st.sampled_from([ChatMessage("user", "u"), ChatMessage("assistant", "a")]),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True).map(lambda ids: asked(*ids)),
        st.sampled_from("abcd").map(result),
    ),
    max_size=12,
)


@given(messages)
@settings(max_examples=200, deadline=None)
def test_whatever_was_cut_short_every_call_has_one_result_behind_it(history: list[ChatMessage]) -> None:
    whole = paired(history)
    expected: list[str] = []
    for message in whole:
        if message.role == "tool":
            assert message.tool_call_id == expected.pop(0)
        else:
            assert not expected
            expected = [call.id for call in message.tool_calls]
    assert not expected
    assert [m for m in whole if m.role != "tool"] == [m for m in history if m.role != "tool"]
    assert paired(whole) == whole


def test_without_tools_calls_and_results_are_told_as_text() -> None:
    told = without_tools([ChatMessage("user", "q"), asked("a", text="Looking."), result("a", "x.txt")])
    assert [(message.role, message.content) for message in told] == [
        ("user", "q"),
        ("assistant", "Looking.\n\n(I called ls with {})"),
        ("user", "Result of ls:\nx.txt"),
    ]
    assert not any(message.tool_calls for message in told)
