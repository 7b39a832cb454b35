"""The bytes of a program become the text that a terminal would leave standing."""

from __future__ import annotations

import random
import time

import pytest

from odysseus.tools.terminal import LINE_LIMIT, Terminal


def shown(*pieces: bytes) -> str:
    terminal = Terminal()
    return "".join(map(terminal.feed, pieces)) + terminal.finish()


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"plain\ntext", "plain\ntext"),
        (b"dos\r\nlines\r\n", "dos\nlines\n"),
        (b" 10%\r 50%\r100%\ndone\n", "100%\ndone\n"),
        (b"half\r", "half"),
        (b"\x1b[31mred\x1b[0m \x1b[1;4mbold\x1b[m", "red bold"),
        (b"old\r\x1b[2Knew\n", "new\n"),
        (b"\x1b]0;a title\x07seen", "seen"),
        (b"\x1b]8;;http://a.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bP1$r0m\x1b\\after", "after"),
        (b"N\x08NA\x08A", "NA"),
        (b"bell\x07 and \x0e shift", "bell and  shift"),
        (b"a\x00b\x00", "a␀b␀"),
        ("Grüße, 世界 🙂".encode(), "Grüße, 世界 🙂"),
        (b"caf\xe9", "caf�"),
    ],
)
def test_bytes_become_what_a_terminal_shows_wherever_they_are_cut(written: bytes, text: str) -> None:
    assert shown(written) == text
    assert shown(*(bytes([byte]) for byte in written)) == text
    assert all(shown(written[:at], written[at:]) == text for at in range(len(written)))


def test_the_last_line_is_seen_before_it_is_final() -> None:
    terminal = Terminal()
    assert terminal.feed(b"one\n 10%\r 20%") == "one\n"
    assert terminal.line().strip() == "20%"
    assert terminal.feed(b"\r 30%") == ""
    assert terminal.line().strip() == "30%"


def test_a_long_line_does_not_pile_up() -> None:
    terminal = Terminal()
    for _ in range(100):
        terminal.feed(b"x" * 10_000)
        assert len(terminal.line()) <= LINE_LIMIT
    for _ in range(2_000):
        terminal.feed(b"\r" + b"=" * 50)
        assert len(terminal.line()) <= LINE_LIMIT
    assert terminal.finish().strip("\r") == "=" * 50


def test_a_colour_across_the_line_limit_leaves_nothing() -> None:
    line = b"x" * (LINE_LIMIT - 2) + b"\x1b[3" + b"1mred"
    assert shown(line[: LINE_LIMIT + 1], line[LINE_LIMIT + 1 :]) == "x" * (LINE_LIMIT - 2) + "red"


def test_binary_data_is_told_and_not_shown() -> None:
    noise = random.Random(1).randbytes(100_000)
    assert shown(noise[:60_000], noise[60_000:]) == "[100,000 bytes of binary data, not shown]\n"
    assert shown(b"before", noise, b"after\n") == "before\n[100,000 bytes of binary data, not shown]\nafter\n"


def test_text_of_any_script_is_no_binary_data() -> None:
    for text in ("漢字" * 5_000, "é" * 5_000, "🙂" * 5_000, "a.txt\0" * 5_000):
        data = text.encode()
        assert shown(data[1:]).count("[") == 0
        assert shown(data[:4_095], data[4_095:]) == text.replace("\0", "␀")


@pytest.mark.parametrize("unit", [b"\x1b[", b"\x1b]", b"\x1bP", b"\x08", b"a\x08\x08", b"\r", b"a\r", b"\x1b[0;", b"a"])
def test_no_input_is_slow(unit: bytes) -> None:
    started = time.perf_counter()
    shown(*[(unit * 65_536)[:65_536]] * 16)
    assert time.perf_counter() - started < 2.0
