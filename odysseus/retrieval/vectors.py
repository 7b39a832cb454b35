"""Vectors of texts: made by the model on this machine or by an endpoint, and compared in the process of vectors.

Knows what of the index is in that process. Whoever asks gets EmbeddingError, and goes on without.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from odysseus.clock import Clock
from odysseus.errors import OdysseusError
from odysseus.retrieval.chunks import windows
from odysseus.retrieval.embedding import MISSING, EmbeddingError, EmbeddingProcess, installed, small
from odysseus.store.library_index import LibraryIndex

LOCAL_MODEL = "universal-sentence-encoder-multilingual-3"
WINDOW = 200
"""Characters of the pieces that the local model reads: it was made for sentences."""
BATCH = 8
"""Chunks that are embedded at a time: a question waits no longer than these take."""
QUERY_MOST = 1_000
_PAGE = 2_000
_REST_SECONDS = 60.0
_KEPT_TEXTS = 4_000
_FEW = 50  # with fewer texts than these their mean says little


class Remote(Protocol):
    """An endpoint's embeddings."""

    name: str
    """Tells its model from all others."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text. Raises OdysseusError."""
        ...


@dataclass(frozen=True, slots=True)
class TextVectors:
    """Of one text: the whole, and its pieces one after the other."""

    whole: bytes
    parts: bytes


class Vectors:
    """Owns the process. `model` names what makes the vectors."""

    def __init__(self, index: LibraryIndex, clock: Clock, idle_seconds: float, remote: Remote | None = None) -> None:
        self._index = index
        self._clock = clock
        self._remote = remote
        self._process = EmbeddingProcess(clock, idle_seconds)
        self._sync = asyncio.Lock()
        self._generation = 0
        self._last = 0
        self._stale = False
        # With many models all texts are near each other: what counts is how much nearer than most.
        self._floor = 0.0
        self._kept: OrderedDict[str, TextVectors] = OrderedDict()
        self._rest_until = 0.0
        self._problem = "" if installed(model=remote is None) else MISSING
        self.model = remote.name if remote else LOCAL_MODEL

    @property
    def pid(self) -> int | None:
        """The number of the process, None while there is none."""
        return self._process.pid

    @property
    def problem(self) -> str:
        """Why there are no vectors, in words; empty while nothing is known against them."""
        return self._problem

    @property
    def resting(self) -> bool:
        """Whether asking now is of no use: they are not installed, or have failed a moment ago."""
        return self._problem == MISSING or self._clock.monotonic() < self._rest_until

    @property
    def cold(self) -> bool:
        """Whether the model of this machine has to be loaded first, which takes seconds."""
        return self._remote is None and not self._process.loaded

    def forget_loaded(self) -> None:
        """Chunks have gone: the next search loads the matrix anew."""
        self._stale = True

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> list[TextVectors]:
        """Vectors of texts, in batches. Raises EmbeddingError."""
        if self.resting:
            raise EmbeddingError(self._problem)
        try:
            found = [
                vectors
                for start in range(0, len(texts), BATCH)
                for vectors in await self._embed_some(texts[start : start + BATCH], urgent=urgent)
            ]
        except (EmbeddingError, OdysseusError) as error:
            self._problem = error.message if isinstance(error, OdysseusError) else str(error)
            self._rest_until = self._clock.monotonic() + _REST_SECONDS
            raise EmbeddingError(self._problem) from error
        self._problem = ""
        return found

    async def warm(self) -> None:
        """Load the model; one who leaves before has it loaded all the same. Raises EmbeddingError."""
        await self.embed(["warm"], urgent=True)

    async def of_question(self, text: str) -> bytes:
        """The vector of a question. Raises EmbeddingError."""
        return (await self._embed_kept([text[:QUERY_MOST]]))[0].whole

    async def search(self, question: bytes, limit: int) -> Sequence[int]:
        """The chunks whose wholes are nearest to a question's vector, best first. Raises EmbeddingError."""
        async with self._sync:
            await self._load(len(question))
            answer = await self._process.ask("search", question, limit=limit)
        if self._process.generation != self._generation:
            raise EmbeddingError("The process for the search by meaning ended meanwhile.")
        if self._remote:
            rows = answer.fields["rows"]
            self._floor = max(0.0, answer.fields["mean"]) * rows / (rows + _FEW)
        return list(dict.fromkeys(answer.fields["chunks"]))

    async def compare(self, question: bytes, parts: Sequence[bytes]) -> Sequence[float]:
        """How near the nearest piece of each text is, as a cosine. Raises EmbeddingError."""
        dims = len(question)
        if not parts or any(len(one) % dims for one in parts):
            return [0.0] * len(parts)
        counts = [len(one) // dims for one in parts]
        answer = await self._process.ask("compare", question + b"".join(parts), dims=dims, counts=counts)
        return [max(0.0, score - self._floor) / (1 - self._floor) for score in answer.fields["scores"]]

    async def nearness(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """The same for texts that are not in the index; the newest are kept. Raises EmbeddingError."""
        asked = await self.of_question(question)
        vectors = await self._embed_kept(texts)
        return await self.compare(asked, [one.parts for one in vectors])

    async def close(self) -> None:
        """End the process."""
        await self._process.close()

    async def _embed_kept(self, texts: Sequence[str]) -> list[TextVectors]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        made = dict(zip(missing, await self.embed(missing, urgent=True), strict=True)) if missing else {}
        found = [made.get(text) or self._kept[text] for text in texts]
        self._kept.update(made)
        for text in texts:
            self._kept.move_to_end(text)
        while len(self._kept) > _KEPT_TEXTS:
            self._kept.popitem(last=False)
        return found

    async def _embed_some(self, texts: Sequence[str], *, urgent: bool) -> list[TextVectors]:
        if self._remote:
            rows = await self._remote.embed(texts)
            bytes_ = await asyncio.to_thread(lambda: [small(row) for row in rows])
            return [TextVectors(row, row) for row in bytes_]
        pieces = await asyncio.to_thread(lambda: [windows(text, WINDOW) or [""] for text in texts])
        counts = [len(some) for some in pieces]
        flat = [piece for some in pieces for piece in some]
        answer = await self._process.ask("embed", urgent=urgent, texts=flat, counts=counts)
        return _parted(answer.data, answer.fields["dims"], counts)

    async def _load(self, dims: int) -> None:
        """Bring the matrix up to what is stored."""
        if self._stale or self._process.pid is None or self._process.generation != self._generation:
            self._stale, self._last = False, 0
            await self._process.ask("clear")
            self._generation = self._process.generation
        while page := await self._index.vectors(self.model, self._last, _PAGE):
            if len(page.wholes) == dims * len(page.chunks):
                await self._process.ask("load", page.wholes, dims=dims, chunks=page.chunks)
            self._last = page.last


def _parted(data: bytes, dims: int, counts: Sequence[int]) -> list[TextVectors]:
    found, start = [], len(counts) * dims
    for place, count in enumerate(counts):
        end = start + count * dims
        found.append(TextVectors(data[place * dims : (place + 1) * dims], data[start:end]))
        start = end
    return found
