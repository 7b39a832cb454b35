"""Calls that wait for the user's word: sealed as values, and shown as a card (chat stream, section 4). Pure."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from odysseus.clock import iso
from odysseus.providers.base import ToolCall
from odysseus.tools.base import Preview, Tool
from odysseus.tools.cited import Row

DIGEST_LENGTH = 16

OPTIONS = (
    {"label": "Approve", "value": "approve", "description": "Run exactly this call, once."},
    {
        "label": "Approve for this task",
        "value": "approve_task",
        "description": "Run it, and let the rest of this run act without asking.",
    },
    {"label": "Deny", "value": "deny", "description": "Do not run it. The model is told, and can take another way."},
)
VERBS: Mapping[str, str] = {
    "read": "reads",
    "write": "changes files or documents",
    "execute": "runs a program",
    "network": "uses the network",
    "private": "touches what is private",
    "destructive": "can destroy data",
}


@dataclass(frozen=True, slots=True)
class Sealed:
    """A call as the user was shown it, with the calls of the same answer that come after it.

    `calls[0]` is the one to decide on. `wishes` are those of the run that asked, for the run that goes on,
    and `sources` what it could cite, by number.
    """

    approval_id: str
    session_id: str
    run_id: str
    user_message_id: str | None
    calls: Sequence[ToolCall]
    content: str
    fingerprint: str
    effects: Sequence[str]
    workspace: str
    why: str
    wishes: Mapping[str, Any]
    expires_at: float
    sources: Sequence[Row] = ()

    @property
    def digest(self) -> str:
        """16 hex digits over the session, the tool, its exact arguments, and the state that was shown."""
        call = self.calls[0]
        parts = [self.session_id, call.name, call.arguments, self.workspace, self.fingerprint]
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:DIGEST_LENGTH]


def new_approval_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_hex(16)


def card(sealed: Sealed) -> dict[str, Any]:
    """The contract's approval card."""
    call = sealed.calls[0]
    return {
        "kind": "tool_approval",
        "approval_id": sealed.approval_id,
        "question": f"Allow {call.name}?",
        "description": f"{sealed.why} It {_does(sealed.effects)}.",
        "options": list(OPTIONS),
        "action": {
            "tool": call.name,
            "content": sealed.content,
            "digest": sealed.digest,
            "effects": list(sealed.effects),
            "workspace": sealed.workspace,
        },
        "expires_at": iso(sealed.expires_at),
    }


def reason(tool: Tool, *, outside: bool, written: bool) -> str:
    """Why the user is asked."""
    if tool.policy == "ask":
        return "This tool asks before it acts."
    if written:
        return "The call was written as text, which may only be a quotation."
    return "Text from outside has entered this run." if outside else "This tool asks before it acts."


def to_json(sealed: Sealed) -> dict[str, Any]:
    """As JSON values, for the store."""
    fields = {name: getattr(sealed, name) for name in sealed.__slots__}
    return {**fields, "calls": [{name: getattr(call, name) for name in call.__slots__} for call in sealed.calls]}


def from_json(value: Mapping[str, Any]) -> Sealed:
    """The sealed call again."""
    return Sealed(**{**value, "calls": tuple(ToolCall(**call) for call in value["calls"])})


def unchanged(sealed: Sealed, preview: Preview) -> bool:
    """Whether the call would still do what the user was shown."""
    return sealed.fingerprint == preview.fingerprint and sealed.content == preview.content


def _does(effects: Sequence[str]) -> str:
    words = [VERBS[effect] for effect in effects]
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else (words or ["acts"])[0]
