"""What endpoints say about their failures, made fit to be read."""

from __future__ import annotations

import json
import time
from typing import Any

import orjson
import pytest

from odysseus.providers.failures import clean_message, find_message, reported_error, status_error

UNFIT = [
    ("see https://api.example.com/v1?key=abc now", "see (address) now"),
    ("dial tcp 10.0.0.7:8080: refused", "dial tcp (address): refused"),
    ("no route to localhost:11434", "no route to (address)"),
    ("bad key sk-proj-abcdef123456", "bad key (key)"),
    ("sent Authorization: Bearer abc.def", "sent Authorization: Bearer (key)"),
    ("cannot open /home/ada/models/big.gguf", "cannot open (path)"),
    (r"cannot open C:\Users\ada\big.gguf", "cannot open (path)"),
    ("my secret is hush-hush", "my secret is (key)"),
    ("two\n  lines\tand\x00 NUL", "two lines and\ufffd NUL"),
    ("half a pair \ud83d", "half a pair \ufffd"),
    (
        "unknown model org/model-7b at step 3/4, see /v1/models",
        "unknown model org/model-7b at step 3/4, see /v1/models",
    ),
]


@pytest.mark.parametrize(("text", "clean"), UNFIT)
def test_a_message_loses_what_a_user_must_not_see(text: str, clean: str) -> None:
    assert clean_message(text, ["hush-hush", ""]) == clean


@pytest.mark.parametrize(
    "text", ["x" * 70_000, "/home" * 20_000, "a://" * 20_000, "1." * 30_000, "key-" * 20_000, " " * 70_000]
)
def test_a_long_message_is_cut_and_costs_little(text: str) -> None:
    start = time.process_time()
    assert len(clean_message(text)) <= 300
    assert len(status_error(500, text.encode()).message) <= 300
    assert time.process_time() - start < 0.1


def test_a_key_is_not_cut_in_two_where_the_message_is_cut() -> None:
    for before in range(3980, 4001):
        assert "hush" not in clean_message(" " * before + "hush-hush", ["hush-hush"])


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        ({"message": "m", "code": 402}, 402, False),
        ({"message": "m", "code": "429"}, 429, True),
        ({"message": "m", "code": "server_error"}, 502, True),
        ({"message": "m", "code": True}, 502, True),
        ({"message": "m", "code": 7}, 502, True),
        ({"message": "m", "status": 503}, 503, True),
        ({"message": "m", "code": "²"}, 502, True),
        ("m", 502, True),
    ],
)
def test_the_code_of_a_reported_error_is_its_status_when_it_is_one(error: Any, status: int, retryable: bool) -> None:
    found = reported_error(error)
    assert (found.message, found.status, found.retryable) == ("m", status, retryable)


@pytest.mark.parametrize("error", [{}, [], None, 7, {"message": None}, {"message": ""}])
def test_an_error_without_words_still_has_a_sentence(error: Any) -> None:
    assert reported_error(error).message == "The endpoint reported an error without a message."


def test_an_error_inside_a_string_is_read_out() -> None:
    inner = {"error": {"message": "the model is too large", "code": 500}}
    for told in (json.dumps(inner), json.dumps({"error": json.dumps(inner)})):
        body = json.dumps({"error": told}).encode()
        assert status_error(500, body).message == "HTTP 500: the model is too large"
    assert status_error(400, b'{"error":"{not JSON"}').message == "HTTP 400: {not JSON"


@pytest.mark.parametrize("wrap", [b'{"error":%b}', b"[%b]", b'{"detail":[%b]}'])
def test_deep_nesting_is_given_up(wrap: bytes) -> None:
    body = b'"deep"'
    for _ in range(400):
        body = wrap % body
    assert find_message(orjson.loads(body)) is None
    assert status_error(500, body).message == "HTTP 500: Internal Server Error"
