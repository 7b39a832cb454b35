"""The tool that makes pictures: each is checked by its bytes, kept as an upload and shown in the chat.

Who makes them is given from outside; the tool knows no endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from msgspec import Meta

from odysseus.events import ImageMade
from odysseus.store.uploads import UploadStore, picture_type
from odysseus.text import clean_text
from odysseus.tools.base import Arguments, Tool, ToolContext, ToolError, ToolResult, make_tool, one_line

IMAGE_BYTES = 20_000_000
PROMPT_LIMIT = 4000
SECONDS = 330.0
"""A little more than the endpoint is given, so that its own words on the time are heard."""


@dataclass(frozen=True, slots=True)
class MadeImage:
    """A picture as it was made: its bytes, what its maker says they are, and the model."""

    data: bytes
    mime: str
    model: str


class MakeImage(Protocol):
    """Whoever makes pictures."""

    async def __call__(self, prompt: str, size: str) -> MadeImage:
        """One picture; `size` is like `1024x1024`, or empty for the maker's own. Raises OdysseusError."""
        ...


class GenerateImage(Arguments, frozen=True):
    """Arguments of generate_image."""

    prompt: Annotated[
        str, Meta(min_length=1, max_length=PROMPT_LIMIT, description="What the picture shows, in detail.")
    ]
    size: Annotated[
        str,
        Meta(pattern=r"^([1-9][0-9]{1,3}x[1-9][0-9]{1,3})?$", description="Like 1024x1024; empty for the usual one."),
    ] = ""


def image_tools(make: MakeImage, uploads: UploadStore) -> Sequence[Tool]:
    """The picture tool, with who makes the pictures and where they are kept."""

    async def run(given: GenerateImage, context: ToolContext) -> ToolResult:
        prompt, size = clean_text(given.prompt).strip(), given.size.strip()
        if not prompt:
            raise ToolError("Say in the prompt what the picture shows.")
        context.progress("Making the picture", "")
        made = await make(prompt, size)
        kept = await keep_picture(made, prompt, size, uploads)
        return ToolResult(
            f"The picture is made, and the user sees it already ({picture_type(made.data)}, {len(made.data):,} bytes). "
            f"It is kept at {kept.url}.",
            extras={"image_url": kept.url},
            after=[kept],
        )

    return (
        make_tool(
            "generate_image",
            "Make a picture from a description and show it to the user.",
            GenerateImage,
            run,
            ["network", "write"],
            command=lambda given: one_line(given.prompt),
            seconds=SECONDS,
        ),
    )


async def keep_picture(made: MadeImage, prompt: str, size: str, uploads: UploadStore) -> ImageMade:
    """Keep a picture as an upload. Raises ToolError when it is none, StoreError."""
    kind = _checked(made)
    upload = await uploads.add(_file_name(prompt, kind), kind, made.data)
    return ImageMade(f"/api/upload/{upload.id}", upload.id, prompt, made.model, size)


def _checked(made: MadeImage) -> str:
    """The picture's real type. Raises ToolError when it is none, or too large."""
    if len(made.data) > IMAGE_BYTES:
        raise ToolError(f"The picture has over {IMAGE_BYTES // 1_000_000} MB and was not kept. Ask for a smaller size.")
    kind = picture_type(made.data)
    if not kind:
        raise ToolError("What the endpoint made is no picture of a known kind. Try another image model.")
    return kind


def _file_name(prompt: str, kind: str) -> str:
    """A name for the picture when it is saved, from the first words of its prompt."""
    words = re.findall(r"\w+", prompt)[:6]
    return f"{'-'.join(words)[:60] or 'picture'}.{kind.removeprefix('image/').replace('jpeg', 'jpg')}"
