"""Reading a call of a named agent: its two body forms, its fields, its files (agent stream contract, section 2)."""

from __future__ import annotations

import asyncio
import base64
import binascii
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from aiohttp import BodyPartReader, web
from msgspec import Meta, Struct
from ulid import ULID

from odysseus.config import AgentProfile
from odysseus.errors import BadRequest, TooLarge, UnsupportedMedia
from odysseus.text import clean_text
from odysseus.web.body import convert, read_json
from odysseus.web.form_parts import form_errors, form_parts, is_file, read_field, save_part

MESSAGE_LIMIT = 10_000
MOST_FILES = 10
FIELD_BYTES = 1_000_000
OFFICE = "application/vnd.openxmlformats-officedocument."
FILE_TYPES = frozenset(
    {
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "application/pdf",
        f"{OFFICE}wordprocessingml.document",
        f"{OFFICE}spreadsheetml.sheet",
        f"{OFFICE}presentationml.presentation",
        "text/plain",
        "text/csv",
        "text/markdown",
    }
)


class FileBody(Struct, frozen=True, kw_only=True):
    """A file in a JSON body: its bytes as base64."""

    content: Annotated[str, Meta(description="Its bytes as base64")]
    mime_type: Annotated[str, Meta(description="Its content type")]
    filename: Annotated[str, Meta(description="Its name, as the model is told")] = ""


class AgentBody(Struct, frozen=True, kw_only=True):
    """The fields of a call; unknown ones are ignored."""

    message: Annotated[str, Meta(max_length=MESSAGE_LIMIT, description="The user's text, not empty")]
    session_id: Annotated[str, Meta(description="The session to go on with; absent: a new one")] = ""
    include_reasoning: Annotated[bool, Meta(description="Whether the stream tells the reasoning")] = False
    files: Annotated[tuple[FileBody, ...], Meta(max_length=MOST_FILES, description="Put to the model by name")] = ()


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as it came: its bytes on disk, the type and the name that the client gave it."""

    path: Path
    mime: str
    name: str


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call that can be answered. `session_id` is None where a new session is wanted."""

    message: str
    session_id: str | None
    include_reasoning: bool = False
    files: tuple[SentFile, ...] = field(default=())


@asynccontextmanager
async def read_call(request: web.Request, profile: AgentProfile) -> AsyncIterator[AgentCall]:
    """The call; its files are there until the block ends. Raises BadRequest, TooLarge, UnsupportedMedia."""
    async with AsyncExitStack() as kept:
        files: Sequence[SentFile] = ()
        if request.content_type == "multipart/form-data":
            fields, files = await _Parts(profile, await kept.enter_async_context(_folder())).read(request)
            body = convert({**fields, "files": ()}, AgentBody)
        else:
            body = convert(await read_json(request, _json_limit(profile)), AgentBody)
            if body.files:
                folder = await kept.enter_async_context(_folder())
                files = await asyncio.to_thread(_unpacked, body.files, profile, folder)
        yield AgentCall(_message(body), parse_session_id(body.session_id), body.include_reasoning, tuple(files))


@asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    """A folder for the files of one call, gone with it."""
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="odysseus-files-")
    try:
        yield Path(folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def parse_session_id(text: str) -> str | None:
    """A ULID in its usual letters, None for the empty string. Raises BadRequest."""
    if not text:
        return None
    try:
        return str(ULID.from_str(text))
    except ValueError as error:
        raise BadRequest(
            "Field 'session_id': expected a ULID of 26 characters, as an earlier answer gave it."
        ) from error


def _message(body: AgentBody) -> str:
    if not body.message.strip():
        raise BadRequest("Field 'message': it may not be empty.")
    return body.message


def _json_limit(profile: AgentProfile) -> int:
    """Base64 takes four characters for three bytes."""
    return profile.max_files_bytes // 3 * 4 + FIELD_BYTES


def _unpacked(files: tuple[FileBody, ...], profile: AgentProfile, folder: Path) -> list[SentFile]:
    sent, total = [], 0
    for number, file in enumerate(files, 1):
        check_type(file.mime_type, number)
        try:
            data = base64.b64decode(
                file.content.partition(",")[2] if file.content[:5] == "data:" else file.content, validate=True
            )
        except (binascii.Error, ValueError) as error:
            raise BadRequest(f"Field 'files[{number - 1}].content': it is not valid base64.") from error
        total += len(data)
        _check_size(len(data), total, profile, number)
        path = folder / str(number)
        path.write_bytes(data)
        sent.append(SentFile(path, file.mime_type, clean_text(file.filename) or f"file {number}"))
    return sent


def check_type(mime: str, number: int) -> None:
    """Raises UnsupportedMedia for a type that is not read."""
    if mime.partition(";")[0].strip().lower() not in FILE_TYPES:
        raise UnsupportedMedia(f"File {number}: the type {mime[:100]!r} is not read here.")


def _check_size(size: int, total: int, profile: AgentProfile, number: int) -> None:
    if size > profile.max_file_bytes:
        raise TooLarge(f"File {number} is larger than the limit of {profile.max_file_bytes:,} bytes.")
    if total > profile.max_files_bytes:
        raise TooLarge(f"The files are larger than the limit of {profile.max_files_bytes:,} bytes together.")


class _Parts:
    """Takes a multipart body apart as it comes; files go straight to disk."""

    def __init__(self, profile: AgentProfile, folder: Path) -> None:
        self._profile = profile
        self._folder = folder
        self._total = 0
        self._fields: dict[str, Any] = {}
        self._files: list[SentFile] = []

    async def read(self, request: web.Request) -> tuple[Mapping[str, Any], list[SentFile]]:
        with form_errors():
            async for part in form_parts(request):
                await self._take(part)
        return self._fields, self._files

    async def _take(self, part: BodyPartReader) -> None:
        if not is_file(part):
            data = await read_field(part, FIELD_BYTES)
            if data:
                self._fields[clean_text(part.name or "")] = clean_text(data.decode("utf-8", "surrogateescape"))
            return
        number = len(self._files) + 1
        if number > MOST_FILES:
            raise BadRequest(f"Field 'files': at most {MOST_FILES} files are read.")
        mime = part.headers.get("Content-Type", "application/octet-stream")
        check_type(mime, number)
        path = self._folder / str(number)
        await self._save(part, path, number)
        self._files.append(SentFile(path, mime, clean_text(part.filename or "") or f"file {number}"))

    async def _save(self, part: BodyPartReader, path: Path, number: int) -> None:
        file = await asyncio.to_thread(path.open, "wb")

        async def write(data: bytes) -> None:
            await asyncio.to_thread(file.write, data)

        def check(size: int) -> None:
            _check_size(size, self._total + size, self._profile, number)

        try:
            self._total += await save_part(part, write, check)
        finally:
            await asyncio.to_thread(file.close)
