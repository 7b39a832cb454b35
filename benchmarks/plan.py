"""What the model process shall play: the text of a chat message, so that any server can hand it on."""

from __future__ import annotations

from msgspec import Struct, json


class Plan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer. With a `key` it waits for `GET /go/<key>`, and all requests with that key get the same emission."""

    frames: int = 0
    rate: float = 0.0
    """Frames a second, each with its send time as its text; 0 is a flood of plain ones."""
    per_write: int = 50
    """Frames of a flood in one write."""
    size: int = 5
    """Characters in each frame of a flood."""
    key: str = ""
    calls: int = 0
    """Calls of a tool before the answer, each in an answer of its own. `key` is then that of the clients in turn."""
    side: str = ""
    sides: int = 1
    """How many clients take turns, and which of them this is."""
    hang: bool = False
    """Stay open after the last frame."""

    @property
    def message(self) -> str:
        """The plan as the text of a message."""
        return json.encode(self).decode()


def read_plan(message: str) -> Plan:
    """A message as a plan. Raises msgspec.ValidationError."""
    return json.decode(message, type=Plan)
