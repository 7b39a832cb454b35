"""The embedded model's own tokenizer, beside a generation and without one, with the real runtime."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from local_models import GUARD_SECONDS, ManualClock, answer, ask, real_model, text

from odysseus.config import LocalConfig
from odysseus.providers.local import LocalProvider

pytestmark = pytest.mark.model

TEXTS = ["", "a", "Hello, how are you?", "0123456789", "字" * 40, "word " * 3000, '{"quoted": "\\n"}']


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[LocalProvider]:
    (tmp_path / "one.gguf").symlink_to(real_model())
    made = LocalProvider(LocalConfig(model="one", context_length=2048), tmp_path, ManualClock())
    async with asyncio.timeout(GUARD_SECONDS):
        yield made
        await made.close()


async def test_it_counts_what_the_runtime_counts(provider: LocalProvider) -> None:
    assert await provider.count("one", TEXTS) is None
    await provider.preload()
    counted = await provider.count("one", TEXTS)
    assert counted is not None
    assert counted[0] == 0
    assert 1 <= counted[2] <= 8
    assert 3000 <= counted[5] <= 3100
    assert await provider.count("", TEXTS) == counted
    assert await provider.count("two", TEXTS) is None


async def test_it_counts_in_the_middle_of_an_answer_which_goes_on(provider: LocalProvider) -> None:
    await provider.preload()
    alone = await provider.count("one", TEXTS)
    pieces = 0
    async with aclosing(provider.stream(ask(max_tokens=40))) as stream:
        async for batch in stream:
            if text(batch):
                pieces += 1
                if pieces in {1, 5}:
                    assert await provider.count("one", TEXTS) == alone
    assert pieces > 5
    assert text(await answer(provider, ask(max_tokens=1)))


async def test_counts_at_once_each_get_their_own(provider: LocalProvider) -> None:
    await provider.preload()
    counted = await asyncio.gather(*(provider.count("one", ["word " * n]) for n in range(1, 20)))
    assert [found[0] for found in counted if found] == sorted(found[0] for found in counted if found)
    assert None not in counted


async def test_when_the_process_dies_it_does_not_say(provider: LocalProvider) -> None:
    await provider.preload()
    engine = provider._engine
    assert engine
    counting = asyncio.create_task(provider.count("one", ["word " * 200_000]))
    await asyncio.sleep(0)
    engine.kill()
    assert await counting is None
    assert await provider.count("one", ["a"]) is None
    assert text(await answer(provider, ask(max_tokens=1)))
