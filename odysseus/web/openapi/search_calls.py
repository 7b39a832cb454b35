"""The call that searches everything: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from odysseus.store.memories import State
from odysseus.web.openapi.answers import SearchHit
from odysseus.web.openapi.operation import Operation, Parameter, said
from odysseus.web.openapi.run_shapes import Time
from odysseus.web.search import Group

Around = Annotated[str, Meta(description="The text around the first hit, on one line")]
More = Annotated[bool, Meta(description="Whether there are others")]


class FoundChat(Struct, kw_only=True):
    """A chat whose name has all the words."""

    id: Annotated[str, Meta(description="Its id")]
    name: Annotated[str, Meta(description="Its name")]


class FoundDocument(Struct, kw_only=True):
    """A document that has all the words in its title and its newest text."""

    id: Annotated[str, Meta(description="Its id")]
    title: Annotated[str, Meta(description="Its title")]
    snippet: Around
    updated_at: Time


class FoundMemory(Struct, kw_only=True):
    """A memory that has all the words."""

    id: Annotated[str, Meta(description="Its id")]
    snippet: Around
    state: Annotated[State, Meta(description="Whether it is kept or only proposed")]


class FoundFile(Struct, kw_only=True):
    """A file of the library that has all the words in its name, or in one passage."""

    source_id: Annotated[str, Meta(description="Its entry in the library")]
    source: Annotated[str, Meta(description="The entry's name")]
    path: Annotated[str, Meta(description="The file, below its entry")]
    heading: Annotated[str, Meta(description="What the passage stands under, parted by ` > `")]
    page: Annotated[int | None, Meta(description="The page where the passage begins, where that is known")]
    snippet: Annotated[str, Meta(description="A part of the passage; empty when only the name has the words")]


class FoundChats(Struct, kw_only=True):
    """Chats."""

    items: Annotated[list[FoundChat], Meta(description="Pinned ones first, then the last used")]
    more: More


class FoundMessages(Struct, kw_only=True):
    """Messages."""

    items: Annotated[list[SearchHit], Meta(description="The newest first")]
    more: More


class FoundDocuments(Struct, kw_only=True):
    """Documents."""

    items: Annotated[list[FoundDocument], Meta(description="By their titles first, then the last changed")]
    more: More


class FoundMemories(Struct, kw_only=True):
    """Memories."""

    items: Annotated[list[FoundMemory], Meta(description="Pinned ones first, then the newest")]
    more: More


class FoundFiles(Struct, kw_only=True):
    """Files of the library."""

    items: Annotated[list[FoundFile], Meta(description="By their names first, then the last indexed")]
    more: More


class FoundEverything(Struct, kw_only=True):
    """What was found, group by group."""

    chats: FoundChats
    messages: FoundMessages
    documents: FoundDocuments
    memories: FoundMemories
    library: FoundFiles


SEARCH: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/search/all",
        id="searchEverything",
        tag="Search",
        summary="Search chats, messages, documents, memories and the library",
        description="Words are found as they are typed, in the middle of others too; in the library the last one may "
        "go on. Case and accents do not count, and no character has a meaning of its own.",
        parameters=(
            Parameter("q", "query", "Words that each hit must all have", example="lease"),
            Parameter("group", "query", "Up to 100 hits of this group alone, in place of five of each", Group),
        ),
        answers=said("The hits", FoundEverything),
        errors=(400,),
    ),
)
