"""What a question is given beside the conversation: its files, the open document, the library, the web, memories.

All are asked side by side. A source that fails costs its part and not the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from odysseus.context import attachments, citing, document, recall, web
from odysseus.context.files import FileReader
from odysseus.context.given import Given, joined
from odysseus.errors import OdysseusError
from odysseus.events import DocumentUpdated
from odysseus.retrieval.index import Passage, Retrieval
from odysseus.store.documents import DocumentStore
from odysseus.store.memories import MemoryStore
from odysseus.store.uploads import Upload, UploadStore

log = logging.getLogger(__name__)

TimeFilter = Literal["", "day", "week", "month", "year"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ContextWish:
    """What a message asks to be given with it. Without a word on it, nothing.

    `told` is what a stored question says of its files, for those that are gone.
    """

    attachments: tuple[str, ...] = ()
    document: str = ""
    use_rag: bool = False
    use_memory: bool = False
    use_web: bool = False
    time_filter: TimeFilter = ""
    told: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of the library a prompt may hold: passages, and tokens in all."""

    passages: int
    tokens: int


class Sources:
    """Gathers for one question at a time. `search` and `fetch` are the web's."""

    def __init__(
        self,
        files: tuple[UploadStore, FileReader],
        own: tuple[DocumentStore, MemoryStore],
        library: tuple[Retrieval, Budget],
        search: web.Search,
        fetch: web.Fetch,
    ) -> None:
        self._uploads, self._reader = files
        self._documents, self._memories = own
        self._library, self._budget = library
        self._search = search
        self._fetch = fetch

    async def attached(self, wish: ContextWish) -> Sequence[Upload]:
        """The files that a message names, kept from now on. Raises NotFound for a new one that is not there."""
        return await self._uploads.use(wish.attachments, {file["id"]: _gone(file) for file in wish.told})

    async def gather(self, question: str, wish: ContextWish, uploads: Sequence[Upload], *, sees: bool) -> Given:
        """All of it, in the contract's order (chat stream, section 3)."""
        no_passages: Sequence[Passage] = ()
        files, open_, read, found, known = await asyncio.gather(
            _careful(uploads, lambda: self._files(uploads, sees=sees), Given()),
            _careful(wish.document, lambda: self._document(wish.document), Given()),
            _careful(wish.use_rag, lambda: self._passages(question), no_passages),
            _careful(wish.use_web, lambda: self._web(question, wish.time_filter), web.Found()),
            _careful(wish.use_memory, lambda: self._memory(question), Given()),
        )
        return joined([files, open_, *await asyncio.to_thread(citing.given, found, read, self._budget.tokens), known])

    async def _files(self, uploads: Sequence[Upload], *, sees: bool) -> Given:
        return await attachments.given(await self._reader.read_all(uploads), sees=sees)

    async def _document(self, document_id: str) -> Given:
        open_ = await self._documents.get(None, document_id)
        updated = DocumentUpdated(open_.id, open_.content, open_.version, open_.title, open_.language)
        return await asyncio.to_thread(document.given, updated)

    async def _passages(self, question: str) -> Sequence[Passage]:
        return await self._library.passages(question, self._budget.passages)

    async def _web(self, question: str, time_filter: TimeFilter) -> web.Found:
        return await web.find(question, self._search, self._fetch, time_filter=time_filter)

    async def _memory(self, question: str) -> Given:
        return await recall.given(await self._memories.list(state="kept"), question, self._library.rank)


def _gone(file: Mapping[str, Any]) -> Upload:
    return Upload(file["id"], file["name"], file.get("mime", ""), file.get("size", 0), "", 0.0)


async def _careful(wanted: object, source: Callable[[], Awaitable[T]], nothing: T) -> T:
    """What a source gives, and nothing when it is not wanted or fails. It is asked here: a run may end before that."""
    if not wanted:
        return nothing
    try:
        return await source()
    except OdysseusError as error:
        log.warning("a source of context is left out: %s", error.message)
        return nothing
