"""Tool calls from pieces: what tells them apart, and what becomes of arguments that cannot be used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odysseus.providers.base import ToolCall, ToolCallFragment
from odysseus.providers.tool_calls import ToolCallAssembly, ToolCallDelta, find_problem

TOOLS = ("f", "g", "read_file", "read_file_lines")


def assemble(*pieces: ToolCallDelta, tools: tuple[str, ...] = TOOLS) -> list[ToolCall]:
    """The calls of these pieces; their fragments must say the same."""
    calls = ToolCallAssembly(tools)
    fragments = [found for piece in pieces for found in add(calls, piece)]
    finished = calls.finish()
    for number, call in enumerate(finished):
        own = [fragment for fragment in fragments if fragment.index == number]
        assert {(fragment.id, fragment.name) for fragment in own} <= {(call.id, call.name)}
        joined = "".join(fragment.arguments for fragment in own)
        assert joined == call.arguments or joined.strip() in ("", "null")
    assert len({call.id for call in finished}) == len(finished)
    return finished


def add(calls: ToolCallAssembly, piece: ToolCallDelta) -> list[ToolCallFragment]:
    return calls.add(piece.index, piece.id, piece.name, piece.arguments, piece.state, opens=piece.opens)


def told(calls: list[ToolCall]) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in calls]


BLANKS = ("", " ", "\n\t", "null", " null ")
P = ToolCallDelta


@pytest.mark.parametrize("blank", BLANKS)
def test_blank_arguments_mean_an_empty_object(blank: str) -> None:
    assert assemble(P(0, "z1", "f", blank)) == [ToolCall("z1", "f", "{}")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('["left"]', "not a list"),
        ("42", "not a number"),
        ("true", "not true or false"),
        ('"text"', "not a text"),
        ('"{\\"q\\":1}"', "not a text"),
        ('{"path":"/data/x", ', "not valid JSON at character 20"),
        ('{"a":NaN}', "not valid JSON"),
        ('{"a":1}{"a":1}', "not valid JSON"),
        ("{'a':1}", "not valid JSON"),
        ('{"a":"\0"}', "not valid JSON"),
        ('{"a":"line\nbreak"}', "not valid JSON"),
        ('{"a":' * 5000, "not valid JSON"),
    ],
)
def test_arguments_that_are_no_object_are_kept_and_marked(arguments: str, words: str) -> None:
    [call] = assemble(P(0, "q", "f", arguments))
    assert call.problem is not None
    assert words in call.problem
    assert len(call.problem) < 150
    assert call.arguments == arguments.replace("\0", "\ufffd")


def test_calls_cut_by_the_length_limit_before_their_arguments_are_marked() -> None:
    calls = ToolCallAssembly(TOOLS)
    calls.add(0, "a", "f", "")
    calls.add(1, "b", "g", "")
    first, last = calls.finish(cut=True)
    assert first.problem is None
    assert "length limit" in str(last.problem)


def test_a_call_without_a_name_is_marked_and_one_without_anything_is_none() -> None:
    calls = assemble(P(0, "a", "", "{}"), P(1, "b"), P(2), P(None, state={}))
    assert [(call.id, call.problem) for call in calls] == [("a", "The call does not say which tool it calls.")]


SHAPES: list[tuple[str, list[ToolCallDelta], list[tuple[str, str]]]] = [
    ("new id", [P(None, "a", "f", "{}"), P(None, "b", "f", "{}")], [("f", "{}"), ("f", "{}")]),
    ("new name", [P(None, "", "f", '{"a":'), P(None, "", "", "1}"), P(None, "", "g")], [("f", '{"a":1}'), ("g", "{}")]),
    ("twice the same", [P(None, "", "f", "{}"), P(None, "", "f", "{}")], [("f", "{}"), ("f", "{}")]),
    ("blank twice", [P(0, "a", "f"), P(0, "b", "f")], [("f", "{}"), ("f", "{}")]),
    ("index 0 for two names", [P(0, "", "f", "{}"), P(0, "", "g", "{}")], [("f", "{}"), ("g", "{}")]),
    ("index 0, blank", [P(0, "", "f"), P(0, "", "g")], [("f", "{}"), ("g", "{}")]),
    ("index only first", [P(3, "a", "f", '{"a"'), P(None, "", "", ":1}")], [("f", '{"a":1}')]),
    ("index only later", [P(None, "a", "f", '{"a"'), P(0, "", "", ":1}")], [("f", '{"a":1}')]),
    ("name after arguments", [P(0, "a", "", '{"a"'), P(0, "", "f", ":1}")], [("f", '{"a":1}')]),
    ("name in three", [P(0, "a", "read"), P(0, "", "_fi"), P(0, "", "le", "{}")], [("read_file", "{}")]),
    ("part like a tool", [P(0, "a", "read_"), P(0, "", "f"), P(0, "", "ile", "{}")], [("read_file", "{}")]),
    ("name that grows", [P(0, "a", "read_"), P(0, "", "read_file", "{}")], [("read_file", "{}")]),
    ("a longer name", [P(0, "a", "read_file"), P(0, "", "_lines", "{}")], [("read_file_lines", "{}")]),
    ("name again", [P(0, "a", "f"), P(0, "a", "f", '{"a"'), P(0, "a", "f", ":1}")], [("f", '{"a":1}')]),
    ("name after begun", [P(0, "a", "f", "{"), P(0, "", "g", "}")], [("f", "{}")]),
    ("unknown name again", [P(0, "a", "zzz"), P(0, "a", "zzz", "{}")], [("zzz", "{}")]),
    ("new id, same place", [P(0, "a", "f", '{"a"'), P(0, "b", "f", ":1}")], [("f", '{"a":1}')]),
    ("same id, new place", [P(0, "a", "f", "{}"), P(1, "a", "g", "{}")], [("f", "{}"), ("g", "{}")]),
    ("by id in one place", [P(0, "a", "f", "{"), P(0, "b", "g", "{"), P(0, "a", "", "}"), P(0, "b", "", "}")],
     [("f", "{}"), ("g", "{}")]),
    ("by id alone", [P(None, "a", "f", "{"), P(None, "b", "g", "{"), P(None, "a", "", "}"), P(None, "b", "", "}")],
     [("f", "{}"), ("g", "{}")]),
    ("negative index", [P(-1, "a", "f", "{}"), P(7, "b", "g", "{}")], [("f", "{}"), ("g", "{}")]),
]  # fmt: skip


@pytest.mark.parametrize(("pieces", "calls"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES])
def test_pieces_find_their_call(pieces: list[ToolCallDelta], calls: list[tuple[str, str]]) -> None:
    found = assemble(*pieces)
    assert told(found) == calls
    assert all(call.problem is None for call in found)


def test_a_name_in_pieces_is_joined_without_knowing_the_tools() -> None:
    assert told(assemble(P(0, "a", "read_"), P(0, "", "file", "{}"), tools=())) == [("read_file", "{}")]
    assert told(assemble(P(0, "a", "f"), P(0, "a", "f", "{}"), tools=())) == [("f", "{}")]


def test_ids_are_kept_made_unique_and_made_up() -> None:
    odd = "functions.f:0|" + "x" * 300
    kept = assemble(P(0, odd, "f"), P(1, odd, "f"), P(2, "", "f"), P(3, f"{odd}-2", "f"))
    assert [call.id for call in kept[:2]] == [odd, f"{odd}-2"]
    assert kept[2].id.isalnum()
    assert len(kept[2].id) == 9
    assert kept[3].id == f"{odd}-2-2"


def test_state_of_every_piece_is_kept_with_its_call() -> None:
    [first, second] = assemble(
        P(0, "a", "f", "{", {"x": 1}), P(1, "b", "g"), P(0, "", "", "}", {"y": 2}), P(0, "", "", "", {"x": 3})
    )
    assert (first.state, second.state) == ({"x": 3, "y": 2}, None)


def test_fragments_have_text_and_come_once() -> None:
    calls = ToolCallAssembly(TOOLS)
    assert calls.add(5, "a", "f", None) == []
    assert calls.add(5, None, None, '{"a"') == [ToolCallFragment(0, "a", "f", '{"a"')]
    assert calls.add(5, "", "", "") == []
    assert calls.add(5, None, None, ":1}") == [ToolCallFragment(0, "a", "f", ":1}")]


# Any stream of calls, in the shapes that servers give it, cut anywhere.

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=5), json_values, max_size=3).map(json.dumps)
wanted = st.lists(st.tuples(st.sampled_from(TOOLS), objects), min_size=1, max_size=4)


def cut(data: st.DataObject, text: str) -> list[str]:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def shaped(shape: str, number: int, name: str, parts: list[str]) -> list[ToolCallDelta]:
    """The pieces of call `number` as a server of this shape sends them."""
    first, *rest = [part for part in parts if part] if shape == "names only" else parts
    own = f"id{number}"
    index = {"indexed from one without ids": number + 1, "index 0": 0, "ids only": None, "names only": None}
    begin = P(index.get(shape, number), own, name, first)
    shapes: dict[str, list[ToolCallDelta]] = {
        "everything in every piece": [replace(begin, arguments=part) for part in parts],
        "id and name in every piece": [P(None, own, name, part) for part in parts],
        "new id in every piece": [begin, *(P(number, f"{own}-{at}", "", part) for at, part in enumerate(rest))],
        "name in letters": [*(P(number, own, letter) for letter in name), *(P(number, "", "", part) for part in parts)],
    }
    if "without ids" in shape or shape == "names only":
        begin = replace(begin, id="")
    return shapes.get(shape) or [begin, *(P(begin.index, "", "", part) for part in rest)]


SERVERS = (
    "indexed", "indexed from one without ids", "ids only", "everything in every piece", "id and name in every piece",
    "index 0", "new id in every piece", "name in letters", "names only",
)  # fmt: skip
INTERLEAVED = ("indexed", "indexed from one without ids", "everything in every piece", "new id in every piece")


@settings(deadline=None)
@given(calls=wanted, shape=st.sampled_from(SERVERS), data=st.data())
def test_any_cut_of_any_stream_of_calls_gives_the_same_calls(
    calls: list[tuple[str, str]], shape: str, data: Any
) -> None:
    lines = [shaped(shape, number, name, cut(data, text)) for number, (name, text) in enumerate(calls)]
    pieces = [piece for line in lines for piece in line]
    if shape in INTERLEAVED:
        order = data.draw(st.permutations([number for number, line in enumerate(lines) for _ in line]))
        rows = [iter(line) for line in lines]
        pieces = [next(rows[number]) for number in order]
        first_seen = list(dict.fromkeys(order))
        calls = [calls[number] for number in first_seen]
    found = assemble(*pieces)
    assert told(found) == [(name, text) for name, text in calls]
    assert all(call.problem is None for call in found)


@settings(deadline=None)
@given(st.text(max_size=30) | st.binary(max_size=30).map(lambda raw: raw.decode("latin-1")) | objects)
def test_arguments_are_never_mended(text: str) -> None:
    [call] = assemble(replace(P(0, "a", "f"), arguments=text))
    if text.strip() in ("", "null"):
        assert (call.arguments, call.problem) == ("{}", None)
    else:
        assert call.problem == find_problem(text)
        assert call.problem or isinstance(json.loads(call.arguments), dict)
        assert call.arguments == text.replace("\0", "\ufffd")
