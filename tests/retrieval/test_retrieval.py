"""Questions to the index: passages, ranks of other texts, and what happens when the vectors fail."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from libraries import Shelf, WordVectors, shelf, write

from odysseus.errors import ProviderError

FILES = {
    f"{name}.md": f"# {name}\n\nThe {name} sleeps on the ice. Common words are here.\n" for name in ("seal", "orca")
}


async def indexed(tmp_path: Path, library: Shelf, files: dict[str, str]) -> None:
    await library.add(write(tmp_path / "files", dict(files)))


def worker() -> psutil.Process:
    (found,) = [one for one in psutil.Process().children() if "embedding_worker.py" in " ".join(one.cmdline())]
    return found


async def unload(library: Shelf) -> None:
    """End the process of vectors, and wait until that is known."""
    os.kill(worker().pid, signal.SIGKILL)
    async with asyncio.timeout(30):
        while library.library.loaded:
            await asyncio.sleep(0)


async def test_a_passage_has_what_the_contract_asks_for(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data", WordVectors()) as library:
        await indexed(tmp_path, library, FILES)
        first, *_ = await library.library.retrieval.passages("Where does the seal sleep?", 6)
        assert (first.filename, first.heading) == ("seal.md", "seal")
        assert first.snippet in " ".join(first.text.split())
        assert len(first.snippet) <= 200
        assert 0 < first.similarity <= 1


async def test_at_most_k_passages_come_and_none_twice(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data", WordVectors()) as library:
        same = {f"{number}.txt": "The seal sleeps." for number in range(5)}
        await indexed(tmp_path, library, {**same, "other.txt": "A seal is awake."})
        names = await library.found("seal", 6)
        assert len(names) == 2
        assert len(await library.found("seal", 1)) == 1


async def test_what_is_far_is_searched_but_not_given(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data", WordVectors(), similarity=0.9) as library:
        await indexed(tmp_path, library, FILES)
        assert await library.library.retrieval.search("ice cream", 5)
        assert await library.library.retrieval.passages("ice cream", 5) == []


async def test_a_crash_of_the_process_costs_no_answer(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data", WordVectors()) as library:
        await indexed(tmp_path, library, FILES)
        assert await library.found("seal", 1) == ["seal.md"]
        os.kill(worker().pid, signal.SIGKILL)
        assert await library.found("seal", 1) == ["seal.md"]
        assert await library.found("seal", 1, words=False) == ["seal.md"]
        assert library.library.retrieval.mode() == ("hybrid", "")


async def test_new_vectors_are_found_by_a_process_that_runs(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data", WordVectors()) as library:
        await indexed(tmp_path, library, FILES)
        assert await library.found("walrus", 1, words=False) != ["walrus.md"]
        pid = worker().pid
        await indexed(tmp_path, library, {"walrus.md": "walrus walrus walrus"})
        assert await library.found("walrus", 1, words=False) == ["walrus.md"]
        (tmp_path / "files" / "walrus.md").unlink()
        await indexed(tmp_path, library, {})
        assert "walrus.md" not in await library.found("walrus", 9, words=False)
        assert worker().pid == pid


async def test_the_model_ranks_texts_by_meaning(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data") as library:
        await library.library.retrieval.warm()
        texts = ["The user has a dog named Rex.", "The user works as a nurse.", "The user is allergic to nuts."]
        scores = await library.library.retrieval.rank("What is my pet called?", texts)
        assert max(range(3), key=lambda place: scores[place]) == 0
        assert all(0 <= score <= 1 for score in scores)
        assert await library.library.retrieval.rank("", texts) == [0.0, 0.0, 0.0]
        assert await library.library.retrieval.rank("pet", []) == []


async def test_while_the_model_loads_words_have_to_do_and_then_meanings_count(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data") as library:
        await indexed(tmp_path, library, {"pet.txt": "The dog is called Rex.", "work.txt": "She is a nurse."})
        retrieval = library.library.retrieval
        await unload(library)
        begun = time.monotonic()
        assert [one.filename for one in await retrieval.passages("dog", 1)] == ["pet.txt"]
        assert (await retrieval.rank("dog", ["My dog.", "My car."]))[0] > 0
        assert time.monotonic() - begun < 1.5  # loading the model takes longer, and goes on
        await retrieval.warm()
        assert library.library.loaded
        assert await library.found("What is my pet called?", 1, words=False) == ["pet.txt"]


async def test_an_opened_chat_loads_the_model_where_there_is_a_library(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data") as library:
        await indexed(tmp_path, library, {"pet.txt": "The dog is called Rex."})
        await unload(library)
        library.library.warm()
        async with asyncio.timeout(30):
            while not library.library.loaded:
                await asyncio.sleep(0)


class Broken(WordVectors):
    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        raise ProviderError("The endpoint could not be reached.")


async def test_without_vectors_texts_are_ranked_by_their_words(tmp_path: Path) -> None:
    async with shelf(tmp_path / "data", Broken()) as library:
        scores = await library.library.retrieval.rank("green tea", ["She likes green tea.", "We have tea.", "42"])
        assert scores[0] > scores[1] > scores[2] == 0


async def test_texts_that_were_ranked_are_not_embedded_again(tmp_path: Path) -> None:
    remote = WordVectors()
    async with shelf(tmp_path / "data", remote) as library:
        texts = [f"fact {number}" for number in range(20)]
        await library.library.retrieval.rank("fact 3", texts)
        await library.library.retrieval.rank("fact 4", texts)
        assert sorted(remote.texts) == sorted(texts)


@pytest.mark.parametrize("vector", [[0.0] * 64, [float("nan")] * 64, []])
async def test_vectors_that_are_none_leave_the_words(tmp_path: Path, vector: list[float]) -> None:
    class Odd(WordVectors):
        async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
            return [vector for _ in texts]

    async with shelf(tmp_path / "data", Odd()) as library:
        await indexed(tmp_path, library, FILES)
        assert await library.found("seal", 1) == ["seal.md"]
        assert library.library.retrieval.mode()[0] == "words"
