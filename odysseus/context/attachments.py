"""The files of a message as the model is given them: texts under their names, and pictures for models that see."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odysseus.context.budget import estimate_tokens
from odysseus.context.cutting import head_and_tail, shares
from odysseus.context.files import ReadFile
from odysseus.context.given import Given, as_data
from odysseus.events import FilesAttached
from odysseus.extract.ocr import MISSING as NO_OCR
from odysseus.extract.result import join_notes
from odysseus.providers.base import Image
from odysseus.store.uploads import HEAD_BYTES, picture_type

TOKENS = 16_000
"""The usual budget of all texts together."""
LEAST_TOKENS = 40
"""Less than this of a text is no help."""

READ = frozenset({"text", "ocr"})

_BLIND = "The model cannot see pictures, and no text was found in this one."
_NOT_SHOWN = "The picture could not be made small enough for the model, so the model does not see it."
_NO_ROOM = "There was no room for its text. Send it alone, or a part of it."


@dataclass(frozen=True, slots=True)
class _Part:
    """One file: what of its text is given, its picture if it is shown, and what there is to say."""

    file: ReadFile
    text: str
    picture: Image | None
    kind: str
    note: str


async def given(files: Sequence[ReadFile], *, sees: bool, tokens: int = TOKENS) -> Given:
    """Every file in its order, its text under its name, within so many tokens of text in all.

    `sees`: the model takes pictures. The event tells what was really given; `text_chars` counts that.
    """
    pictures = [await picture_of(file) if sees else None for file in files]
    return await asyncio.to_thread(_given, files, pictures, sees, tokens)


def _given(files: Sequence[ReadFile], pictures: Sequence[Image | None], sees: bool, tokens: int) -> Given:
    texts = [file.found.text.strip() if file.found.kind in READ else "" for file in files]
    rooms = shares([estimate_tokens(text) for text in texts], tokens)
    parts = [
        _part(file, text, room, picture, sees=sees)
        for file, text, room, picture in zip(files, texts, rooms, pictures, strict=True)
    ]
    told = "\n\n".join(
        file_text(number, part.file.upload.name, part.text, part.note, picture=part.picture is not None)
        for number, part in enumerate(parts, 1)
    )
    events = [FilesAttached([_row(part) for part in parts])] if parts else []
    return Given(told, events, tuple(part.picture for part in parts if part.picture))


async def picture_of(file: ReadFile) -> Image | None:
    """The picture for a model that sees, always the same; None when there is none to show."""
    data = await asyncio.to_thread(_bytes, file.shown) if file.shown else b""
    kind = picture_type(data[:HEAD_BYTES])
    return Image(kind, data) if kind else None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _part(file: ReadFile, text: str, room: int, picture: Image | None, *, sees: bool) -> _Part:
    found = file.found
    cut = head_and_tail(text, room) if room >= min(LEAST_TOKENS, estimate_tokens(text)) else ""
    notes = [found.note.replace(NO_OCR, "").strip() if picture else found.note]
    kind: str = found.kind
    if picture and kind not in READ:
        kind = "image"
    elif kind == "image":
        kind = "none"
        notes.append(_NOT_SHOWN if sees else _BLIND)
    if text and not cut:
        kind = "image" if picture else "none"
        notes.append(_NO_ROOM)
    elif cut != text:
        notes.append(f"The model was given a part: about {len(cut):,} of {len(text):,} characters.")
    return _Part(file, cut, picture, kind, join_notes(*notes))


def file_text(number: int, name: str, text: str, note: str, *, picture: bool) -> str:
    """A file for the model; `picture` says that it is shown. Its name is outside text too."""
    named = f"Name: {name}"
    shown = "This is a picture; it is beside the message.\n" if picture else ""
    if text:
        told = f"Note: {note}\n" if note else ""
        return as_data(f"File {number}", f"{named}\n{shown}{told}\n{text}")
    if picture:
        return as_data(f"File {number}", f"{named}\n{shown}")
    why = note or "There is no text in it."
    return as_data(f"File {number}", f"{named}\nYou have not got what is in this file. {why}")


def _row(part: _Part) -> dict[str, Any]:
    upload, found = part.file.upload, part.file.found
    row = {
        "id": upload.id,
        "name": upload.name,
        "mime": part.file.mime,
        "size": upload.size,
        "width": found.width,
        "height": found.height,
        "text_chars": len(part.text),
        "extraction": part.kind,
    }
    return {**row, "note": part.note} if part.note else row
