"""A form, part by part as it comes, without holding its files. Knows no call and no limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from odysseus.errors import BadRequest, TooLarge
from odysseus.text import clean_text

CHUNK = 1 << 18


@contextmanager
def form_errors() -> Iterator[None]:
    """Around all that reads a form: one that is broken is a BadRequest."""
    try:
        yield
    except (ValueError, AssertionError, HttpProcessingError, web.RequestPayloadError) as error:
        raise BadRequest("The form cannot be read: check its encoding and its boundary.") from error


async def form_parts(request: web.Request) -> AsyncIterator[BodyPartReader]:
    """Each part, to be read before the next one."""
    reader = await request.multipart()
    while (part := await reader.next()) is not None:
        if not isinstance(part, BodyPartReader):
            raise BadRequest("The form holds a form, which is not read here.")
        yield part


def is_file(part: BodyPartReader) -> bool:
    """Whether it is a file, also one without a name."""
    return part.filename is not None or part.name == "files"


async def read_field(part: BodyPartReader, most: int) -> bytes:
    """The bytes of a part that is no file. Raises TooLarge."""
    data = bytearray()
    while chunk := await part.read_chunk(CHUNK):
        data += chunk
        if len(data) > most:
            raise TooLarge(f"Field {clean_text(part.name or '')!r} is larger than the limit of {most:,} bytes.")
    return bytes(data)


async def save_part(
    part: BodyPartReader, write: Callable[[bytes], Awaitable[object]], check: Callable[[int], None]
) -> int:
    """Hand a file on piece by piece; `check` is told its size before each. Gives the size."""
    size = 0
    while chunk := await part.read_chunk(CHUNK):
        size += len(chunk)
        check(size)
        await write(chunk)
    return size
