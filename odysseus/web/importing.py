"""POST /api/sessions/import: a chat that was exported as JSON becomes a new session, whole or not at all."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from odysseus.archive.reading import files_in, messages_in, read_chat
from odysseus.archive.shapes import ImportedChat
from odysseus.errors import BadRequest, TooLarge, UnsupportedMedia
from odysseus.store.imports import add_conversation
from odysseus.store.sessions import NAME_LIMIT, Session
from odysseus.text import clean_text
from odysseus.web.answers import completes, json_answer
from odysseus.web.form_parts import form_errors, form_parts, is_file, read_field, save_part
from odysseus.web.services import Services, services
from odysseus.web.sessions import session_json
from odysseus.web.upload_parts import FIELD_BYTES, clean_name

IMPORT_BYTES = 64_000_000
"""More than an exported chat has with all the files that it may take along."""


@completes
async def take_in(request: web.Request) -> web.StreamResponse:
    """POST /api/sessions/import"""
    services_ = services(request)
    body = await _body(request)
    chat = await asyncio.to_thread(read_chat, body)
    del body
    return json_answer(session_json(await _keep(services_, chat), running=False))


async def _keep(services_: Services, chat: ImportedChat) -> Session:
    session_id, now = uuid.uuid4().hex, services_.clock.wall()
    files = await asyncio.to_thread(files_in, chat)
    await asyncio.to_thread(messages_in, chat, session_id, {}, now)  # what is wrong is found before a file is kept
    kept: dict[str, str] = {}
    try:
        for file_id, name, data in files:
            kept[file_id] = (await services_.uploads.add(clean_name(name), "", data)).id
        return await _store(services_, chat, session_id, kept)
    except BaseException:
        await services_.uploads.forget(list(kept.values()))
        raise


async def _store(services_: Services, chat: ImportedChat, session_id: str, kept: Mapping[str, str]) -> Session:
    now = services_.clock.wall()
    taken = await asyncio.to_thread(messages_in, chat, session_id, kept, now)
    endpoint_id, model = services_.router.default()
    name = " ".join(clean_text(chat.session.name).split())[:NAME_LIMIT]
    last = max((message.created_at for message in taken.messages), default=None)
    session = Session(session_id, name, endpoint_id, model, chat.session.mode, False, False, 0, now, now, last, 0)
    await add_conversation(services_.db, session, taken.messages, taken.leaf)
    return await services_.sessions.get(session_id)


async def _body(request: web.Request) -> bytes:
    """The exported file: the body, or the only file of a form. Raises BadRequest, TooLarge, UnsupportedMedia."""
    if (request.content_length or 0) > IMPORT_BYTES + FIELD_BYTES:
        raise _too_large()
    if request.content_type == "application/json":
        return await _whole(request)
    if request.content_type != "multipart/form-data":
        raise UnsupportedMedia(
            "Send the exported file as application/json, or as the file of a multipart/form-data form."
        )
    found: bytearray | None = None
    with form_errors():
        async for part in form_parts(request):
            if not is_file(part) and part.name != "file":
                await read_field(part, FIELD_BYTES)
                continue
            if found is not None:
                raise BadRequest("One chat is imported at a time: send one file.")
            found = bytearray()
            await save_part(part, _into(found), _check)
    if found is None:
        raise BadRequest("There is no file in the form. Send the exported file in the field 'file'.")
    return bytes(found)


async def _whole(request: web.Request) -> bytes:
    data = bytearray()
    try:
        async for chunk in request.content.iter_any():
            data += chunk
            _check(len(data))
    except web.RequestPayloadError as error:
        raise BadRequest("The body cannot be read: check its encoding.") from error
    return bytes(data)


def _into(found: bytearray) -> Callable[[bytes], Awaitable[None]]:
    async def write(data: bytes) -> None:
        found.extend(data)

    return write


def _check(size: int) -> None:
    if size > IMPORT_BYTES:
        raise _too_large()


def _too_large() -> TooLarge:
    return TooLarge(f"The file is larger than the limit of {IMPORT_BYTES:,} bytes. Export the chat without its files.")
