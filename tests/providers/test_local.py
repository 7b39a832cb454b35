"""The embedded model, with the real runtime and a real model."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from local_models import GUARD_SECONDS, ManualClock, answer, ask, real_model, text

from odysseus.config import LocalConfig
from odysseus.errors import ProviderError
from odysseus.events import UsageReport
from odysseus.providers.base import AnsweredBy, Finished, ModelListing
from odysseus.providers.local import LocalProvider
from odysseus.providers.local_tools import LEAST_BYTES

pytestmark = pytest.mark.model

UNLOAD = 600.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A models folder with the same real model under two names."""
    model = real_model()
    for name in ("one", "two"):
        (tmp_path / f"{name}.gguf").symlink_to(model)
    return tmp_path


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def provider(folder: Path, clock: ManualClock) -> AsyncIterator[LocalProvider]:
    config = LocalConfig(model="one", context_length=2048, unload_seconds=UNLOAD)
    made = LocalProvider(config, folder, clock)
    async with asyncio.timeout(GUARD_SECONDS):
        yield made
        await made.close()


def processes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "local_worker.py" in " ".join(child.cmdline())]


async def gone(process: psutil.Process) -> bool:
    _, alive = await asyncio.to_thread(psutil.wait_procs, [process], GUARD_SECONDS)
    return not alive


async def drain(stream: AsyncIterator[object]) -> None:
    async for _ in stream:
        pass


async def until(holds: Callable[[], bool]) -> None:
    while True:
        if holds():
            return
        await asyncio.sleep(0.01)


async def test_an_answer_streams_in_pieces_and_ends_with_its_numbers(provider: LocalProvider) -> None:
    async with aclosing(provider.stream(ask())) as stream:
        batches = [batch async for batch in stream]
    *pieces, (usage, by, end) = batches
    assert len(pieces) > 3
    assert text([chunk for batch in pieces for chunk in batch])
    assert isinstance(usage, UsageReport)
    assert usage.input_tokens > 8
    assert (usage.output_tokens, usage.model, usage.estimated) == (12, "one", False)
    assert by == AnsweredBy("one")
    assert end == Finished("length", "length")


async def test_it_is_idle_then_loading_then_ready_and_the_loop_goes_on(provider: LocalProvider) -> None:
    states, turns = {provider.state()}, 0
    loading = asyncio.create_task(provider.preload())
    while not loading.done():
        await asyncio.sleep(0.01)
        states.add(provider.state())
        turns += 1
    await loading
    assert states == {"idle", "loading", "ready"}
    assert turns > 10
    assert provider.state() == "ready"


async def test_the_listing_has_the_configured_model_first_and_its_window(provider: LocalProvider) -> None:
    able = real_model().stat().st_size >= LEAST_BYTES
    expected = [ModelListing(name, 2048, tools=able, vision=False) for name in ("one", "two")]
    assert await provider.models() == expected


async def test_a_closed_stream_stops_the_model_so_that_the_next_request_starts_at_once(
    provider: LocalProvider,
) -> None:
    async with aclosing(provider.stream(ask(max_tokens=2000))) as stream:
        async for batch in stream:
            if text(batch):
                break
    before = processes()
    async with asyncio.timeout(10):
        assert text(await answer(provider, ask(max_tokens=1)))
    assert processes() == before


async def test_a_cancelled_task_stops_the_model_while_it_reads_the_prompt(provider: LocalProvider) -> None:
    await provider.preload()
    (process,) = processes()
    used = process.cpu_times().user
    task = asyncio.create_task(answer(provider, ask("word " * 1900)))
    await until(lambda: process.cpu_times().user > used + 0.05)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 2
    assert text(await answer(provider, ask()))


async def test_requests_wait_in_order_and_a_cancelled_one_leaves_the_queue(provider: LocalProvider) -> None:
    order: list[str] = []

    async def run(name: str) -> None:
        await answer(provider, ask(max_tokens=4))
        order.append(name)

    tasks = []
    for name in "abcd":
        tasks.append(asyncio.create_task(run(name)))
        await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.wait(tasks)
    assert tasks[1].cancelled()
    assert order == ["a", "c", "d"]
    assert len(processes()) == 1


