"""The format of an exported conversation: its name and version, and a message with its files as JSON values.

Of the model's own transcript only its calls, their results and the text between go along: the rest is what endpoints
sign and seal for themselves. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from odysseus.clock import iso
from odysseus.store.approvals import ApprovalState
from odysseus.store.messages import Message

FORMAT = "odysseus-chat"
VERSION = 1
HIDDEN = frozenset({"transcript"})
"""Metadata that is for the model alone."""


@dataclass(frozen=True, slots=True)
class Since:
    """What has happened to stored answers: what became of their cards, and which runs were undone."""

    approvals: Mapping[str, ApprovalState] = field(default_factory=dict)
    undone: frozenset[str] = frozenset()


class Writer(Protocol):
    """Writes a conversation part by part, each of them in a thread. `pictures` are data addresses by upload id."""

    def head(self) -> str:
        """What comes before the first message."""
        ...

    def messages(self, batch: Sequence[Message], pictures: Mapping[str, str]) -> str:
        """The next messages."""
        ...

    def tail(self) -> str:
        """What comes behind the last message."""
        ...


def exported(message: Message, since: Since) -> dict[str, Any]:
    """A message as JSON values."""
    metadata = {key: value for key, value in message.metadata.items() if key not in HIDDEN}
    if transcript := [_portable(entry) for entry in message.metadata.get("transcript", ()) if entry["role"] != "user"]:
        metadata["transcript"] = transcript
    asked = metadata.get("ask_user")
    if asked and asked.get("kind") == "tool_approval":
        metadata["ask_user"] = {**asked, "state": card_state(asked, since.approvals)}
    if metadata.get("run_id") in since.undone:
        metadata["undone"] = True
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "metadata": metadata,
        "created_at": iso(message.created_at),
        "parent_id": message.parent_id,
    }


def _portable(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of a transcript as any model may have it."""
    kept = {name: entry[name] for name in ("role", "content", "id") if name in entry}
    calls = [{name: value for name, value in call.items() if name != "state"} for call in entry.get("calls", ())]
    return {**kept, "calls": calls} if calls else kept


def card_state(asked: Mapping[str, Any], states: Mapping[str, ApprovalState]) -> str:
    """What became of an approval card; one that came with a file never waits."""
    told = asked.get("state")
    settled = told if told in {"approved", "denied", "expired"} else "retired"
    return states.get(str(asked.get("approval_id")), settled)


def files_of(metadata: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the kept files that a message names: what was sent with it, and the pictures made for it."""
    for key, name in (("attachments", "id"), ("images", "image_id")):
        for one in metadata.get(key) or ():
            if isinstance(one, Mapping) and isinstance(one.get(name), str):
                yield one[name]


def steps_of(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows and notices of an answer in the order in which they stand in its text."""
    steps = [*metadata.get("tool_events", ()), *metadata.get("notices", ())]
    return sorted(steps, key=lambda step: int(step["at"]))


def stretches_of(message: Message) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """An answer as stretches of its text, each with what the agent did behind it."""
    steps = steps_of(message.metadata)
    start = 0
    for cut in dict.fromkeys(int(step["at"]) for step in steps):
        yield message.content[start:cut], [step for step in steps if step["at"] == cut]
        start = cut
    yield message.content[start:], ()
