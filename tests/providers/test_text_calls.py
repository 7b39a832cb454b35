"""Calls that are written as text: what is one, what only looks like one, and that no text is lost on the way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from upstream import DONE, finish, text_chunk
from wire_files import Played, read

from odysseus.events import ReasoningDelta, TextDelta
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import Chunk, Finished, ToolCall
from odysseus.providers.openai import OpenAIReading
from odysseus.providers.text_calls import HELD_LIMIT, Delta, TextCalls
from odysseus.providers.tool_calls import ToolCallDelta

TOOLS = ("read_file", "f", "shell")
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"}, "n": {"type": "integer"}, "x": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "on": {"type": "boolean"}, "list": {"type": "array"}, "map": {"type": "object"}, "any": {},
    },
}  # fmt: skip
SCHEMAS = dict.fromkeys(TOOLS, SCHEMA)
READ = '{"name":"read_file","arguments":{"path":"t.txt"}}'
RUN = '{"name":"shell","arguments":{"command":"rm -r x"}}'
PATH, COMMAND = ("read_file", '{"path":"t.txt"}'), ("shell", '{"command":"rm -r x"}')
TAGGED, RUN_TAGGED = f"<tool_call>{READ}</tool_call>", f"<tool_call>{RUN}</tool_call>"
BETWEEN = "<function=read_file><parameter=path>t.txt</parameter></function>"
Found = tuple[str, list[tuple[str, str]]]


def find(pieces: Iterable[str], tools: Sequence[str] = TOOLS) -> Found:
    """The text and the calls of an answer that comes in these pieces."""
    reading = TextCalls(dict.fromkeys(tools, SCHEMA))
    told = [delta for piece in pieces if piece for delta in reading.feed(TextDelta(piece))]
    rest, calls = reading.finish()
    assert all(delta.text for delta in (*told, *rest))
    return "".join(delta.text for delta in (*told, *rest)), [(call.name, call.arguments) for call in calls]


def find_all(whole: str) -> Found:
    """The same, which must not depend on where the answer is cut."""
    found = find([whole])
    assert find(whole) == found
    for at in range(len(whole)):
        assert find([whole[:at], whole[at:]]) == found, (whole[:at], whole[at:])
    return found


CALLS: list[tuple[str, str, list[tuple[str, str]]]] = [
    (TAGGED, "", [PATH]),
    ('<tool_call>\n{"name": "f", "arguments": {"a" : [1 , "}"]} }\n</tool_call>\n', "",
     [("f", '{"a" : [1 , "}"]}')]),
    (f"{TAGGED}\n{RUN_TAGGED}", "", [PATH, COMMAND]),
    (f"{TAGGED}{RUN_TAGGED}  \r\n", "", [PATH, COMMAND]),
    (f"{TAGGED}{TAGGED}", "", [PATH, PATH]),
    (f"<tool_call>{READ}", "", [PATH]),
    (f"<tool_call>{READ}\n</tool_", "", [PATH]),
    (f"{TAGGED}\n<tool_call>{RUN}\n", "", [PATH, COMMAND]),
    (f"I look.\n\n{TAGGED}", "I look.\n\n", [PATH]),
    (f"I look.\r\n  {TAGGED}\r\n", "I look.\r\n  ", [PATH]),
    (f"\n\n{TAGGED}\nThen I go on.\n{RUN_TAGGED}\n\n", "\nThen I go on.\n", [PATH, COMMAND]),
    (f"[TOOL_CALLS][{READ}]", "", [PATH]),
    (f"[TOOL_CALLS] [{READ}, {RUN}]\n", "", [PATH, COMMAND]),
    ('[TOOL_CALLS][{"name":"f","arguments":{},"id":"abc123def"}]', "", [("f", "{}")]),
    (READ, "", [PATH]),
    (f"\n {RUN}\n", "", [COMMAND]),
    ('{\n  "name": "f",\n  "parameters": {"a": "`\\n```"}\n}', "", [("f", '{"a": "`\\n```"}')]),
    ('{"arguments":{"a":1},"name":"f"}', "", [("f", '{"a":1}')]),
    ('<tool_call>{"name":"f"}</tool_call>', "", [("f", "")]),
    ('<tool_call>{"name":"f","arguments":"{\\"a\\":1}"}</tool_call>', "", [("f", '"{\\"a\\":1}"')]),
    ('<tool_call>{"name":"f","arguments":{"a":"</tool_call>\\n<tool_call>"}}</tool_call>', "",
     [("f", '{"a":"</tool_call>\\n<tool_call>"}')]),
    (f"```\n{RUN_TAGGED}\n```\nSo:\n{TAGGED}", f"```\n{RUN_TAGGED}\n```\nSo:\n", [PATH]),
    (f"The `tool` and \\` is here.\n{TAGGED}", "The `tool` and \\` is here.\n", [PATH]),
    (f"A lone ` in a line.\n\n{TAGGED}", "A lone ` in a line.\n\n", [PATH]),
    (f"It is < 3.\n<tool_call> is the tag.\n{TAGGED}", "It is < 3.\n<tool_call> is the tag.\n", [PATH]),
    (f'<tool_call>{{"name":"x","arguments":{{}}}}</tool_call>\n{TAGGED}',
     '<tool_call>{"name":"x","arguments":{}}</tool_call>\n', [PATH]),
    (BETWEEN, "", [PATH]),
    (f"I look.\n\n{BETWEEN}\n{BETWEEN}{BETWEEN}\n{TAGGED}\n", "I look.\n\n", [PATH] * 4),
    (f"<tool_call>\n{BETWEEN}\n</tool_call>", "", [PATH]),
    (f"<tool_call>{BETWEEN}", "", [PATH]),
    (f"{BETWEEN}\n</tool_call>\n", "", [PATH]),
    ("<function=f>\n</function>", "", [("f", "{}")]),
    ("<function=f><parameter=path>\n a\n\nb \n</parameter>\n<parameter=n> 7 </parameter></function>", "",
     [("f", '{"path":" a\\n\\nb ","n":7}')]),
    ("<function=f><parameter=path>7</parameter><parameter=x>-1.5</parameter><parameter=on>True</parameter>"
     '<parameter=list>[1]</parameter><parameter=map>{"a":1}</parameter><parameter=any>8</parameter></function>', "",
     [("f", '{"path":"7","x":-1.5,"on":true,"list":[1],"map":{"a":1},"any":"8"}')]),
    ("<function=f><parameter=n>many</parameter></function>", "", [("f", '{"n":"many"}')]),
    ("<function=f><parameter=path></function> and </parameter> too</parameter></function>", "",
     [("f", '{"path":"</function> and </parameter> too"}')]),
]  # fmt: skip


@pytest.mark.parametrize(("whole", "text", "calls"), CALLS)
def test_a_written_call_is_found_wherever_it_is_cut(whole: str, text: str, calls: list[tuple[str, str]]) -> None:
    assert find_all(whole) == (text, calls)


QUOTED_TEXTS = [
    # In code.
    f"Write it like this:\n```\n{RUN_TAGGED}\n```\nDone.",
    f"```json\n{RUN}\n```",
    f"~~~\n```\n{RUN_TAGGED}\n~~~",
    f"````\n```\n{RUN_TAGGED}\n```\n{RUN_TAGGED}\n````\n",
    f"```\nno end\n{RUN_TAGGED}",
    f"```\n``` not the end\n{RUN_TAGGED}\n```",
    f"```\n        ```\n{RUN_TAGGED}\n```",
    f"1. Do:\n   ```\n{RUN_TAGGED}\n   ```\n",
    f"> ```\n{RUN_TAGGED}\n> ```",
    f"```\n> ```\n{RUN_TAGGED}\n```",
    f"- ```\n{RUN_TAGGED}\n  ```",
    f"`{RUN_TAGGED}`",
    f"Use `\n{RUN_TAGGED}\n` for it.",
    f"Use ``a ` b\n{RUN_TAGGED}\n`` for it.",
    f"Use `a\\`, `b\n{RUN_TAGGED}\n`.",
    f"As code:\n\n    {RUN_TAGGED}\n",
    f"    {RUN_TAGGED}\n",
    f"\t{RUN}",
    # Not at the start of a line, or not all of it.
    f"Write {RUN_TAGGED} for it.",
    f"> {RUN_TAGGED}",
    f"- {RUN_TAGGED}",
    f"{RUN_TAGGED} is how it is written.",
    f"{RUN_TAGGED}, {RUN_TAGGED}",
    f"{TAGGED} {RUN_TAGGED} are two of them.",
    f"A: [TOOL_CALLS][{RUN}]",
    f"[TOOL_CALLS][{RUN}] is how it is written.",
    f"Sure:\n{RUN}",
    f"{RUN}\nThis runs it.",
    f"{RUN}\n{RUN}",
    f"a\r{RUN_TAGGED}",
    # Not a call.
    "<tool_call>", "<tool", "[TOOL_CALLS]", "[TOOL_CALLS][", "[TOOL_CALLS][]", "{", "{}", "{}\n", "<tool_call>{",
    "<tool_call>{}</tool_call>", "<tool_call>[]</tool_call>", "[1]", "<", "[", " \n ", "\n",
    '{"name":"Bob","arguments":"none"}', '{"name":"f"}', '{"name":"f","arguments":{},"more":1}',
    '{"name":"f","arguments":{},"parameters":{}}', '{"name":["f"],"arguments":{}}', '{"name":"f","arguments":{}',
    '{"result":{"name":"f","arguments":{}}}', f"[{READ}]", f'"{"name"}"', '{"name":"f","arguments":{}}}',
    '<tool_call>{"name":"nope","arguments":{}}</tool_call>',
    f'[TOOL_CALLS][{READ},{{"name":"nope","arguments":{{}}}}]',
    '<tool_call>{"name":"f","arguments":{"a":}}</tool_call>',
    '<tool_call>{"name":"f","arguments":{"a":"cut',
    f'<tool_call>{{"name":"f","arguments":{{"a":"\n{RUN_TAGGED}\n"}}}}</tool_call>',
    f'<tool_call>{{"name":"f","arguments":{{"a":"x" y\n{RUN_TAGGED}\n"}}}}\n{RUN_TAGGED}',
    f'<tool_call>{{"name":"f","arguments":{{"a":"cut\n{RUN_TAGGED}',
    f"<tool_call>{READ}\nand so on",
    # Between tags.
    f"As code:\n```\n{BETWEEN}\n```\n", f"Write {BETWEEN} for it.", f"{BETWEEN} is how it is written.", f"`{BETWEEN}`",
    BETWEEN.replace("read_file", "nope"), BETWEEN.removesuffix(">"), BETWEEN.replace("</parameter>", ""),
    "<function=read_file>", "<function=read_file> reads a file.", "<function", "<function=",
    "<function=a b></function>",
    "<function=f><parameter=a>1</parameter> and <parameter=b>2</parameter></function>",
    "<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>",
    f"<function=nope>\n<parameter=a>\n{RUN_TAGGED}\n</parameter>\n</function>\n",
    f"<function=f>\n<parameter=a>\n{RUN_TAGGED}\n",
    f"<tool_call>{BETWEEN}\nand so on",
]  # fmt: skip


@pytest.mark.parametrize("text", QUOTED_TEXTS)
def test_what_only_looks_like_a_call_stays_text(text: str) -> None:
    assert find_all(text) == (text, [])


def test_text_is_held_only_while_it_may_be_a_call() -> None:
    calls = TextCalls(SCHEMAS)
    steps = [
        ("Hi <tool_call>{", "Hi <tool_call>{"), ("\n", "\n"), ("<too", ""), ("th", "<tooth"), ("\n", "\n"),
        ("<tool_call>", ""), ("x", "<tool_call>x"), ("\n```\n", "\n```\n"), ("<tool_call>{", "<tool_call>{"),
    ]  # fmt: skip
    for piece, told in steps:
        assert "".join(delta.text for delta in calls.feed(TextDelta(piece))) == told, piece


@pytest.mark.parametrize("begin", ['{"re', '{"name": "Bob"', "{\n}", "[1"])
def test_an_answer_in_json_is_not_held_back(begin: str) -> None:
    assert TextCalls(SCHEMAS).feed(TextDelta(begin)) == [TextDelta(begin)]


def test_a_call_is_held_up_to_a_limit_and_is_text_beyond_it() -> None:
    head, tail = '{"name":"f","arguments":{"a":"', '"}}'
    body = head + "x" * (HELD_LIMIT - len(head + tail)) + tail
    for opener, closer in (("<tool_call>", "</tool_call>"), ("", "")):
        whole = f"{opener}{body}{closer}"
        longer = whole.replace("xx", "xxx", 1)
        assert [name for name, _ in find([whole])[1]] == ["f"]
        for size in (len(longer), 5_000, 11):
            assert find(longer[at : at + size] for at in range(0, len(longer), size)) == (longer, [])


@pytest.mark.parametrize("whole", [TAGGED, READ, f"[TOOL_CALLS][{READ}]"])
def test_without_tools_nothing_is_held(whole: str) -> None:
    calls = TextCalls({})
    assert calls.idle
    assert [calls.feed(TextDelta(letter)) for letter in whole] == [[TextDelta(letter)] for letter in whole]
    assert calls.finish() == ([], [])


# Any mixture of pieces, in any cut.

PIECES = st.sampled_from([
    TAGGED, RUN_TAGGED, READ, f"[TOOL_CALLS][{READ}]", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "{", "}", "[",
    "]", "<",
    "`", "``", "```", "~~~", "\n", "\n\n", "\r\n", " ", "    ", "\t", "> ", "- ", "\\", '"', "word", "ü🚲",
    BETWEEN, f"<tool_call>{BETWEEN}</tool_call>", "<function=f>", "<parameter=a>", "</parameter>", "</function>",
    '{"name":"nope","arguments":{}}', '"name"', ":", ",", "<tool_call>{", '{"name":"f","arguments":',
])  # fmt: skip
MIXTURES = st.lists(PIECES, max_size=14).map("".join)


@settings(deadline=None)
@given(MIXTURES, st.data())
def test_any_cut_gives_the_same(whole: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=5))
    places = [0, *sorted(cuts), len(whole)]
    assert find(whole[start:end] for start, end in pairwise(places)) == find([whole]) == find(whole)


@settings(deadline=None)
@given(MIXTURES)
def test_giving_up_anywhere_loses_and_moves_nothing(whole: str) -> None:
    for size in (1, 4, len(whole) + 1):
        calls = TextCalls(SCHEMAS)
        told: list[Delta] = []
        for at in range(0, len(whole), size):
            told += calls.feed(TextDelta(whole[at : at + size]))
        assert "".join(delta.text for delta in (*told, *calls.give_up())) == whole
        assert calls.idle


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: "{" not in text))
def test_text_without_calls_passes_unchanged(text: str) -> None:
    assert find(text) == (text, [])


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["Some words.\n", "- one\n- two\n", "```\nx\n```\n", "a `b` c\n\nd\n", TAGGED, RUN_TAGGED])
    )
)
def test_the_text_is_the_answer_without_its_calls(parts: list[str]) -> None:
    wanted = {TAGGED: PATH, RUN_TAGGED: COMMAND}
    lines = [part if part not in wanted else part + "\n" for part in parts]
    text, calls = find("".join(lines))
    assert calls == [wanted[part] for part in parts if part in wanted]
    assert text.replace("\n", "") == "".join(part for part in parts if part not in wanted).replace("\n", "")


# In an answer, with all that else it may hold.


def run(chunks: Iterable[Chunk | ToolCallDelta]) -> Played:
    """The answer of these chunks."""
    assembly, played = Assembly(TOOLS, SCHEMAS), Played()
    for chunk in chunks:
        played.chunks += assembly.add([chunk])
    played.chunks += assembly.flush()
    assert assembly.fault(ended=True) is None
    played.chunks += assembly.end(whole=True)
    return played


def test_written_calls_come_at_the_end_with_ids_of_their_own() -> None:
    played = run([TextDelta(f"So:\n{TAGGED}\n{TAGGED}"), Finished("stop", "stop")])
    assert [(call.name, call.arguments, call.problem) for call in played.calls] == [(*PATH, None)] * 2
    assert len({call.id for call in played.calls} - {""}) == 2
    assert [(piece.id, piece.name, piece.arguments) for piece in played.fragments] == [
        (call.id, call.name, call.arguments) for call in played.calls
    ]
    assert (played.text, played.finished) == ("So:\n", [Finished("tool_calls", "stop")])
    assert [type(chunk) for chunk in played.chunks[-3:]] == [ToolCall, ToolCall, Finished]


@pytest.mark.parametrize(
    ("arguments", "problem"), [("[1]", "not a list"), ('"{}"', "not a text"), ("7", "not a number"), ("null", None)]
)
def test_arguments_that_are_no_object_are_told_and_kept(arguments: str, problem: str | None) -> None:
    (call,) = run([TextDelta(f'{{"name":"f","arguments":{arguments}}}')]).calls
    assert call.arguments == (arguments if problem else "{}")
    assert (problem or "") in (call.problem or "")
    assert (call.problem is None) == (problem is None)


NATIVE = ToolCallDelta(0, "n1", "f", "{}")


@pytest.mark.parametrize("text", [f"{TAGGED}\nmore", f"{TAGGED}", "<tool_call>{", READ, "a\n<tool"])
def test_beside_a_native_call_all_text_is_text(text: str) -> None:
    orders: list[list[Chunk | ToolCallDelta]] = [
        [TextDelta(text), NATIVE],
        [NATIVE, TextDelta(text)],
        [TextDelta(text), NATIVE, TextDelta(TAGGED)],
    ]
    for chunks in orders:
        played = run(chunks)
        assert [call.id for call in played.calls] == ["n1"]
        assert played.text == "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    assert isinstance(run([TextDelta(text), NATIVE]).chunks[0], TextDelta)


def test_what_is_written_in_reasoning_is_no_call() -> None:
    for chunk in (ReasoningDelta(TAGGED), TextDelta(f"<think>\n{TAGGED}\n</think>")):
        played = run([chunk, TextDelta("Done.")])
        assert (played.calls, played.text, played.reasoning.strip()) == ([], "Done.", TAGGED)
    after = run([TextDelta(f"<think>hm</think>\n\n{READ}")])
    assert (after.text, [call.name for call in after.calls]) == ("", ["read_file"])


def test_reasoning_in_the_middle_of_a_call_breaks_it_and_after_it_does_not() -> None:
    broken = run([TextDelta(TAGGED[:20]), ReasoningDelta("hm"), TextDelta(TAGGED[20:] + f"\n{TAGGED}")])
    assert (broken.calls, broken.text) == ([], f"{TAGGED}\n{TAGGED}")
    whole = run([TextDelta(TAGGED), ReasoningDelta("hm"), TextDelta("Done.")])
    assert ([call.name for call in whole.calls], whole.text, whole.reasoning) == (["read_file"], "Done.", "hm")


def test_of_an_answer_that_broke_off_no_written_call_is_given() -> None:
    assembly = Assembly(TOOLS, SCHEMAS)
    given = [*assembly.add([TextDelta(f"Hi\n{TAGGED}")]), *assembly.flush()]
    assert assembly.fault(ended=False) is not None
    assert not any(isinstance(chunk, ToolCall) for chunk in (*given, *assembly.end(whole=False)))


def body_of(*texts: str) -> bytes:
    return b"".join(map(text_chunk, texts)) + finish("stop") + DONE


@pytest.mark.parametrize("at", range(0, len(TAGGED), 3))
def test_on_the_wire_a_call_is_found_and_without_tools_it_is_text(at: int) -> None:
    body = body_of(TAGGED[:at] or "\n", TAGGED[at:])
    offered, plain = read(OpenAIReading(tools=TOOLS, written=SCHEMAS), [body]), read(OpenAIReading(), [body])
    assert ([(call.name, call.arguments) for call in offered.calls], offered.text) == ([PATH], "")
    assert (plain.calls, plain.text.strip()) == ([], TAGGED)
    assert (offered.failure, plain.failure) == (None, None)


def test_on_the_wire_a_call_is_found_however_the_answer_is_cut_into_records() -> None:
    whole = f"Word by word.\n```\n{RUN_TAGGED}\n```\n\n{TAGGED}\n{RUN_TAGGED}\n"
    for size in (1, 3, 8, len(whole)):
        played = read(
            OpenAIReading(tools=TOOLS, written=SCHEMAS),
            [body_of(*(whole[at : at + size] for at in range(0, len(whole), size)))],
        )
        assert [(call.name, call.arguments) for call in played.calls] == [PATH, COMMAND]
        assert (played.text, played.failure) == (f"Word by word.\n```\n{RUN_TAGGED}\n```\n\n", None)


def test_a_whole_document_may_hold_a_written_call() -> None:
    message = {"role": "assistant", "content": f"So:\n{TAGGED}"}
    reading = OpenAIReading(tools=TOOLS, written=SCHEMAS)
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    chunks = [*reading.take_whole(body), *reading.end()]
    assert [chunk.name for chunk in chunks if isinstance(chunk, ToolCall)] == ["read_file"]


def test_the_fast_way_is_open_without_tools_and_after_a_native_call() -> None:
    plain, offered = Assembly(), Assembly(TOOLS, SCHEMAS)
    for assembly in (plain, offered):
        assembly.add([TextDelta("Hi")])
    assert (plain.watches, offered.watches) == (False, True)
    offered.add([NATIVE])
    assert (plain.plain, plain.watches) == (offered.plain, offered.watches) == (True, False)


def test_halves_of_a_pair_in_a_written_call_are_joined() -> None:
    call = '<tool_call>{"name":"f","arguments":{"a":"\ud83d', '\udeb2"}}</tool_call>'
    records = [json.dumps({"choices": [{"delta": {"content": text}}]}).encode() for text in call]
    body = b"".join(b"data: %b\n\n" % record for record in records) + finish("stop") + DONE
    played = read(OpenAIReading(tools=TOOLS, written=SCHEMAS), [body])
    assert [call.arguments for call in played.calls] == ['{"a":"🚲"}']
