"""The calls for what outlives a message: files that are sent, and memories. What goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from odysseus.store.memories import State
from odysseus.web import memories
from odysseus.web.openapi import answers
from odysseus.web.openapi.operation import CHANGES, MULTIPART, Binary, Body, Operation, Parameter, said
from odysseus.web.openapi.run_shapes import Time


class UploadForm(Struct, kw_only=True):
    """Files to send. Other parts are passed over."""

    files: Annotated[list[Binary], Meta(min_length=1, description="The files, each a part of this name")]


class KeptFile(Struct, kw_only=True):
    """A file that is kept, and what was read in it."""

    id: Annotated[str, Meta(description="Its id, which nobody can guess")]
    name: Annotated[str, Meta(description="Its name, without folders and controls")]
    mime: Annotated[str, Meta(description="What it is by its content, whatever it was sent as")]
    size: Annotated[int, Meta(description="Bytes")]
    sha256: Annotated[str, Meta(description="Of its bytes")]
    width: Annotated[int | None, Meta(description="Of a picture, in pixels")]
    height: Annotated[int | None, Meta(description="Of a picture, in pixels")]
    text_chars: Annotated[int, Meta(description="Characters of text that were read")]
    extraction: Annotated[
        Literal["text", "ocr", "image", "none", "failed"],
        Meta(
            description="Where its text is from: the file, or a picture of it; else a picture, nothing, or unreadable"
        ),
    ]
    note: Annotated[str, Meta(description="What was left out or wrong, and what to do; empty when nothing is")]


class KeptFiles(Struct):
    """What was sent, in its order."""

    files: Annotated[list[KeptFile], Meta(description="The files")]


class Memory(Struct, kw_only=True):
    """A fact that outlives a chat."""

    id: Annotated[str, Meta(description="Its id")]
    text: Annotated[str, Meta(description="The fact, on one line")]
    category: Annotated[str, Meta(description="Like fact, preference, person or project")]
    pinned: Annotated[bool, Meta(description="Whether every prompt has it")]
    state: Annotated[State, Meta(description="A `proposed` one is used for nothing until it is kept")]
    outside: Annotated[bool, Meta(description="Whether it may be what others wrote")]
    session_id: Annotated[str | None, Meta(description="The chat it comes from")]
    created_at: Time
    updated_at: Time


MEMORY = Parameter("memory", "path", "The memory's id")

FILES: Sequence[Operation] = (
    Operation(
        method="post",
        path="/api/upload",
        id="upload",
        tag="Messages",
        summary="Send files, to be attached to a message",
        description="All are kept, or none. The answer comes when they are read, which may take a minute for each. "
        "A file that no message names is deleted a day after it was last used.",
        body=Body(UploadForm, (MULTIPART,), form=UploadForm),
        answers=said("The files", KeptFiles),
        errors=(507,),
    ),
)

MEMORIES: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/memories",
        id="listMemories",
        tag="Memories",
        summary="List what is remembered",
        parameters=(
            Parameter("q", "query", "Only those that have all these words"),
            Parameter("state", "query", "Only those in this state", State),
        ),
        answers=said("The memories, pinned ones first, then the newest", list[Memory]),
        errors=(400,),
    ),
    Operation(
        method="post",
        path="/api/memories",
        id="addMemory",
        tag="Memories",
        summary="Remember a fact",
        body=Body(memories.NewMemory, example={"text": "Likes green tea."}),
        answers=said("The memory; one that was known, as it is now", Memory),
        errors=(409, 507),
    ),
    Operation(
        method="patch",
        path="/api/memories/{memory}",
        id="changeMemory",
        tag="Memories",
        summary="Change a memory, or keep a proposed one",
        parameters=(MEMORY,),
        body=Body(memories.MemoryChange, required=False, example={"state": "kept"}),
        answers=said("The memory as it is now", Memory),
        errors=(*CHANGES, 409),
    ),
    Operation(
        method="delete",
        path="/api/memories/{memory}",
        id="deleteMemory",
        tag="Memories",
        summary="Forget a memory",
        parameters=(MEMORY,),
        answers=said("It is gone", answers.Deleted),
        errors=CHANGES,
    ),
)
