"""Tool calls that small models write as text, told apart from text that only shows what a call looks like.

Pure: must not know a vendor's words. Only a call at the start of a line, outside code, of a tool on offer and as whole
JSON is one; whatever is in doubt stays text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec
from msgspec import Raw, Struct

from odysseus.events import ReasoningDelta, TextDelta

Delta = TextDelta | ReasoningDelta

HELD_LIMIT = 100_000  # characters of one call; a longer one is text
_TAG, _END_TAG, _LIST = "<tool_call>", "</tool_call>", "[TOOL_CALLS]"
_JSON_START = {_TAG: "{", _LIST: "["}
_FIRST_KEYS = ('"name"', '"arguments"', '"parameters"')
_DEEPEST_INDENT = 3  # spaces; with more a line is code
_BLANK = " \t\r\n"
_BLANKS = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r'"name"[ \t\r\n]*:[ \t\r\n]*"([^"\\]*)"')
_QUOTED = re.compile(r'\\.?|"', re.DOTALL)
_UNQUOTED = re.compile(r'["{}\[\]]')
_FENCE = re.compile(r"((?:[ \t>*+-]|\d+[.)])*)(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(r"(`{3,}|~{3,})[ \t\r]*$")
_TICKS = re.compile("`+")
_TICKS_OR_ESCAPE = re.compile(r"\\.|`+")


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call that was written as text. `arguments` is its JSON to the letter, not checked; empty without any."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class _Unit:
    """One closed piece of syntax with its calls; `raw` is all of its text."""

    raw: str
    calls: tuple[TextCall, ...]


class TextCalls:
    """Takes the deltas of an answer without lone surrogates and holds back only what may still be a call.

    From the first call on everything waits for the end: an answer with native calls has no written ones.
    """

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._looks = bool(tools)
        self._held = ""
        self._json: _JsonEnd | None = None
        self._row: list[_Unit] = []  # closed units on a line that is not at its end yet
        self._kept: list[Delta | _Unit] = []  # from the first call on
        self._out: list[Delta] = []
        self._spoken = False
        self._code = _Code()

    @property
    def idle(self) -> bool:
        """Whether all that may come passes as it is."""
        return not self._looks and not self._kept

    def feed(self, delta: Delta) -> list[Delta]:
        """What may be given on now that this has come."""
        if self.idle:
            return [delta]
        if isinstance(delta, ReasoningDelta):
            self._end_at_reasoning()
            self._give(delta)
        else:
            self._held += delta.text
            self._go_on(last=False)
        return self._taken()

    def give_up(self) -> list[Delta]:
        """Look for no more calls. What is held, calls too, as text and in its order."""
        self._stop_looking()
        kept, self._kept = self._kept, []
        return _joined([*self._taken(), *(TextDelta(item.raw) if isinstance(item, _Unit) else item for item in kept)])

    def finish(self) -> tuple[list[Delta], list[TextCall]]:
        """The rest of the text, and the calls. Blanks between and after calls are no text."""
        self._go_on(last=True)
        self._stop_looking()
        kept, self._kept = self._kept, []
        calls = [call for item in kept if isinstance(item, _Unit) for call in item.calls]
        given = self._taken()
        for is_unit, items in groupby(kept, lambda item: isinstance(item, _Unit)):
            rest = [] if is_unit else _joined(item for item in items if not isinstance(item, _Unit))
            given += [delta for delta in rest if isinstance(delta, ReasoningDelta) or delta.text.strip()]
        return given, calls

    def _taken(self) -> list[Delta]:
        out, self._out = self._out, []
        return _joined(out)

    def _give(self, delta: Delta) -> None:
        (self._kept if self._kept else self._out).append(delta)

    def _pass(self, text: str) -> None:
        """Give this on as text."""
        if text:
            self._spoken = True
            self._code.add(text)
            self._give(TextDelta(text))

    def _pass_to(self, end: int) -> None:
        text, self._held, self._json = self._held[:end], self._held[end:], None
        self._pass(text)

    def _drop_row(self) -> None:
        """More follows on the line: what looked like calls is part of a sentence."""
        row, self._row = self._row, []
        self._pass("".join(unit.raw for unit in row))

    def _stop_looking(self) -> None:
        self._drop_row()
        self._pass_to(len(self._held))
        self._looks = False

    def _end_at_reasoning(self) -> None:
        if self._held.strip(_BLANK):
            self._stop_looking()
        elif self._row:
            self._keep_row()
        self._pass_to(len(self._held))

    def _keep_row(self) -> None:
        self._kept += self._row
        self._row = []

    def _go_on(self, *, last: bool) -> None:
        """Decide on what is held, as far as that can be done."""
        while self._held or (last and self._row):
            if not self._looks:
                self._pass_to(len(self._held))
            elif self._row:
                if not self._after_unit(last=last):
                    return
            elif self._code.in_line or self._code.inside:
                self._pass_to(self._line_end(0))
            elif not self._at_line_start(last=last):
                return

    def _line_end(self, start: int) -> int:
        return self._held.find("\n", start) + 1 or len(self._held)

    def _after_unit(self, *, last: bool) -> bool:
        """A call counts when its line ends or another follows. False when more is needed to know."""
        at = len(self._held) - len(self._held.lstrip(" \t"))
        rest = self._held[at : at + len(_TAG)]
        if rest in ("", "\r"):
            if last:
                self._keep_row()
            return last
        if rest.startswith(("\n", "\r\n")):
            self._keep_row()
            return True
        if rest == _TAG:
            return self._tagged(at, _TAG, last=last)
        if _TAG.startswith(rest) and not last:
            return False
        self._drop_row()
        return True

    def _at_line_start(self, *, last: bool) -> bool:
        """Decide on a line, or on what may be a call in its place. False when more is needed to know."""
        at = _end_of_blanks(self._held, 0)
        if at == len(self._held) and not last:
            return False
        indent = self._held[self._held.rfind("\n", 0, at) + 1 : at]
        if len(indent) <= _DEEPEST_INDENT and "\t" not in indent:
            for opener in _JSON_START:
                if self._held.startswith(opener, at):
                    return self._tagged(at, opener, last=last)
                if not last and opener.startswith(self._held[at : at + len(opener)]):
                    return False
            if self._held.startswith("{", at) and not self._spoken and not self._kept:
                return self._bare(at, last=last)
        self._pass_to(self._line_end(at))
        return True

    def _tagged(self, at: int, opener: str, *, last: bool) -> bool:
        """A call behind an opener, or a list of them. False when more is needed to know."""
        start = _end_of_blanks(self._held, at + len(opener))
        if start < len(self._held) and self._held[start] != _JSON_START[opener]:
            self._drop_row()
            self._pass_to(self._line_end(at))
            return True
        json_end = self._find_end(start)
        end = self._closed(json_end, last=last) if json_end and opener == _TAG else json_end
        if end is None and not last and self._may_grow(start, json_end):
            return False
        calls = _decode(self._held[start:json_end], opener) if end else ()
        if end is None or not calls:
            self._stop_looking()  # broken JSON may quote lines that look like calls
        elif all(call.name in self._tools for call in calls):
            self._close(at, end, calls)
        else:
            self._drop_row()
            self._pass_to(end)
        return True

    def _close(self, at: int, end: int, calls: tuple[TextCall, ...]) -> None:
        """Take a unit out of what is held. Blanks before it are text when there is text before them."""
        if not self._row and (self._spoken or self._kept):
            self._pass_to(at)
            end -= at
        self._row.append(_Unit(self._held[:end], calls))
        self._held, self._json = self._held[end:], None

    def _find_end(self, start: int) -> int | None:
        """The end of the JSON that starts here, unless it is too long or not all there."""
        self._json = self._json or _JsonEnd(start)
        end = self._json.find(self._held)
        return end if end is not None and end - start <= HELD_LIMIT else None

    def _may_grow(self, start: int, json_end: int | None) -> bool:
        """Whether what is missing of a unit may still come."""
        if json_end is None:
            return len(self._held) - start <= HELD_LIMIT
        return _END_TAG.startswith(self._held[_end_of_blanks(self._held, json_end) :])

    def _closed(self, json_end: int, *, last: bool) -> int | None:
        """The end of the closing tag, which may be missing or cut at the end of the answer."""
        at = _end_of_blanks(self._held, json_end)
        if self._held.startswith(_END_TAG, at):
            return at + len(_END_TAG)
        return len(self._held) if last and _END_TAG.startswith(self._held[at:]) else None

    def _bare(self, at: int, *, last: bool) -> bool:
        """An object that is the whole answer. False when more is needed to know."""
        if not self._may_be_bare(at):
            self._pass_to(self._line_end(at))
            return True
        end = self._find_end(at)
        if end is not None and self._held[end:].strip(_BLANK):
            self._pass_to(end)
            return True
        if not last and (end is not None or self._may_grow(at, None)):
            return False
        calls = _decode(self._held[at:end], "") if end is not None else ()
        if calls and calls[0].name in self._tools:
            self._kept.append(_Unit(self._held, calls))
            self._held = ""
        else:
            self._stop_looking()
        return True

    def _may_be_bare(self, at: int) -> bool:
        """Whether an object may be a call by its begin."""
        start = _end_of_blanks(self._held, at + 1)
        begin = self._held[start : start + max(map(len, _FIRST_KEYS))]
        name = _NAME.match(self._held, start)
        known = any(key.startswith(begin) or begin.startswith(key) for key in _FIRST_KEYS)
        return known and (name is None or name[1] in self._tools)


def _joined(deltas: Iterable[Delta]) -> list[Delta]:
    """Neighbours of one kind in one."""
    return [kind("".join(delta.text for delta in group)) for kind, group in groupby(deltas, type)]


def _end_of_blanks(text: str, start: int) -> int:
    found = _BLANKS.match(text, start)
    return found.end() if found else start


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


def _decode(text: str, opener: str) -> tuple[TextCall, ...]:
    """The calls in the JSON behind this opener, none when it is anything else. Without an opener it needs arguments."""
    try:
        if opener == _LIST:
            found: Sequence[_Bare] = _decode_list(text)
        else:
            found = [_decode_tagged(text) if opener else _decode_bare(text)]
    except (msgspec.DecodeError, RecursionError):
        return ()
    given = [[bytes(raw).decode() for raw in (call.arguments, call.parameters)] for call in found]
    if any(all(pair) or not (opener or any(pair)) for pair in given):
        return ()
    return tuple(TextCall(call.name, "".join(pair)) for call, pair in zip(found, given, strict=True))


class _JsonEnd:
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


class _Code:
    """Whether the next line of a text is inside code: a fence, or inline code over several lines."""

    def __init__(self) -> None:
        self._line: list[str] = []
        self._fence: tuple[str, str] | None = None  # what stands before it, and its marks
        self._ticks = 0

    @property
    def in_line(self) -> bool:
        """Whether the text ends in the middle of a line."""
        return bool(self._line)

    @property
    def inside(self) -> bool:
        return self._fence is not None or self._ticks > 0

    def add(self, text: str) -> None:
        """Take the next piece of the text, which is not empty."""
        *lines, rest = text.split("\n")
        for line in lines:
            self._end_line("".join([*self._line, line]))
            self._line = []
        if rest:
            self._line.append(rest)

    def _end_line(self, line: str) -> None:
        if self._fence:
            self._fence = None if _closes(line, *self._fence) else self._fence
        elif found := _FENCE.match(line):
            self._fence, self._ticks = (found[1], found[2]), 0
        elif not line.strip():
            self._ticks = 0
        else:
            self._count_ticks(line)

    def _count_ticks(self, line: str) -> None:
        """Inline code goes from marks to as many marks. In doubt it is not closed."""
        at = 0
        while found := (_TICKS if self._ticks else _TICKS_OR_ESCAPE).search(line, at):
            at, size = found.end(), len(found[0])
            if found[0][0] == "`":
                self._ticks = (0 if size == self._ticks else self._ticks) if self._ticks else size


def _closes(line: str, before: str, marks: str) -> bool:
    """Whether this line ends the fence that was opened by these marks with this before them."""
    body = line.lstrip(" \t>" if ">" in before else " \t")
    found = _FENCE_END.match(body)
    near = len(line) - len(body) <= len(before) + _DEEPEST_INDENT
    return found is not None and near and found[1].startswith(marks)
