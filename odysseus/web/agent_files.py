"""The files of a call, as the model is given them: text under their names, and pictures for models that see."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from odysseus.context.attachments import READ, file_text
from odysseus.context.files import SEEN
from odysseus.context.given import Given
from odysseus.errors import BadRequest
from odysseus.extract.extract import extract
from odysseus.extract.result import Extracted
from odysseus.providers.base import Image
from odysseus.web.agent_request import SentFile


async def read_files(files: Sequence[SentFile], *, sees: bool) -> Given:
    """Every file read, or none: raises BadRequest that names the one that cannot be. `sees`: the model takes images."""
    found = await asyncio.gather(*(extract(file.path, file.name, declared=file.mime) for file in files))
    texts: list[str] = []
    images: list[Image] = []
    for number, (file, one) in enumerate(zip(files, found, strict=True), 1):
        picture = one.mime in SEEN and sees and one.kind != "failed"
        _check(number, file, one, picture=picture)
        texts.append(file_text(number, file.name, one.text.strip(), one.note, picture=picture))
        if picture:
            images.append(Image(one.mime, await asyncio.to_thread(file.path.read_bytes)))
    return Given("\n\n".join(texts), images=tuple(images))


def _check(number: int, file: SentFile, found: Extracted, *, picture: bool) -> None:
    field = f"Field 'files[{number - 1}]': {file.name}"
    if found.mismatch:
        raise BadRequest(f"{field}: {found.note} Send it with the type that it has.")
    if found.kind == "failed" or not (picture or found.kind in READ):
        raise BadRequest(f"{field}: {found.note or 'There is no text in it that can be read.'}")