async def test_the_memory_is_freed_after_the_quiet_time_and_the_next_request_loads_again(
    provider: LocalProvider, clock: ManualClock
) -> None:
    await answer(provider, ask())
    (process,) = processes()
    clock.advance(UNLOAD - 1)
    await answer(provider, ask())
    clock.advance(UNLOAD - 1)
    assert provider.state() == "ready"
    clock.advance(1)
    assert provider.state() == "idle"
    assert await gone(process)
    assert text(await answer(provider, ask()))
    assert provider.state() == "ready"


async def test_the_memory_is_never_freed_during_an_answer(provider: LocalProvider, clock: ManualClock) -> None:
    await provider.preload()
    pieces = 0
    async with aclosing(provider.stream(ask())) as stream:
        async for _ in stream:
            clock.advance(UNLOAD * 2)
            pieces += 1
    assert pieces > 3
    assert provider.state() == "ready"


async def test_a_prompt_over_the_window_is_refused_with_both_numbers(provider: LocalProvider) -> None:
    with pytest.raises(ProviderError, match=r"has \d{4} tokens, but the model's window holds 2048") as caught:
        await answer(provider, ask("word " * 3000))
    assert caught.value.status == 400
    assert text(await answer(provider, ask()))


async def test_another_model_takes_the_place_of_the_loaded_one(provider: LocalProvider) -> None:
    await answer(provider, ask())
    (first,) = processes()
    assert AnsweredBy("two") in await answer(provider, ask(model="two"))
    assert await gone(first)
    assert len(processes()) == 1


async def test_a_model_that_is_not_there_does_not_unload_the_one_that_is(provider: LocalProvider) -> None:
    await provider.preload()
    with pytest.raises(ProviderError, match="The model three is not installed") as caught:
        await answer(provider, ask(model="three"))
    assert caught.value.status == 503
    assert provider.state() == "ready"


async def test_a_process_that_dies_fails_its_request_and_not_the_next(provider: LocalProvider) -> None:
    stream = provider.stream(ask(max_tokens=2000))
    await anext(stream)
    processes()[0].kill()
    with pytest.raises(ProviderError, match="ended unexpectedly") as caught:
        await drain(stream)
    assert caught.value.retryable
    assert text(await answer(provider, ask()))


async def test_a_close_during_the_load_ends_it_at_once(provider: LocalProvider) -> None:
    loading = asyncio.create_task(answer(provider, ask()))
    await until(lambda: provider.state() == "loading")
    (process,) = processes()
    async with asyncio.timeout(1):
        await provider.close()
    with pytest.raises(ProviderError, match="closed"):
        await loading
    assert await gone(process)


async def test_a_process_that_dies_while_it_loads_says_so(provider: LocalProvider) -> None:
    loading = asyncio.create_task(answer(provider, ask()))
    await until(lambda: provider.state() == "loading")
    processes()[0].kill()
    with pytest.raises(ProviderError, match="ended while it loaded"):
        await loading
    assert provider.state() == "failed"
    assert text(await answer(provider, ask()))


async def test_a_close_during_an_answer_ends_it_and_refuses_those_who_wait(provider: LocalProvider) -> None:
    stream = provider.stream(ask(max_tokens=2000))
    await anext(stream)
    waiting = asyncio.create_task(answer(provider, ask()))
    await asyncio.sleep(0)
    async with asyncio.timeout(1):
        await provider.close()
    with pytest.raises(ProviderError, match="closed"):
        await drain(stream)
    with pytest.raises(ProviderError, match="closed"):
        await waiting
    assert processes() == []


async def test_the_runtimes_own_port_answers_nobody(provider: LocalProvider) -> None:
    await provider.preload()
    (port,) = [each.laddr.port for each in processes()[0].net_connections() if each.status == psutil.CONN_LISTEN]
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    with pytest.raises(urllib.error.HTTPError) as caught:
        await asyncio.to_thread(urllib.request.urlopen, url, body, GUARD_SECONDS)
    caught.value.close()
    assert caught.value.code == 401
