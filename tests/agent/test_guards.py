from __future__ import annotations

import pytest

from odysseus.agent.guards import EQUAL_CALLS, EQUAL_ROUNDS, IntentNudge, LoopBreaker

LS = ("ls", '{"path":"."}', "a.txt")


def rounds(breaker: LoopBreaker, *played: tuple[list[tuple[str, str, str]], str]) -> list[str]:
    return [circle.reason if (circle := breaker.after_round(calls, text)) else "" for calls, text in played]


def test_four_equal_rounds_are_a_circle() -> None:
    assert rounds(LoopBreaker(), *[([LS], "")] * EQUAL_ROUNDS) == ["", "", "", "repeated_rounds"]


def test_new_text_breaks_the_row_of_equal_rounds() -> None:
    played = [([LS], f"step {number}") for number in range(EQUAL_ROUNDS * 2)]
    assert set(rounds(LoopBreaker(), *played)) == {""}


def test_polling_whose_result_changes_is_no_circle() -> None:
    played = [([("status", "{}", f"{number} %")], "") for number in range(60)]
    assert set(rounds(LoopBreaker(), *played)) == {""}


def test_many_distinct_calls_are_no_circle() -> None:
    played = [([("read_file", f'{{"path":"{number}"}}', "same text")], "") for number in range(60)]
    assert set(rounds(LoopBreaker(), *played)) == {""}


def test_one_identical_call_between_others_is_a_circle_at_the_fifteenth() -> None:
    played = [([LS, ("read_file", str(number), "x")], "") for number in range(EQUAL_CALLS)]
    assert rounds(LoopBreaker(), *played) == [""] * (EQUAL_CALLS - 1) + ["repeated_call"]


def test_two_alternating_rounds_are_a_circle_in_the_end() -> None:
    other = ("pwd", "{}", "/")
    played = [([LS if number % 2 else other], "") for number in range(2 * EQUAL_CALLS)]
    assert rounds(LoopBreaker(), *played)[-2:] != ["", ""]


@pytest.mark.parametrize(
    "text",
    [
        "One moment, I will open the file now.",
        "I'll run the tests",
        "Let me check that for you…",
        "First I looked at the folder. Now I will read `server.py`.",
        "I'm going to search for the cause:",
        "Let's start by reading the config.",
        "I am going to now fix the bug.",
        "The file is missing.\n\nLet me create it.",
    ],
)
def test_a_promise_at_the_end_is_noticed(text: str) -> None:
    assert IntentNudge().matched(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Done. The tests pass.",
        "Let me know if you need anything else.",
        "Would you like me to run the tests?",
        "I'll run the tests if you want.",
        "Shall I open the file?",
        "I will be here when you need me.",
        "I will read the file. It says: hello.",
        "If you tell me the name, I will open the file.",
        "You asked what `let me check` means: it is an announcement.",
        "Once you confirm, I'll delete the folder.",
    ],
)
def test_an_answer_is_no_promise(text: str) -> None:
    assert not IntentNudge().matched(text)
