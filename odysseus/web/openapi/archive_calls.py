"""The calls that let chats leave and come in as files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from odysseus.web.openapi import answers
from odysseus.web.openapi.chat_calls import SESSION
from odysseus.web.openapi.operation import JSON, MULTIPART, Answer, Binary, Body, Operation, Parameter, said


class ImportForm(Struct):
    """An exported file."""

    file: Annotated[Binary, Meta(description="The JSON file of one chat")]


ARCHIVE: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/session/{session}/export",
        id="exportSession",
        tag="Sessions",
        summary="Download a session",
        description="A JSON file can be imported again. A page of HTML needs no network, and has no script.",
        parameters=(
            SESSION,
            Parameter("fmt", "query", "Markdown, JSON, or a page of HTML", Literal["md", "json", "html"]),
            Parameter("files", "query", "With 1, JSON holds the bytes of files too, up to 30 MB", Literal["0", "1"]),
        ),
        answers={200: Answer("The file", {"text/markdown": str, JSON: answers.ExportedChat, "text/html": str})},
        errors=(400, 404),
    ),
    Operation(
        method="post",
        path="/api/sessions/import",
        id="importSession",
        tag="Sessions",
        summary="Make a new session of an exported one",
        description=(
            "All of it is taken in, or nothing. What the file says counts as text from outside, "
            "and approvals in it cannot be used."
        ),
        body=Body(answers.ExportedChat, media=(JSON, MULTIPART), form=ImportForm),
        answers=said("The new session", answers.Session),
        errors=(507,),
    ),
)
