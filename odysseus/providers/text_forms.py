"""The forms in which models write a call in their text: where one ends, and what it says.

Pure: must not know where in a text a call may stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
import orjson
from msgspec import Raw, Struct

from odysseus.providers.loose import as_mapping

TAG, END_TAG, LIST, FUNCTION = "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<function="
OPENERS = (TAG, LIST, FUNCTION)
JSON_START = {TAG: "{", LIST: "["}
_END_FUNCTION = "</function>"
_HEAD = re.compile(r"<function=([^<>\s]{1,128})>\s*")
_HEAD_BEGIN = re.compile(r"<function=[^<>\s]{0,128}\Z")
_AFTER_HEAD = ("<parameter=", _END_FUNCTION)
_PARAMETER = re.compile(r"<parameter=([^<>\s]{1,128})>(.*?)</parameter>\s*(?=<parameter=[^<>\s]{1,128}>|\Z)", re.DOTALL)
_QUOTED = re.compile(r'\\.?|"', re.DOTALL)
_UNQUOTED = re.compile(r'["{}\[\]]')
Schemas = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call that was written as text. `arguments` is its JSON, not checked; empty without any."""

    name: str
    arguments: str


class BodyEnd(Protocol):
    """Finds where the body of a call ends, in a text that only grows."""

    def find(self, text: str) -> int | None:
        """The place behind it; None while it is not there."""
        ...


class _Bare(Struct, forbid_unknown_fields=True):
    """An object that is nothing but a call. Raw keeps the arguments to the letter."""

    name: str
    arguments: Raw = Raw()
    parameters: Raw = Raw()


class _Tagged(_Bare, forbid_unknown_fields=True):
    """A call in its tag, which may say more than it must."""

    id: Raw = Raw()
    type: Raw = Raw()


_decode_bare = msgspec.json.Decoder(_Bare).decode
_decode_tagged = msgspec.json.Decoder(_Tagged).decode
_decode_list = msgspec.json.Decoder(list[_Tagged]).decode


def decode(text: str, opener: str, schemas: Schemas) -> tuple[TextCall, ...]:
    """The calls in the body behind this opener, none when it is anything else. Without an opener it needs arguments.

    `schemas` are those of the arguments of each tool, by its name.
    """
    if text.startswith(FUNCTION):
        return _decode_function(text, schemas)
    try:
        if opener == LIST:
            found: Sequence[_Bare] = _decode_list(text)
        else:
            found = [_decode_tagged(text) if opener else _decode_bare(text)]
    except (msgspec.DecodeError, RecursionError):
        return ()
    given = [[bytes(raw).decode() for raw in (call.arguments, call.parameters)] for call in found]
    if any(all(pair) or not (opener or any(pair)) for pair in given):
        return ()
    return tuple(TextCall(call.name, "".join(pair)) for call, pair in zip(found, given, strict=True))


def may_be_function(text: str, start: int) -> bool:
    """Whether the text from here on is a call between tags, or may become one."""
    head = _HEAD.match(text, start)
    if head is None:
        return FUNCTION.startswith(text[start:]) or _HEAD_BEGIN.match(text, start) is not None
    return any(text.startswith(tag, head.end()) or tag.startswith(text[head.end() :]) for tag in _AFTER_HEAD)


def _decode_function(text: str, schemas: Schemas) -> tuple[TextCall, ...]:
    """The call; none when a parameter is named twice, or may begin inside another's value."""
    head = _HEAD.match(text)
    if head is None or not text.endswith(_END_FUNCTION):
        return ()
    properties = as_mapping(schemas.get(head[1], {}).get("properties"))
    arguments: dict[str, Any] = {}
    inside, at = text[: -len(_END_FUNCTION)], head.end()
    while at < len(inside):
        found = _PARAMETER.match(inside, at)
        if found is None or found[1] in arguments or "<parameter=" in found[2]:
            return ()
        arguments[found[1]] = _value(found[2], as_mapping(properties.get(found[1])))
        at = found.end()
    return (TextCall(head[1], orjson.dumps(arguments).decode()),)


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """What a parameter says. It is a string unless the schema knows no string there; then it is JSON, where it can."""
    text = text.removeprefix("\r").removeprefix("\n").removesuffix("\n").removesuffix("\r")
    choices = schema.get("anyOf") or schema.get("oneOf") or [schema]
    kinds = {kind for choice in choices for kind in _kinds(as_mapping(choice))}
    if not kinds or "string" in kinds:
        return text
    word = text.strip()
    try:
        return orjson.loads(word.lower() if "boolean" in kinds and word in ("True", "False") else word)
    except orjson.JSONDecodeError:
        return text


def _kinds(schema: Mapping[str, Any]) -> Sequence[Any]:
    kind = schema.get("type", ())
    return kind if isinstance(kind, list | tuple) else (kind,)


class FunctionEnd:
    """Finds where a call between tags ends. A closing tag inside a value does not end it."""

    def __init__(self, start: int) -> None:
        self._start = self._at = start

    def find(self, text: str) -> int | None:
        """The place behind its closing tag; None while it is not there."""
        while (found := text.find(_END_FUNCTION, self._at)) >= 0:
            before = text[self._start : found].rstrip()
            if before.endswith("</parameter>") or (_HEAD.fullmatch(before)):
                return found + len(_END_FUNCTION)
            self._at = found + 1
        self._at = max(self._start, len(text) - len(_END_FUNCTION) + 1)
        return None


class JsonEnd:
    """Finds where an object or list ends, in a text that only grows. Goes over each character once."""

    def __init__(self, start: int) -> None:
        self._at = start
        self._depth = 0
        self._quoted = False
        self._end: int | None = None

    def find(self, text: str) -> int | None:
        """The place behind its last bracket; None while it is not there."""
        while self._end is None:
            found = (_QUOTED if self._quoted else _UNQUOTED).search(text, self._at)
            if found is None or found[0] == "\\":
                self._at = found.start() if found else len(text)
                return None
            self._at = found.end()
            if found[0] == '"':
                self._quoted = not self._quoted
            elif not self._quoted:
                self._depth += 1 if found[0] in "{[" else -1
                self._end = self._at if self._depth == 0 else None
        return self._end
