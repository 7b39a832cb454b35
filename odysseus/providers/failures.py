"""What an endpoint says when it fails, as a ProviderError that a user may read: no address, key, path or markup.

Pure: must not know sockets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import orjson

from odysseus.errors import ProviderError
from odysseus.text import clean_text, clipped

MAX_MESSAGE = 300
_LOOKED_AT = 4000  # characters
_MAX_DEPTH = 8
_RETRYABLE = frozenset({408, 409, 425, 429})
_MARKUP = re.compile(r"^\s*(<!doctype|<html|<head|<body|<\?xml|<!--)", re.IGNORECASE)
_SECRETS = (
    (re.compile(r"(?i)\bbearer\s+\S+"), "Bearer (key)"),
    (re.compile(r"\b(sk|pk|key|gsk|xai|hf)[-_][\w*.-]{6,}"), "(key)"),
    (re.compile(r"\b\w{1,20}://\S+"), "(address)"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\blocalhost:\d+\b"), "(address)"),
    (
        re.compile(r"(?<![\w.])/(home|usr|root|var|opt|tmp|etc|srv|mnt|data|app|Users)(/[\w.@+-]+)+|\b[A-Za-z]:\\\S+"),
        "(path)",
    ),
)


class StatusError(ProviderError):
    """The endpoint answered with an error status. `body` is what it sent, for the adapter only, never shown."""

    def __init__(self, message: str, *, status: int, body: bytes, retry_after: float | None = None) -> None:
        super().__init__(message, status=status, retryable=is_retryable(status), retry_after=retry_after)
        self.body = body


def is_retryable(status: int) -> bool:
    """Whether the same request may succeed a little later."""
    return status in _RETRYABLE or status >= 500


def status_error(
    status: int, body: bytes, secrets: Iterable[str] = (), retry_after: float | None = None
) -> StatusError:
    """An answer with an error status, like `HTTP 429: Too many requests.`"""
    if status < 400:
        return StatusError("The endpoint sends requests elsewhere. Check its base URL.", status=502, body=body)
    text = body.decode("utf-8", "replace")
    if _MARKUP.match(text):
        return StatusError(f"HTTP {status} with an HTML page", status=status, body=body, retry_after=retry_after)
    words = clean_message(_words_of(body, text), secrets) or _phrase(status)
    return StatusError(
        clipped(f"HTTP {status}: {words}", MAX_MESSAGE), status=status, body=body, retry_after=retry_after
    )


def retry_seconds(value: str | None, now: float) -> float | None:
    """A Retry-After header as seconds from `now` (epoch): a number or a date; None for nothing and nonsense."""
    text = (value or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text, re.ASCII):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now) if text else None
    except ValueError:
        return None


def reported_error(error: Any, secrets: Iterable[str] = ()) -> ProviderError:
    """An error object inside an answer that began well. Its code is the status when it is one, else 502."""
    status = _status_of(error)
    words = clean_message(find_message(error) or "", secrets)
    return ProviderError(
        words or "The endpoint reported an error without a message.", status=status, retryable=is_retryable(status)
    )


def find_message(body: Any, depth: int = 0) -> str | None:
    """The sentence in an error body: `error.message`, `detail` or `message`, a few levels deep."""
    if isinstance(body, str):
        return _inner(body, depth)
    if depth > _MAX_DEPTH:
        return None
    if isinstance(body, list):
        return "; ".join(filter(None, (find_message(entry, depth + 1) for entry in body))) or None
    if not isinstance(body, Mapping):
        return None
    if "msg" in body:
        return _detail(body)
    found = (find_message(body.get(name), depth + 1) for name in ("error", "message", "detail", "errors"))
    return next(filter(None, found), None)


def _inner(words: str, depth: int) -> str:
    """The sentence in words that may be the JSON of another server's error."""
    if depth > _MAX_DEPTH or not words.lstrip().startswith(("{", "[")):
        return words
    try:
        return find_message(orjson.loads(words), depth + 1) or words
    except orjson.JSONDecodeError:
        return words


def clean_message(text: str, secrets: Iterable[str] = ()) -> str:
    """One line of at most 300 characters, with secrets, addresses and paths taken out."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "(key)")
    text = text[:_LOOKED_AT]
    if "Traceback (most recent call last)" in text:
        return "The endpoint failed inside."
    for pattern, word in _SECRETS:
        text = pattern.sub(word, text)
    return clipped(" ".join(clean_text(text).split()), MAX_MESSAGE)


def _words_of(body: bytes, text: str) -> str:
    try:
        return find_message(orjson.loads(body)) or ""
    except orjson.JSONDecodeError:
        return text


def _detail(entry: Mapping[str, Any]) -> str:
    """One entry of a validation error: what is wrong, and where."""
    where = entry.get("loc")
    path = ".".join(str(part) for part in where) if isinstance(where, list) else ""
    return f"{path}: {entry['msg']}" if path else str(entry["msg"])


def _status_of(error: Any) -> int:
    if not isinstance(error, Mapping):
        return 502
    for name in ("code", "status", "status_code"):
        value = error.get(name)
        number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
        if isinstance(number, int) and 400 <= number <= 599:
            return number
    return 502


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no message"
