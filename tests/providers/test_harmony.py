"""Raw harmony channels at the start of an answer, cut anywhere."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odysseus.events import ReasoningDelta
from odysseus.providers.reasoning import ThinkSplitter

CALL = "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
ANALYSIS = "<|channel|>analysis<|message|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"


def split(pieces: Iterable[str]) -> tuple[str, str]:
    """The reasoning and the answer."""
    splitter = ThinkSplitter()
    deltas = [delta for piece in pieces if piece for delta in splitter.feed(piece)] + splitter.flush()
    assert all(delta.text for delta in deltas)
    reasoning = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    return reasoning, "".join(delta.text for delta in deltas if not isinstance(delta, ReasoningDelta))


ANSWERS: list[tuple[str, str, str]] = [
    (f"{ANALYSIS}weigh<|end|>{FINAL}So <b> <|ok<|return|>", "weigh", "So <b> <|ok"),
    (f" \n<|start|>assistant{ANALYSIS}weigh<|end|>{FINAL}So", "weigh", "So"),
    (f"{ANALYSIS}a<|end|><|start|>assistant{ANALYSIS}b<|end|>{FINAL}c", "a\n\nb", "c"),
    (f"{ANALYSIS}a<|channel|>final<|message|>b", "a", "b"),
    (f"{ANALYSIS}a<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>{FINAL}c", "a",
     "I look.\n\nc"),
    (f"{ANALYSIS}a<|end|>{CALL}", "a", CALL),
    (f"{ANALYSIS}cut in the <|en", "cut in the <|en", ""),
    (f"{ANALYSIS}cut in the header<|end|><|start|>assis", "cut in the header", ""),
    (f"{ANALYSIS}a<|end|>and on without a header", "a", "and on without a header"),
    ("<|chan", "", "<|chan"),
    ("<|channel|>" + "y" * 600 + "<|message|>", "", "<|channel|>" + "y" * 600 + "<|message|>"),
    (f"The format is {ANALYSIS}x<|end|>", "", f"The format is {ANALYSIS}x<|end|>"),
]  # fmt: skip


@pytest.mark.parametrize(("whole", "reasoning", "answer"), ANSWERS)
def test_channels_are_told_apart_wherever_they_are_cut(whole: str, reasoning: str, answer: str) -> None:
    assert split([whole]) == (reasoning, answer)
    assert split(whole) == (reasoning, answer)
    for at in range(len(whole)):
        assert split([whole[:at], whole[at:]]) == (reasoning, answer)


def test_a_channel_is_given_on_as_it_comes() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed(ANALYSIS) == []
    assert splitter.feed("we") == [ReasoningDelta("we")]
    assert splitter.feed("igh <") == [ReasoningDelta("igh ")]
    assert splitter.feed("|") == []
    assert splitter.feed("x") == [ReasoningDelta("<|x")]


TOKENS = (
    "<|channel|>",
    "<|start|>",
    "<|message|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "analysis",
    "final",
    "<|",
    "x",
)


@settings(deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=12), st.data())
def test_any_tokens_in_any_order_give_the_same_at_any_cut(tokens: list[str], data: st.DataObject) -> None:
    whole = "".join(tokens)
    at = data.draw(st.integers(0, len(whole)))
    expected = split([whole])
    assert split(whole) == expected
    assert split([whole[:at], whole[at:]]) == expected
