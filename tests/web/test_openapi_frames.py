"""The frames as schemas against what the dialects write: every sample fits, no field is unknown, no schema unused."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from openapi_schemas import SCHEMAS, check, component
from serving import Frame
from test_docs_stream import FRAMES, SAMPLES

from odysseus.archive.conversation import Since
from odysseus.runs.trace import NOTICES, metadata_of, step_of
from odysseus.store.messages import Message
from odysseus.web.messages import shown_metadata

JSON_FRAMES = [frame for frame in FRAMES if frame.kind != "[DONE]"]
TYPES = SCHEMAS["ChatEvent"]["discriminator"]["mapping"]


def schema_of(frame: Frame) -> str:
    """The component that describes a frame."""
    if frame.kind in {"delta", "error"}:
        return "Delta" if frame.kind == "delta" else "StreamError"
    return str(TYPES[frame.kind]).rpartition("/")[2]


def fields(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all fields of an object."""
    if not isinstance(value, dict):
        return []
    return [step for key, inner in value.items() for step in [(*path, key), *fields(inner, (*path, key))]]


@pytest.mark.parametrize("frame", JSON_FRAMES, ids=lambda frame: frame.kind)
def test_a_frame_is_as_its_schema_has_it(frame: Frame) -> None:
    check(frame.data, component(schema_of(frame)))
    check(frame.data, component("ChatFrame"))


@pytest.mark.parametrize("frame", JSON_FRAMES, ids=lambda frame: frame.kind)
def test_a_field_that_nobody_described_is_noticed(frame: Frame) -> None:
    for path in [(), *(path[:-1] for path in fields(frame.data) if path[-1] in {"data", "usage", "timing", "diff"})]:
        strange = copy.deepcopy(frame.data)
        place = strange
        for key in path:
            place = place[key][0] if isinstance(place[key], list) else place[key]
        place["nobody_described_me"] = 1
        with pytest.raises(AssertionError):
            check(strange, component(schema_of(frame)))


def test_what_the_history_keeps_of_every_event_is_as_its_schema_has_it() -> None:
    steps = [step for event in SAMPLES if (step := step_of(event, 0))]
    answer = Message("a", "s", 1, "assistant", "", metadata_of(steps), 0.0)
    shown = shown_metadata(answer, {0: 0}, Since({}, frozenset()))
    assert {notice["type"] for notice in shown["notices"]} == set(NOTICES.values())
    assert set(shown) >= {"attachments", "rag_sources", "web_sources", "memories_used"}
    check(shown, component("Metadata"))
    shown["notices"][0]["nobody_described_me"] = 1
    with pytest.raises(AssertionError):
        check(shown, component("Metadata"))


def test_every_schema_of_a_frame_has_a_frame() -> None:
    assert set(TYPES) == {frame.kind for frame in JSON_FRAMES} - {"delta", "error"}
    assert {ref["$ref"] for ref in SCHEMAS["ChatEvent"]["anyOf"]} == set(TYPES.values())
