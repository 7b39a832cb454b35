"""The right passage is found: a labelled set of questions, asked by words, by meaning, and by both."""

from __future__ import annotations

import asyncio
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from libraries import Shelf, shelf, write

SET: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("labelled.toml").read_text("utf-8"))
HALVES: Mapping[str, Mapping[str, bool]] = {"hybrid": {}, "words": {"meanings": False}, "meanings": {"words": False}}


@dataclass(frozen=True)
class Figures:
    """For each way of asking the place of the right document by question, 0 for none; what strangers got."""

    places: Mapping[str, Sequence[int]]
    held: Mapping[str, Sequence[int]]
    given: Sequence[bool]
    strangers: Sequence[bool]

    def recall(self, way: str, most: int, *, held: bool = False) -> float:
        places = (self.held if held else self.places)[way]
        return sum(0 < place <= most for place in places) / len(places)

    def missed(self, way: str) -> Counter[str]:
        pairs = zip(SET["questions"], self.places[way], strict=True)
        return Counter(question["kind"] for question, place in pairs if not 0 < place <= 5)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    """Everything is asked once, of one process."""
    return asyncio.run(_measured(tmp_path_factory.mktemp("quality")))


async def _measured(folder: Path) -> Figures:
    files = {document["name"]: document["text"].strip() + "\n" for document in SET["documents"]}
    write(folder / "library", files)
    async with shelf(folder / "data") as library:
        await library.add(folder / "library")
        retrieval = library.library.retrieval
        assert retrieval.mode() == ("hybrid", "")
        places = {
            way: [await _place(library, one, **halves) for one in SET["questions"]] for way, halves in HALVES.items()
        }
        held = {way: [await _place(library, one, **halves) for one in SET["held"]] for way, halves in HALVES.items()}
        given = [
            question["answer"] in {passage.filename for passage in await retrieval.passages(question["text"], 6)}
            for question in SET["questions"]
        ]
        strangers = [bool(await retrieval.passages(stranger["text"], 6)) for stranger in SET["strangers"]]
    return Figures(places, held, given, strangers)


async def _place(library: Shelf, question: Mapping[str, str], **halves: bool) -> int:
    names = await library.found(question["text"], 10, **halves)
    return names.index(question["answer"]) + 1 if question["answer"] in names else 0


def test_the_set_is_large_and_of_many_kinds() -> None:
    assert len(SET["documents"]) >= 40
    assert len(SET["questions"]) >= 40
    kinds = Counter(question["kind"] for question in SET["questions"])
    assert min(kinds[kind] for kind in ("paraphrase", "language", "exact", "plain")) >= 4


@pytest.mark.parametrize("held", [False, True])
def test_nine_of_ten_answers_are_among_the_first_five(figures: Figures, held: bool) -> None:
    assert figures.recall("hybrid", 5, held=held) >= 0.9, figures.missed("hybrid")


@pytest.mark.parametrize("half", ["words", "meanings"])
@pytest.mark.parametrize("most", [1, 5])
@pytest.mark.parametrize("held", [False, True])
def test_both_together_are_better_than_either_half(figures: Figures, half: str, most: int, held: bool) -> None:
    assert figures.recall("hybrid", most, held=held) > figures.recall(half, most, held=held)


def test_exact_names_and_plain_words_are_always_found(figures: Figures) -> None:
    assert not {"exact", "plain"} & set(figures.missed("hybrid"))
    assert not {"exact", "plain"} & set(figures.missed("words"))


def test_what_is_given_to_a_model_holds_the_answer_mostly_and_strangers_get_little(figures: Figures) -> None:
    assert sum(figures.given) / len(figures.given) >= 0.8
    assert sum(figures.strangers) / len(figures.strangers) <= 0.4
