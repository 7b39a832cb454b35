"""The chat dialect: one frame for every event, one line of data in every frame, whatever the text."""

from __future__ import annotations

import json
import random
import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from odysseus.dialects import chat
from odysseus.dialects.sse import gap_frame, numbered
from odysseus.events import (
    CallWritten,
    Event,
    Noted,
    QuestionGiven,
    ReasoningDelta,
    ResearchEnded,
    RunFailed,
    StreamDone,
    TextDelta,
    ToolStarted,
)

INTERNAL = {CallWritten, Noted, QuestionGiven, ResearchEnded}
NASTY = [
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\u2028",
    "\u2029",
    "\u0085",
    "\x00",
    "\x0b",
    "data: x",
    ": c",
    "🚲",
    "é",
    '"',
    "\\",
    "</script>",
]


def sample(kind: Any) -> Any:
    """A value of a type, as plain as can be."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        return args[0]
    if origin in (Union, types.UnionType):
        return None if type(None) in args else sample(args[0])
    if origin is not None and issubclass(origin, Mapping):
        return {}
    if origin in (tuple, list) or (isinstance(origin, type) and origin.__name__ == "Sequence"):
        return ()
    return {str: "x", int: 1, float: 1.0, bool: True}.get(kind, {})


def encoded(event: Event) -> bytes:
    """Its frame, which there is."""
    frame = chat.encode(event)
    assert frame is not None
    return frame


def made(kind: type[Event]) -> Event:
    """An event of this type."""
    hints = get_type_hints(kind)
    return kind(**{field.name: sample(hints[field.name]) for field in fields(kind)})


def parsed(frame: bytes | None) -> tuple[str, Any]:
    """Event name and data of exactly one whole frame."""
    assert frame
    assert frame.endswith(b"\n\n")
    lines = frame[:-2].decode().split("\n")
    name = lines.pop(0).removeprefix("event: ") if lines[0].startswith("event: ") else "message"
    (data,) = lines
    assert data.startswith("data: ")
    return name, data[6:] if data == "data: [DONE]" else json.loads(data[6:])


@pytest.mark.parametrize("kind", sorted(INTERNAL, key=str))
def test_an_event_for_others_has_no_frame(kind: type[Event]) -> None:
    assert chat.encode(made(kind)) is None


@pytest.mark.parametrize("kind", sorted(set(get_args(Event)) - INTERNAL, key=str))
def test_every_event_has_one_frame(kind: type[Event]) -> None:
    name, data = parsed(chat.encode(made(kind)))
    assert (name == "error") == (kind is RunFailed)
    if kind is not StreamDone and name == "message":
        assert "delta" in data or data["type"]
        assert "status" not in data


@pytest.mark.parametrize("seed", range(40))
def test_any_text_is_one_line_of_data_and_comes_back_whole(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choices(NASTY, k=chance.randrange(30)))
    assert parsed(encoded(TextDelta(text))) == ("message", {"delta": text})
    assert parsed(encoded(ReasoningDelta(text))) == ("message", {"delta": text, "thinking": True})
    assert parsed(encoded(RunFailed(text, 502))) == ("error", {"error": text, "status": 502})
    frame = encoded(TextDelta(text))
    assert frame.count(b"\n") == 2
    assert b"\r" not in frame


def test_non_ascii_characters_stand_as_themselves() -> None:
    assert "é🚲字".encode() in encoded(TextDelta("é🚲字"))


def test_the_end_is_the_word_done() -> None:
    assert encoded(StreamDone()) == b"data: [DONE]\n\n"


def test_numbers_stand_before_their_frames() -> None:
    frames = [encoded(TextDelta("a")), encoded(RunFailed("b", 500))]
    assert numbered(frames, 7) == b"id: 7\n" + frames[0] + b"id: 8\n" + frames[1]
    assert numbered([], 1) == b""


def test_a_gap_names_its_first_and_last_frame() -> None:
    assert parsed(gap_frame(3, 9)) == ("message", {"type": "replay_gap", "from": 3, "to": 9})


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls -l", "ls -l"),
        ("\n  ls   -l\nrm x", "ls   -l …"),
        ("x" * 300, "x" * 239 + "…"),
        ("", ""),
        ("\n\n", ""),
    ],
)
def test_a_row_shows_the_first_line_and_keeps_the_whole(command: str, shown: str) -> None:
    _, data = parsed(chat.encode(ToolStarted("c", "bash", command, 1)))
    assert (data["command"], data["full_command"]) == (shown, command)
