"""The files of a form, straight to the disk as they come. Knows their limits and their names, not what is in them."""

from __future__ import annotations

import re
import unicodedata
from contextlib import AsyncExitStack

from aiohttp import web

from odysseus.config import UploadsConfig
from odysseus.errors import BadRequest, TooLarge, UnsupportedMedia
from odysseus.store.uploads import NAME_LIMIT, Sent, UploadStore
from odysseus.text import clean_text
from odysseus.web.form_parts import form_errors, form_parts, is_file, read_field, save_part

FIELD_BYTES = 65_536
"""Most bytes of a part that is no file, and of all around the files."""
ENDING_LIMIT = 20

# Controls, and letters without a shape that turn a name around or hide in it.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
_NO_FILES = "Field 'files': send at least one file."


async def read_files(
    request: web.Request, uploads: UploadStore, limits: UploadsConfig, kept: AsyncExitStack
) -> list[Sent]:
    """The files of the body; what is not kept goes with `kept`. Raises BadRequest, TooLarge and their like, StoreError.

    Parts that are no files are passed over.
    """
    if request.content_type != "multipart/form-data":
        raise UnsupportedMedia("Send the files as multipart/form-data.")
    if (request.content_length or 0) > limits.max_files * (limits.max_file_bytes + FIELD_BYTES):
        raise _too_large(limits)
    with form_errors():
        sent = await _parts(request, uploads, limits, kept)
    if not sent:
        raise BadRequest(_NO_FILES)
    return sent


def clean_name(text: str) -> str:
    """A file's name without folders, controls and spaces that mislead; a long one keeps its ending."""
    last = re.split(r"[/\\]", clean_text(text))[-1]
    name = " ".join(_UNSEEN.sub("", unicodedata.normalize("NFC", last)).split()).strip(". ") if last.strip(".") else ""
    if len(name) <= NAME_LIMIT:
        return name or "file"
    stem, dot, ending = name.rpartition(".")
    if not dot or len(ending) > ENDING_LIMIT:
        return name[:NAME_LIMIT]
    return f"{stem[: NAME_LIMIT - len(ending) - 1]}.{ending}"


async def _parts(request: web.Request, uploads: UploadStore, limits: UploadsConfig, kept: AsyncExitStack) -> list[Sent]:
    sent: list[Sent] = []
    async for part in form_parts(request):
        if not is_file(part):
            await read_field(part, FIELD_BYTES)
            continue
        if len(sent) == limits.max_files:
            raise BadRequest(f"Field 'files': at most {limits.max_files} files are taken at once.")
        file = await kept.enter_async_context(uploads.incoming())
        await save_part(part, file.write, lambda size: _check_size(size, limits))
        sent.append(Sent(clean_name(_decoded(part.filename or "")), "", file))
    return sent


def _decoded(name: str) -> str:
    """What browsers write for the three letters that would end a name in a form."""
    return name.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")


def _check_size(size: int, limits: UploadsConfig) -> None:
    if size > limits.max_file_bytes:
        raise _too_large(limits)


def _too_large(limits: UploadsConfig) -> TooLarge:
    return TooLarge(f"A file is larger than the limit of {limits.max_file_bytes:,} bytes. Send a part of it.")
