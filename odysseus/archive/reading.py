"""An exported conversation as it is taken in: checked whole before anything is kept, and under new ids.

Knows our own format only. Approvals and ids of runs in a file mean nothing here, so they are not taken over.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from odysseus.archive.conversation import FORMAT, VERSION
from odysseus.archive.shapes import ImportedChat, ImportedMessage
from odysseus.errors import BadRequest
from odysseus.store.messages import Message, new_message_id
from odysseus.text import clean_text

NOT_OURS = "This file is no chat that Odysseus exported. Export a chat as JSON, and import that file."
NOT_JSON = "The file is not valid JSON. Export the chat as JSON again, and import that file as it is."
TOO_DEEP = "The file is nested too deeply."

_ADDRESS = "/api/upload/"
_MISSING = re.compile(r"missing required field `([^`]+)`")
_WHERE = re.compile(r" - at `\$\.?(.*)`$")


class _Head(msgspec.Struct):
    format: Any = None
    version: Any = None


def read_chat(body: bytes) -> ImportedChat:
    """The conversation in an exported file. Raises BadRequest that names what is wrong."""
    try:
        head = msgspec.json.decode(body, type=_Head)
        if head.format != FORMAT or not isinstance(head.version, int) or head.version < 1:
            raise BadRequest(NOT_OURS)
        if head.version > VERSION:
            raise BadRequest(
                f"The file has version {head.version} of the format; this Odysseus reads up to {VERSION}. "
                "Import it with a newer Odysseus."
            )
        return msgspec.json.decode(body, type=ImportedChat)
    except RecursionError as error:
        raise BadRequest(TOO_DEEP) from error
    except msgspec.ValidationError as error:
        raise BadRequest(_explained(str(error))) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(NOT_JSON) from error


def files_in(chat: ImportedChat) -> Sequence[tuple[str, str, bytes]]:
    """The files that came along: their ids in the chat, names and bytes. Raises BadRequest."""
    found = []
    for number, file in enumerate(chat.files):
        if file.data:
            try:
                found.append((file.id, file.name, base64.b64decode(file.data, validate=True)))
            except (binascii.Error, ValueError) as error:
                raise BadRequest(f"Field 'files[{number}].data': it is not base64.") from error
    return found


@dataclass(frozen=True, slots=True)
class TakenIn:
    """The messages for a new session, each after its parent, and the last one of the branch to show."""

    messages: Sequence[Message]
    leaf: str | None


def messages_in(chat: ImportedChat, session_id: str, uploads: Mapping[str, str], now: float) -> TakenIn:
    """What is to be stored; `uploads` are the new ids of files by those in the chat. Raises BadRequest."""
    places: dict[str, Message] = {}
    leaf: str | None = None
    for number, message in enumerate(chat.messages):
        parent = _parent(message, places, number)
        at = _time(message.created_at, number, now)
        made = _message(message, session_id, parent, _metadata(message, uploads), at)
        places[message.id] = made
        leaf = made.id if message.shown else leaf
    return TakenIn(list(places.values()), leaf)


def _parent(message: ImportedMessage, places: dict[str, Message], number: int) -> Message | None:
    if message.id in places:
        raise BadRequest(f"Field 'messages[{number}].id': another message has it already.")
    if message.parent_id is UNSET:
        return next((places[last] for last in reversed(places)), None)
    if message.parent_id is None:
        return None
    if message.parent_id not in places:
        raise BadRequest(f"Field 'messages[{number}].parent_id': no message before this one has that id.")
    return places[message.parent_id]


def _message(
    message: ImportedMessage, session_id: str, parent: Message | None, metadata: dict[str, Any], at: float
) -> Message:
    new_id = new_message_id()
    if message.role == "assistant" and "status" in metadata:
        asked = None if parent is None else parent.metadata.get("user_message_id") or parent.id
        metadata |= {"record_id": None, "session_id": session_id, "message_id": new_id, "user_message_id": asked}
    parent_id = parent.id if parent else None
    return Message(new_id, session_id, 0, message.role, clean_text(message.content), metadata, at, parent_id)


def _metadata(message: ImportedMessage, uploads: Mapping[str, str]) -> dict[str, Any]:
    """What is kept with a message. `imported` makes it text from outside for the agent, whatever the file says."""
    found: dict[str, Any] = _clean(msgspec.to_builtins(message.metadata))
    for one in found.get("attachments", ()):
        one["id"] = uploads.get(one["id"], one["id"])
    for one in found.get("images", ()):
        one["image_id"] = uploads.get(one["image_id"], one["image_id"])
        one["url"] = _ADDRESS + one["image_id"]
    for row in found.get("tool_events", ()):
        if "image_url" in row:
            made = row["image_url"].removeprefix(_ADDRESS)
            row["image_url"] = _ADDRESS + uploads.get(made, made)
    if found.get("ask_user", {}).get("state") == "pending":
        found["ask_user"]["state"] = "retired"
    return {**found, "run_id": "", "imported": True}


def _time(text: str, number: int, now: float) -> float:
    """Seconds since the epoch, never before it nor in the future. Raises BadRequest."""
    try:
        told = datetime.fromisoformat(text)
        return max(0.0, min((told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp(), now))
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"Field 'messages[{number}].created_at': it is no time like 2026-01-31T09:05:00Z.") from error


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {key: _clean(one) for key, one in value.items()}
    return value


def _explained(error: str) -> str:
    where = _WHERE.search(error)
    if missing := _MISSING.search(error):
        name = ".".join(filter(None, [where[1] if where else "", missing[1]]))
        return f"Field {name!r} is required."
    if where is None or not where[1]:
        return NOT_OURS
    text = error[: where.start()]
    return f"Field {where[1]!r}: {text[:1].lower()}{text[1:]}."
