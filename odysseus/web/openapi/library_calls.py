"""The calls for the library: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from odysseus.store.library import SourceKind
from odysseus.web import library
from odysseus.web.openapi import answers
from odysseus.web.openapi.operation import CHANGES, EVENTS, Answer, Body, Operation, Parameter, said
from odysseus.web.openapi.run_shapes import Time, json_of

Mode = Annotated[
    Literal["hybrid", "words", "off"],
    Meta(description="By words and by meaning, by words alone, or not at all"),
]
ModeNote = Annotated[str, Meta(description="In words why not by meaning; empty when it is")]


class UnreadFile(Struct, kw_only=True):
    """A file that could not be read."""

    path: Annotated[str, Meta(description="Below its entry")]
    note: Annotated[str, Meta(description="Why not, and what to do")]


class LibraryEntry(Struct, kw_only=True):
    """A file, a folder or an upload in the library."""

    id: Annotated[str, Meta(description="Its id")]
    kind: Annotated[SourceKind, Meta(description="What it is")]
    name: Annotated[str, Meta(description="Its name, without folders")]
    path: Annotated[str | None, Meta(description="Its whole path; of an upload none")]
    upload_id: Annotated[str | None, Meta(description="The upload's id")]
    state: Annotated[
        Literal["waiting", "indexing", "ready", "failed"],
        Meta(description="`failed`: it is not there any more, or could not be indexed"),
    ]
    note: Annotated[str, Meta(description="What was left out or wrong; empty when nothing is")]
    documents: Annotated[int, Meta(description="Files of it that the index knows")]
    chunks: Annotated[int, Meta(description="Passages that can be found")]
    failed: Annotated[int, Meta(description="Files that could not be read")]
    empty: Annotated[int, Meta(description="Files without text")]
    problems: Annotated[list[UnreadFile], Meta(description="Some of the files that could not be read")]
    added_at: Time
    checked_at: Annotated[str | None, Meta(description="When it was last compared with the disk, as all times")]


class LibraryList(Struct, kw_only=True):
    """The library."""

    items: Annotated[list[LibraryEntry], Meta(description="The entries, the newest first")]
    mode: Mode
    note: ModeNote
    documents: Annotated[int, Meta(description="Files in all")]
    chunks: Annotated[int, Meta(description="Passages in all")]


class FoundPassage(Struct, kw_only=True):
    """A passage that was found."""

    doc_id: Annotated[str, Meta(description="The document's id, until the file changes")]
    filename: Annotated[str, Meta(description="The file, below its entry")]
    heading: Annotated[str, Meta(description="The headings that it stands under, parted by ` > `")]
    page: Annotated[int | None, Meta(description="The page where it begins, where that is known")]
    snippet: Annotated[str, Meta(max_length=200, description="A part of it, on one line")]
    similarity: Annotated[float, Meta(ge=0, le=1, description="How near it is; see `retrieval.similarity`")]


class LibrarySearch(Struct, kw_only=True):
    """What a search found."""

    items: Annotated[
        list[FoundPassage], Meta(description="At most ten, the nearest first, also those that are not near")
    ]
    mode: Mode
    note: ModeNote


class LibraryProgress(Struct, kw_only=True, tag="progress", tag_field="type"):
    """The indexing goes on."""

    source_id: Annotated[str | None, Meta(description="The entry; none while missing vectors are made")]
    name: Annotated[str, Meta(description="The entry's name")]
    done: Annotated[int, Meta(description="Files done; without an entry, passages done")]
    total: Annotated[int, Meta(description="Files that are new, changed or gone")]
    file: Annotated[str, Meta(description="The file that is next")]
    failed: Annotated[int, Meta(description="Files that could not be read")]


class LibraryFinal(Struct, kw_only=True, tag="final", tag_field="type"):
    """Nothing is left to do: the last frame."""

    mode: Mode
    note: ModeNote
    documents: Annotated[int, Meta(description="Files in all")]
    chunks: Annotated[int, Meta(description="Passages in all")]


LibraryFrame = LibraryProgress | LibraryFinal
"""The data of a frame of the progress."""


class LibraryStreamEvent(Struct, kw_only=True):
    """An event of the progress. A comment comes in every long silence."""

    event: Annotated[Literal["message"], Meta(description="Always this one")] = "message"
    data: Annotated[str, json_of("LibraryFrame"), Meta(description="One line of JSON")]


SOURCE = Parameter("source", "path", "The id of an entry of the library")

LIBRARY: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/library",
        id="listLibrary",
        tag="Library",
        summary="List what is in the library",
        answers=said("The entries, and how the library is searched", LibraryList),
    ),
    Operation(
        method="post",
        path="/api/library",
        id="addToLibrary",
        tag="Library",
        summary="Add a file, a folder or an upload",
        description="It is indexed in the background: see `/api/library/progress`. The whole disk, the home folder and "
        "the server's own data cannot be added.",
        body=Body(library.NewSource, example={"path": "/home/ada/notes"}),
        answers=said("It waits to be indexed", LibraryEntry, status=202),
        errors=(404, 409, 507),
    ),
    Operation(
        method="delete",
        path="/api/library/{source}",
        id="removeFromLibrary",
        tag="Library",
        summary="Take an entry out of the library",
        description="The files themselves stay as they are.",
        parameters=(SOURCE,),
        answers=said("Nothing of it is found any more", answers.Deleted),
        errors=CHANGES,
    ),
    Operation(
        method="post",
        path="/api/library/{source}/refresh",
        id="refreshLibrary",
        tag="Library",
        summary="Compare an entry with the disk now",
        description="Files that could not be read are read again.",
        parameters=(SOURCE,),
        answers=said("It waits to be looked at", LibraryEntry, status=202),
        errors=(*CHANGES, 409),
    ),
    Operation(
        method="get",
        path="/api/library/progress",
        id="libraryProgress",
        tag="Library",
        summary="Follow the indexing",
        answers={200: Answer("Server-sent events. The schema is that of one event.", {EVENTS: LibraryStreamEvent})},
    ),
    Operation(
        method="get",
        path="/api/library/search",
        id="searchLibrary",
        tag="Library",
        summary="Search the library",
        parameters=(Parameter("q", "query", "What to look for", example="When does the lease end?"),),
        answers=said("The passages", LibrarySearch),
    ),
)
