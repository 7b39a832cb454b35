"""The tool calls of one answer, put together from pieces of any shape. No call is final before the answer's end.

Pure: must not know a vendor's words. What a call is, is told by its index, id and place, never by its content.
Arguments are kept to the letter; those that cannot be used are marked, not mended.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from odysseus.providers.base import ToolCall, ToolCallFragment
from odysseus.text import clean_text

_NOTHING = ("", "null")  # arguments of a call without any
_EXCERPT = 20  # characters on either side of a fault
_MADE_ID = 9  # letters and digits: the one shape that every vendor takes back, as Mistral takes no other


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a call as a wire gives it: `index` None and empty texts where it says nothing.

    `opens` says that the wire begins a call here, whatever else the piece may look like.
    """

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""
    state: Mapping[str, Any] | None = None
    opens: bool = False


@dataclass(slots=True)
class _Slot:
    """One call in the making. `vendor_id` is the id on the wire, `id` the one that this answer uses for it."""

    number: int
    vendor_id: str = ""
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    told: int = 0
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        return "".join(self.parts)

    @property
    def blank(self) -> bool:
        return not any(part.strip() for part in self.parts)

    @property
    def complete(self) -> bool:
        """Whether the arguments are a whole object, to which nothing can be added."""
        last = next((part for part in reversed(self.parts) if part.strip()), "")
        return last.rstrip().endswith("}") and find_problem(self.arguments) is None


class ToolCallAssembly:
    """Takes pieces in the order they come. `names` are the tools on offer: they tell whole names from parts."""

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = frozenset(names)
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}
        self._ids: set[str] = set()

    @property
    def begun(self) -> bool:
        """Whether there is any call yet."""
        return any(slot.name or not slot.blank for slot in self._slots)

    def add(
        self,
        index: int | None,
        id: str | None,
        name: str | None,
        arguments: str | None,
        state: Mapping[str, Any] | None = None,
        *,
        opens: bool = False,
    ) -> list[ToolCallFragment]:
        """Take a piece; None and "" say nothing. A fragment has text, and the id and name of the finished call."""
        piece = ToolCallDelta(index, id or "", clean_text(name or ""), arguments or "", state, opens)
        slot = None if opens else self._slot_of(piece)
        if slot is None:
            if not (piece.id or piece.name or piece.arguments.strip() or state or opens):
                return []
            slot = self._open()
        self._bind(slot, piece)
        if not slot.parts or not slot.name:
            slot.name = self._named(slot, piece.name)
        if piece.arguments:
            slot.parts.append(piece.arguments)
        slot.state |= state or {}
        return self._tell(slot)

    def finish(self, *, cut: bool = False) -> list[ToolCall]:
        """The calls, in the order in which they began. `cut` says that the answer ran into its length limit."""
        kept = [slot for slot in self._slots if slot.name or not slot.blank]
        calls = [self._finished(slot) for slot in kept]
        if cut and calls and kept[-1].blank:
            calls[-1] = replace(calls[-1], problem="The answer reached its length limit before the arguments came.")
        return calls

    def _slot_of(self, piece: ToolCallDelta) -> _Slot | None:
        """The call that this piece goes on with, None when it begins one."""
        slot = self._by_index.get(piece.index) if piece.index is not None else None
        if piece.id and (slot is None or slot.vendor_id not in ("", piece.id)):
            same_id = self._by_id.get(piece.id)
            if same_id and (slot or piece.index is None or not piece.name):
                slot = same_id
        if slot is None and not piece.id and self._slots and (piece.index is None or not piece.name):
            slot = self._slots[-1]
        return slot if slot and self._goes_on(slot, piece) else None

    def _goes_on(self, slot: _Slot, piece: ToolCallDelta) -> bool:
        """Whether a piece that points at this call is a part of it, not the begin of another in the same place."""
        if not piece.name or not slot.name:
            return not (piece.name and piece.id and slot.vendor_id and piece.id != slot.vendor_id)
        if piece.arguments.strip() and slot.complete:
            return False
        if piece.id and slot.vendor_id and piece.id != slot.vendor_id:
            return piece.name == slot.name and not slot.blank and not slot.complete
        if piece.name == slot.name or self._joins(slot, piece.name):
            return True
        return piece.index is not None and not (piece.name in self._names and (slot.blank or slot.complete))

    def _open(self) -> _Slot:
        slot = _Slot(len(self._slots))
        self._slots.append(slot)
        return slot

    def _bind(self, slot: _Slot, piece: ToolCallDelta) -> None:
        """Let later pieces find the call by this index and id."""
        if piece.index is not None:
            self._by_index[piece.index] = slot
        if piece.id and not slot.vendor_id:
            slot.vendor_id = piece.id
            self._by_id[piece.id] = slot
        if piece.id and not slot.id:
            slot.id = self._unique(clean_text(piece.id))

    def _unique(self, wanted: str) -> str:
        """The id, or one like it when another call of this answer has it. An empty one is made."""
        made = base = wanted or secrets.token_hex(5)[:_MADE_ID]
        number = 2
        while made in self._ids:
            made, number = f"{base}-{number}", number + 1
        self._ids.add(made)
        return made

    def _named(self, slot: _Slot, name: str) -> str:
        """A name may be repeated, come in parts, or grow from piece to piece."""
        if not name or not slot.name or not self._joins(slot, name):
            return slot.name or name
        whole = slot.name + name
        return whole if self._may_be(whole) or not name.startswith(slot.name) else name

    def _joins(self, slot: _Slot, name: str) -> bool:
        """Whether this name adds to the one that is there, which it can only before any arguments."""
        if slot.parts or (name in self._names and slot.name in self._names):
            return False
        if not self._names:
            return name != slot.name
        grown = name.startswith(slot.name) and slot.name not in self._names and self._may_be(name)
        return grown or self._may_be(slot.name + name)

    def _may_be(self, name: str) -> bool:
        """Whether this is the begin of a tool's name."""
        return any(known.startswith(name) for known in self._names)

    def _tell(self, slot: _Slot) -> list[ToolCallFragment]:
        """The arguments that were not given on yet; half of a surrogate pair waits for the other half."""
        if not slot.name or slot.told == len(slot.parts) or "\ud800" <= slot.parts[-1][-1] <= "\udbff":
            return []
        text = clean_text("".join(slot.parts[slot.told :]))
        slot.told = len(slot.parts)
        slot.id = slot.id or self._unique("")
        return [ToolCallFragment(slot.number, slot.id, slot.name, text)]

    def _finished(self, slot: _Slot) -> ToolCall:
        arguments = slot.arguments
        if arguments.strip() in _NOTHING:
            arguments = "{}"
        problem = find_problem(arguments) if slot.name else "The call does not say which tool it calls."
        return ToolCall(slot.id or self._unique(""), slot.name, clean_text(arguments), problem, slot.state or None)


def find_problem(arguments: str) -> str | None:
    """Why these arguments cannot be used, in words for the model and the user; None for a JSON object."""
    try:
        value = orjson.loads(arguments if "\0" in arguments else clean_text(arguments))
    except orjson.JSONDecodeError as error:
        near = clean_text(arguments[max(0, error.pos - _EXCERPT) : error.pos + _EXCERPT])
        return f"The arguments are not valid JSON at character {error.pos + 1}, near: {near}"
    if isinstance(value, dict):
        return None
    return f"The arguments must be a JSON object, not {_KINDS.get(type(value), 'a number')}."


_KINDS: Mapping[type, str] = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
