"""The library asked: by words and by meaning, both ranked as one; by words alone where there are no vectors.

Knows no file but to see that it is still there, and nothing of how the index came to be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from odysseus.retrieval.embedding import EmbeddingError
from odysseus.retrieval.ranking import NOTHING, Question, asked_terms, make_question, overlaps, similarity, snippet
from odysseus.retrieval.vectors import Vectors
from odysseus.store.library_index import LibraryIndex, StoredChunk

Mode = Literal["hybrid", "words", "off"]
Near = tuple[StoredChunk, float]

COLD_SECONDS = 0.25
"""How long somebody who is answered waits for the model to load; then words have to do, and it goes on loading."""
BY_WORDS = 50
BY_VECTORS = 150
"""How many chunks each half brings in. Those of the vectors are coarse, so there are more of them."""
_OFF = "The library is switched off in the settings (retrieval.on)."


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found. `similarity` is 0 to 1, `snippet` at most 200 characters; `filename` may be a path."""

    doc_id: str
    filename: str
    snippet: str
    text: str
    similarity: float
    heading: str = ""
    page: int | None = None


class Retrieval:
    """Reads the index. `gone` is told the source of a file that was found but is not there any more."""

    def __init__(self, index: LibraryIndex, vectors: Vectors, *, on: bool, least: float) -> None:
        self._index = index
        self._vectors = vectors
        self._on = on
        self._least = least
        self.gone: Callable[[str], None] = lambda _source: None

    def mode(self) -> tuple[Mode, str]:
        """How the library is searched now, and in words why not by meaning; empty when it is."""
        if not self._on:
            return "off", _OFF
        problem = self._vectors.problem
        return ("words", f"Only words are searched for, not meanings. {problem}") if problem else ("hybrid", "")

    async def passages(self, query: str, k: int) -> Sequence[Passage]:
        """The best passages for a question, at most `k`, without those that have little to do with it.

        By words alone while the model is being loaded.
        """
        if not self._on or not await self._index.chunk_count():
            return []
        await self._warmed()
        found = await self.search(query, k, meanings=not self._vectors.cold)
        return [one for one in found if one.similarity >= self._least]

    async def warm(self) -> None:
        """Load the model, unless it is there."""
        if self._on and self._vectors.cold and not self._vectors.resting:
            with suppress(EmbeddingError):
                await self._vectors.warm()

    async def search(self, query: str, k: int, *, words: bool = True, meanings: bool = True) -> Sequence[Passage]:
        """The best passages, near or not. `words` and `meanings` say which halves are asked."""
        count = await self._index.chunk_count() if self._on else 0
        if not count or not query.strip():
            return []
        question = await self._question(query, count)
        by_words = await self._index.by_words(question.wanted, BY_WORDS) if words else []
        vector = await self._vector(query) if meanings else b""
        near = await self._near(vector) if vector else []
        chunks = await self._index.chunks(list(dict.fromkeys([*by_words, *near])), self._vectors.model)
        cosines = await self._cosines(vector, chunks) if vector else {}
        ranked = await asyncio.to_thread(_ranked, list(chunks.values()), question if words else NOTHING, cosines)
        return [_passage(chunk, question, near) for chunk, near in await self._present(ranked, k)]

    async def rank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """How near each text is to a question, 0 to 1; 0 also for what has little to do with it.

        Without vectors, and while the model is being loaded, it is the share of the question's words.
        """
        covered = await asyncio.to_thread(overlaps, query, texts)
        if not self._on or not texts or not query.strip() or self._vectors.resting:
            return covered
        await self._warmed()
        if self._vectors.cold:
            return covered
        try:
            near = await self._vectors.nearness(query, texts)
        except EmbeddingError:
            return covered
        scores = [similarity(*pair) for pair in zip(near, covered, strict=True)]
        return [score if score >= self._least else 0.0 for score in scores]

    async def _question(self, query: str, count: int) -> Question:
        asked = await asyncio.to_thread(asked_terms, query)
        frequencies = await self._index.frequencies(asked, count)
        return await asyncio.to_thread(make_question, query, frequencies, count)

    async def _vector(self, query: str) -> bytes:
        """The question's vector, empty when there is none."""
        if self._vectors.resting:
            return b""
        try:
            return await self._vectors.of_question(query)
        except EmbeddingError:
            return b""

    async def _warmed(self) -> None:
        """Wait for the model, but not long. A question that nobody waits for any more loads it all the same."""
        if not self._vectors.cold or self._vectors.resting:
            return
        with suppress(TimeoutError, EmbeddingError):
            await asyncio.wait_for(self._vectors.warm(), COLD_SECONDS)

    async def _near(self, vector: bytes) -> Sequence[int]:
        try:
            return await self._vectors.search(vector, BY_VECTORS)
        except EmbeddingError:
            return []

    async def _cosines(self, vector: bytes, chunks: Mapping[int, StoredChunk]) -> dict[int, float]:
        """By the best piece of each chunk that has vectors."""
        having = {number: chunk.parts for number, chunk in chunks.items() if chunk.parts}
        try:
            scores = await self._vectors.compare(vector, list(having.values()))
        except EmbeddingError:
            return {}
        return dict(zip(having, scores, strict=True))

    async def _present(self, ranked: Sequence[Near], k: int) -> Sequence[Near]:
        """The first `k` different ones whose files are there."""
        best: list[Near] = []
        seen: set[str] = set()
        for chunk, near in ranked:
            if len(best) == k:
                break
            if chunk.text in seen:
                continue
            if chunk.kind != "upload" and not await asyncio.to_thread((Path(chunk.place) / chunk.path).is_file):
                self.gone(chunk.source_id)
                continue
            seen.add(chunk.text)
            best.append((chunk, near))
        return best


def _ranked(chunks: Sequence[StoredChunk], question: Question, cosines: Mapping[int, float]) -> list[Near]:
    near = [
        (chunk, similarity(cosines.get(chunk.number, 0.0), question.coverage(set(chunk.terms.split(" ")))))
        for chunk in chunks
    ]
    return sorted(near, key=lambda pair: -pair[1])


def _passage(chunk: StoredChunk, question: Question, near: float) -> Passage:
    rare = sorted(question.weights, key=lambda term: -question.weights[term])
    return Passage(
        chunk.document_id,
        chunk.path or chunk.name,
        snippet(chunk.text, rare),
        chunk.text,
        round(near, 3),
        chunk.heading,
        chunk.page,
    )
