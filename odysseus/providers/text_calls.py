"""Tool calls that small models write as text, told apart from text that only shows what a call looks like.

Pure: must not know a vendor's words. Only a call at the start of a line, outside code, of a tool on offer and as whole
JSON is one; whatever is in doubt stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from odysseus.events import ReasoningDelta, TextDelta
from odysseus.providers.text_code import DEEPEST_INDENT, Code
from odysseus.providers.text_forms import (
    END_TAG,
    FUNCTION,
    JSON_START,
    LIST,
    OPENERS,
    TAG,
    BodyEnd,
    FunctionEnd,
    JsonEnd,
    Schemas,
    TextCall,
    decode,
    may_be_function,
)

Delta = TextDelta | ReasoningDelta

HELD_LIMIT = 100_000  # characters of one call; a longer one is text
_FIRST_KEYS = ('"name"', '"arguments"', '"parameters"')
_BLANK = " \t\r\n"
_BLANKS = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r'"name"[ \t\r\n]*:[ \t\r\n]*"([^"\\]*)"')


@dataclass(frozen=True, slots=True)
class _Unit:
    """One closed piece of syntax with its calls; `raw` is all of its text."""

    raw: str
    calls: tuple[TextCall, ...]


class TextCalls:
    """Takes the deltas of an answer without lone surrogates and holds back only what may still be a call.

    From the first call on everything waits for the end: an answer with native calls has no written ones.
    """

    def __init__(self, tools: Schemas) -> None:
        self._tools = tools
        self._looks = bool(tools)
        self._held = ""
        self._body: BodyEnd | None = None
        self._row: list[_Unit] = []  # closed units on a line that is not at its end yet
        self._kept: list[Delta | _Unit] = []  # from the first call on
        self._out: list[Delta] = []
        self._spoken = False
        self._code = Code()

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
        text, self._held, self._body = self._held[:end], self._held[end:], None
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
        rest = self._held[at : at + len(TAG)]
        if rest in ("", "\r"):
            if last:
                self._keep_row()
            return last
        if rest.startswith(("\n", "\r\n")):
            self._keep_row()
            return True
        for opener in (TAG, FUNCTION):
            if rest.startswith(opener):
                return self._tagged(at, opener, last=last)
            if opener.startswith(rest) and not last:
                return False
        self._drop_row()
        return True

    def _at_line_start(self, *, last: bool) -> bool:
        """Decide on a line, or on what may be a call in its place. False when more is needed to know."""
        at = _end_of_blanks(self._held, 0)
        if at == len(self._held) and not last:
            return False
        indent = self._held[self._held.rfind("\n", 0, at) + 1 : at]
        if len(indent) <= DEEPEST_INDENT and "\t" not in indent:
            for opener in OPENERS:
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
        start = at if opener == FUNCTION else _end_of_blanks(self._held, at + len(opener))
        if start < len(self._held) and not self._begins_body(start, opener):
            self._drop_row()
            self._pass_to(self._line_end(at))
            return True
        body_end = self._find_end(start)
        end = body_end if opener == LIST or body_end is None else self._closed(body_end, opener, last=last)
        if end is None and not last and self._may_grow(start, body_end):
            return False
        calls = decode(self._held[start:body_end], opener, self._tools) if end else ()
        if end is None or not calls:
            self._stop_looking()  # a broken body may quote lines that look like calls
        elif all(call.name in self._tools for call in calls):
            self._close(at, end, calls)
        else:
            self._drop_row()
            self._pass_to(end)
        return True

    def _begins_body(self, start: int, opener: str) -> bool:
        if self._held[start] == JSON_START.get(opener):
            return True
        return opener != LIST and may_be_function(self._held, start)

    def _close(self, at: int, end: int, calls: tuple[TextCall, ...]) -> None:
        """Take a unit out of what is held. Blanks before it are text when there is text before them."""
        if not self._row and (self._spoken or self._kept):
            self._pass_to(at)
            end -= at
        self._row.append(_Unit(self._held[:end], calls))
        self._held, self._body = self._held[end:], None

    def _find_end(self, start: int) -> int | None:
        """The end of the body that starts here, unless it is too long or not all there."""
        if start >= len(self._held):
            return None
        if self._body is None:
            self._body = FunctionEnd(start) if self._held.startswith("<", start) else JsonEnd(start)
        end = self._body.find(self._held)
        return end if end is not None and end - start <= HELD_LIMIT else None

    def _may_grow(self, start: int, body_end: int | None) -> bool:
        """Whether what is missing of a unit may still come."""
        if body_end is None:
            return len(self._held) - start <= HELD_LIMIT
        return END_TAG.startswith(self._held[_end_of_blanks(self._held, body_end) :])

    def _closed(self, body_end: int, opener: str, *, last: bool) -> int | None:
        """The end of the closing tag, which may be missing or cut at the end of the answer.

        Some models write it though they left the opening tag out, so it may also follow a call between its own tags.
        """
        at = _end_of_blanks(self._held, body_end)
        if self._held.startswith(END_TAG, at):
            return at + len(END_TAG)
        if END_TAG.startswith(self._held[at:]):
            return len(self._held) if last else None
        return body_end if opener == FUNCTION else None

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
        calls = decode(self._held[at:end], "", self._tools) if end is not None else ()
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
