"""Request bodies: three content types, one set of fields, checked into a type. Text is cleaned here, once."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Meta

from odysseus.errors import BadRequest, TooLarge, UnsupportedMedia
from odysseus.text import clean_text

T = TypeVar("T")
Chosen = Annotated[str, Meta(max_length=500)]
"""The name of a model or the id of an endpoint, as a client may send it."""

JSON_TYPE = "application/json"
FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


async def read_fields(request: web.Request) -> dict[str, Any]:
    """The body's fields, whatever form they came in; those without a value are left out.

    Raises BadRequest, TooLarge or UnsupportedMedia.
    """
    try:
        if request.content_type == JSON_TYPE:
            fields = _object(_json(await request.read()))
        elif request.content_type in FORM_TYPES:
            fields = await _form(request)
        elif not request.can_read_body:
            fields = {}
        else:
            raise UnsupportedMedia("Send the body as application/json, multipart/form-data or a urlencoded form.")
    except web.HTTPRequestEntityTooLarge as error:
        limit = request.client_max_size
        raise TooLarge(f"The body is larger than the limit of {limit:,} bytes.") from error
    except web.RequestPayloadError as error:
        raise BadRequest("The body cannot be read: check its encoding.") from error
    try:
        return {clean_text(key): _clean(value) for key, value in fields.items() if value is not None}
    except RecursionError as error:
        raise BadRequest("The body is nested too deeply.") from error


async def read_json(request: web.Request, limit: int) -> dict[str, Any]:
    """The fields of a JSON body of at most `limit` bytes. Raises BadRequest, TooLarge or UnsupportedMedia."""
    if request.content_type != JSON_TYPE:
        raise UnsupportedMedia("Send the body as application/json or multipart/form-data.")
    data = bytearray()
    try:
        async for chunk in request.content.iter_any():
            data += chunk
            if len(data) > limit:
                raise TooLarge(f"The body is larger than the limit of {limit:,} bytes.")
    except web.RequestPayloadError as error:
        raise BadRequest("The body cannot be read: check its encoding.") from error
    return await asyncio.to_thread(_cleaned, bytes(data))


def _cleaned(body: bytes) -> dict[str, Any]:
    try:
        return {clean_text(key): _clean(value) for key, value in _object(_json(body)).items() if value is not None}
    except RecursionError as error:
        raise BadRequest("The body is nested too deeply.") from error


def convert(fields: Mapping[str, Any], kind: type[T]) -> T:
    """Fields as a checked value; strings are taken for booleans and numbers. Raises BadRequest that names the field."""
    try:
        return msgspec.convert(fields, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(_explain(str(error))) from error


async def read(request: web.Request, kind: type[T]) -> T:
    """The body as a checked value."""
    return convert(await read_fields(request), kind)


def _explain(error: str) -> str:
    """msgspec's words as one sentence that begins with the field's name."""
    text, _, path = error.partition(" - at `$.")
    if missing := re.search(r"missing required field `([^`]+)`", text):
        return f"Field {missing[1]!r} is required."
    name = path.rstrip("`")
    text = _plain(text)
    return f"Field {name!r}: {text[:1].lower() + text[1:]}." if name else f"{text}."


def _plain(text: str) -> str:
    """msgspec's words without its types."""
    if limit := re.search(r"`str` of length <= (\d+)", text):
        return f"it may have at most {int(limit[1]):,} characters"
    if limit := re.search(r"of length >= (\d+)", text):
        return "it may not be empty" if limit[1] == "1" else f"it needs {limit[1]} or more"
    if value := re.search(r"[Ii]nvalid enum value (.+)", text):
        return f"there is no {value[1]}"
    return text


def list_field(fields: Mapping[str, Any], name: str) -> list[Any]:
    """An array, native or as JSON in a string; absent and empty are the empty list."""
    value = fields.get(name, [])
    if isinstance(value, str):
        value = _json(value.encode()) if value.strip() else []
    if not isinstance(value, list):
        raise BadRequest(f"Field {name!r}: expected an array.")
    return value


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return _lenient_json(body)


def _lenient_json(body: bytes) -> Any:
    """The same for text with lone surrogates, which orjson refuses; they are replaced later on."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadRequest("The body is not valid JSON.") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRequest("The body must be a JSON object.")
    return value


async def _form(request: web.Request) -> dict[str, Any]:
    try:
        codecs.lookup(request.charset or "utf-8")
        fields = {name: _text(name, value) for name, value in (await request.post()).items()}
    except (ValueError, LookupError, HttpProcessingError) as error:
        raise BadRequest("The form cannot be read: check its encoding and its boundary.") from error
    return {name: value for name, value in fields.items() if value != ""}


def _text(name: str, value: str | bytes | bytearray | web.FileField) -> str:
    """A part's text; one that says it is JSON comes as bytes. Raises BadRequest for a file, ValueError."""
    if isinstance(value, web.FileField):
        raise BadRequest(f"Field {clean_text(name)!r}: this call takes no files.")
    return value if isinstance(value, str) else value.decode("utf-8")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in value.items()}
    return value
