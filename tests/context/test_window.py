"""The window: pairs stay together, the budget is kept, the last words stay, and the beginning changes in steps only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talks import (
    asks,
    check_pairs,
    counter,
    fitted,
    plain_count,
    plain_tokens,
    round_of,
    says,
    tokens_of,
    turns,
    words,
)

from odysseus.context.budget import room_of
from odysseus.context.counting import Counter, TokenCache
from odysseus.context.given import as_data
from odysseus.context.trimming import NO_ROOM
from odysseus.context.turns import SUMMARY_TITLE, Prompt, Turn
from odysseus.context.window import Window
from odysseus.providers.base import ChatMessage, ToolSpec

WINDOWS = st.sampled_from([1000, 2048, 8192, 60_000])


def chat(count: int, length: int = 40) -> list[Turn]:
    """A talk without tools; the last question waits."""
    made = [
        Turn(asks(f"Q{n} {words(length, n)}"), "", (says(f"A{n} {words(length, n + 1)}"),), n + 1, 2)
        for n in range(count - 1)
    ]
    return [*made, Turn(asks(f"Q{count - 1} {words(length, count)}"), "", (), 0, 0)]


@given(turns(), WINDOWS, st.booleans())
@settings(max_examples=150)
def test_calls_and_results_are_never_parted_and_the_budget_is_kept(made: list[Turn], size: int, exact: bool) -> None:
    _, fit = fitted(made, size, exact=exact)
    room = room_of(size)
    check_pairs(fit.messages)
    assert fit.messages[0].content == "Be brief."
    assert tokens_of(fit.messages) <= room.window - room.answer
    assert fit.tokens <= room.prompt


@given(turns(), WINDOWS)
def test_the_last_question_and_the_current_round_stay(made: list[Turn], size: int) -> None:
    _, fit = fitted(made, size)
    questions = [message for message in fit.messages if message.role == "user"]
    assert f"Q{len(made) - 1} " in questions[-1].content
    current = [message for message in made[-1].answer if message.role == "assistant"][-1:]
    assert all(message in fit.messages for message in current)


@given(turns(), WINDOWS)
def test_what_fits_is_left_as_it_is(made: list[Turn], size: int) -> None:
    window, fit = fitted(made, size)
    if window.whole <= room_of(size).prompt and all(
        fitted(made[:count], size)[1].trimmed is None for count in range(1, len(made) + 1)
    ):
        assert fit.trimmed is None
        assert [message for message in fit.messages if message.role != "user"][1:] == [
            message for turn in made for message in turn.answer
        ]


@given(turns(most=20), WINDOWS)
def test_the_beginning_is_the_same_in_the_next_turn_unless_a_step_was_due(made: list[Turn], size: int) -> None:
    before, steps = None, 0
    for count in range(1, len(made) + 1):
        open_ = [*made[: count - 1], replace(made[count - 1], answer=())]
        window, fit = fitted(open_, size)
        if before is not None and window._steps == steps:
            assert fit.messages[: len(before)] == before
        before, steps = fit.messages, window._steps


@given(turns(), WINDOWS)
def test_a_loop_that_grows_is_trimmed_like_the_same_turn_read_from_the_store(made: list[Turn], size: int) -> None:
    *_, last = made

    async def loop() -> tuple[Sequence[ChatMessage], Sequence[ChatMessage]]:
        start = Prompt("Be brief.", (*made[:-1], replace(last, answer=())))
        window = Window(start, room_of(size), counter())
        held = list((await window.fit()).messages)
        fit = None
        for message in last.answer:
            if message.role == "assistant":
                fit = await window.fit(held)
                check_pairs(fit.messages)
            held.append(message)
        fit = await window.fit(held)
        whole = await Window(Prompt("Be brief.", tuple(made)), room_of(size), counter()).fit()
        return fit.messages, whole.messages

    grown, read = asyncio.run(loop())
    assert grown == read


def test_steps_are_rare() -> None:
    made = chat(400)
    steps = [fitted([*made[:count], made[-1]], 4096)[0]._steps for count in range(1, 399, 9)]
    assert steps == sorted(steps)
    total = sum(plain_tokens(turn.question.content) for turn in made if turn.question) * 2
    assert 0 < steps[-1] < total / (0.2 * room_of(4096).prompt)


def test_older_results_shrink_before_anything_leaves_and_keep_the_name_of_the_whole() -> None:
    name = "output:0123456789abcdef"
    result = f"BEGIN {words(1500)}\n[… 9 characters left out here; read_file with the path {name} has all of it …]\nEND"
    long_ago = round_of("old", [10])
    long_ago[1] = replace(long_ago[1], content=result)
    made = [
        Turn(asks("Q0"), as_data("file", words(200)), (*long_ago, says("done")), 1, 2),
        Turn(asks("Q1 now"), "", tuple(round_of("new", [370]))),
    ]
    _, fit = fitted(made, 3800)
    old = next(message for message in fit.messages if message.tool_call_id == "old.0")
    assert fit.trimmed
    assert old.content.startswith("BEGIN")
    assert old.content.endswith("END")
    assert f"read_file with the path {name} has more" in old.content
    assert "older result are left out here" in old.content
    assert words(200) in fit.messages[1].content
    assert fit.messages[-1].content == words(370)


def test_then_what_older_turns_were_given_shrinks_within_its_marks() -> None:
    text = as_data("file a", words(400)) + "\n\n" + as_data("file b", "short")
    made = [Turn(asks("Q0 why"), text, (says("so"),), 1, 2), Turn(asks("Q1"), as_data("file c", words(300, 3)), ())]
    _, fit = fitted(made, 1300)
    first = fit.messages[1].content
    assert first.startswith(text[:60])
    assert text.split("\n")[2] in first  # the end mark of the first file
    assert "more characters are left out here" in first
    assert as_data("file b", "short") in first
    assert first.endswith("Q0 why")
    assert words(300, 3) in fit.messages[3].content


def test_then_the_oldest_turns_leave_and_the_event_says_so() -> None:
    made = chat(60)
    window, fit = fitted(made, 2048)
    assert fit.trimmed
    assert fit.trimmed.context_length == 2048
    assert fit.trimmed.messages_before == 120
    assert fit.trimmed.messages_after == len(fit.messages) < 60
    assert fit.trimmed.tokens_before == window.whole > fit.trimmed.tokens_after == fit.tokens
    assert [message.content[:3] for message in fit.messages[-3:]] == ["Q58", "A58", "Q59"]


def test_within_one_long_turn_older_rounds_leave_and_the_question_says_how_many() -> None:
    answer = [message for number in range(60) for message in round_of(str(number), [20])]
    _, fit = fitted([Turn(asks("Q0 do it all"), "", tuple(answer))], 2048)
    check_pairs(fit.messages)
    question = fit.messages[1].content
    assert question.startswith("Q0 do it all")
    left_out = int(question.split("[… ")[1].split()[0])
    assert left_out == 60 - sum(message.role == "tool" for message in fit.messages) > 0
    assert fit.messages[-2].tool_calls[0].id == "59.0"


def test_what_the_last_question_was_given_is_cut_when_nothing_else_helps() -> None:
    text = as_data("file", words(5000))
    _, fit = fitted([*chat(3)[:-1], Turn(asks("Q9 what is it?"), text)], 2048)
    (question,) = [message.content for message in fit.messages if message.role == "user"]
    assert question.endswith("Q9 what is it?")
    assert question.startswith(text[:200])
    assert text.split("\n")[-1] in question
    assert "more characters are left out here" in question


@pytest.mark.parametrize("size", [200, 1000, 4000])
def test_a_question_longer_than_the_window_is_cut_and_never_empty(size: int) -> None:
    _, fit = fitted([Turn(asks(f"Q0 {words(20_000)} the end"), as_data("file", words(900)))], size)
    question = fit.messages[-1].content
    assert NO_ROOM in question
    assert "Q0 " in question
    assert question.endswith("the end")
    assert tokens_of(fit.messages) <= size


def test_a_conversation_without_an_end_leaves_the_summary_where_it_is() -> None:
    window, fit = fitted(chat(80), 2048, summary="They spoke of MARBLE.")
    head = fit.messages[1].content
    assert head.startswith("The earlier part of this conversation")
    assert f"[{SUMMARY_TITLE} " in head
    assert "They spoke of MARBLE." in head
    assert window.sources().summary > 0
    assert window.sources().total <= fit.tokens


def test_an_answer_that_comes_first_is_no_place_for_the_summary() -> None:
    _, fit = fitted([Turn(None, "", (says("A0"),), 1, 1), Turn(asks("Q1"))], 2048, summary="MARBLE")
    assert [message.role for message in fit.messages] == ["system", "user", "assistant", "user"]
    assert "MARBLE" in fit.messages[1].content


async def test_the_tokenizer_is_asked_only_when_the_window_fills_and_only_for_what_is_new() -> None:
    asked: list[list[str]] = []

    async def count(texts: Sequence[str]) -> Sequence[int]:
        asked.append(list(texts))
        return [plain_tokens(text) for text in texts]

    shared = Counter(TokenCache(), "m", count)
    made = chat(20)
    assert (await Window(Prompt("s", tuple(made[:2])), room_of(8192), shared).fit()).estimated
    assert asked == []
    assert not (await Window(Prompt("s", tuple(made)), room_of(4096), shared).fit()).estimated
    assert len(asked.pop()) == 40
    more = Turn(asks("one more"))
    answered = replace(made[-1], answer=(says("yes"),))
    await Window(Prompt("s", (*made[:-1], answered, more)), room_of(4096), shared).fit()
    assert sorted(asked.pop()) == ["one more", "yes"]
    assert asked == []


async def test_nothing_is_counted_or_made_anew_for_a_round_that_fits() -> None:
    window = Window(Prompt("s", tuple(chat(3))), room_of(8192), counter())
    first = await window.fit()
    held = [*first.messages, *round_of("a", [5])]
    fit = await window.fit(held)
    assert fit.trimmed is None
    assert list(fit.messages) == held


async def test_tools_take_room_only_where_they_are_a_part_of_the_prompt() -> None:
    tool = ToolSpec("read_file", words(200), {"type": "object", "properties": {}})
    for shown in (True, False):
        asks_it = Counter(TokenCache(), "plain", plain_count, tools=shown)
        window = Window(Prompt("s", tuple(chat(3)), (tool,)), room_of(2048), asks_it)
        await window.fit()
        assert (window.sources().tools > 100) is shown


@given(turns(), st.sampled_from([60_000, 8192]), WINDOWS, st.booleans())
def test_a_candidate_that_steps_in_gets_what_its_own_window_has_room_for(
    made: list[Turn], first: int, size: int, exact: bool
) -> None:
    window, before = fitted(made, first)
    fit = asyncio.run(window.moved(room_of(size), counter(exact=exact)))
    _, alone = fitted(made, size, exact=exact)
    assert (fit.messages, fit.tokens) == (alone.messages, alone.tokens)
    later = [*before.messages, *round_of("a", [5])]
    following = asyncio.run(window.fit(later))
    check_pairs(following.messages)
    assert following.tokens <= room_of(size).prompt


async def test_tools_take_room_again_when_a_candidate_steps_in_that_shows_them() -> None:
    tool = ToolSpec("read_file", words(200), {"type": "object", "properties": {}})
    window = Window(
        Prompt("s", tuple(chat(3)), (tool,)), room_of(2048), Counter(TokenCache(), "own", plain_count, tools=False)
    )
    await window.fit()
    await window.moved(room_of(2048), counter())
    assert window.sources().tools > 100
