"""Estimates and the cache of figures: near enough for text of every kind, and each text counted once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_models import ManualClock, real_model

from odysseus.config import LocalConfig
from odysseus.context.budget import MARGIN, estimate_tokens, room_of, with_margin
from odysseus.context.counting import Counter, TokenCache
from odysseus.errors import ConfigError
from odysseus.providers.local import LocalProvider

ROOT = Path(__file__).parents[2]
PROSE = "The ship left the harbour before dawn, and nobody on the quay remembered afterwards who had waved. " * 9
KINDS = {
    "prose": (PROSE, 0.75, 1.35),
    "code": ((ROOT / "odysseus/store/db.py").read_text("utf-8"), 0.75, 1.35),
    "json": ('{"id": "a1b2", "items": [{"name": "box", "size": 12, "open": false}, {"name": "lid"}]}\n' * 20, 0.7, 1.4),
    "numbers": ("184, 9912, 3, 77120, 5, 100433, 28\n" * 40, 0.6, 1.4),
    "german": ("Über den Häusern lag noch Nebel, als die Straßenbahn um die Ecke bog. " * 12, 0.5, 1.5),
    "chinese": ("早上的雾还没有散，码头上已经站满了等船的人。" * 20, 0.4, 1.8),
    "base64": ("q7Zt0Jk2LmXv9RpWcYb4HdGs1NfEuAoI8TgQ5yVx3KwDz6CjPhOlBnUiFeSrMa" * 12, 0.6, 1.5),
}


@pytest.mark.model
@pytest.mark.parametrize("kind", KINDS)
async def test_an_estimate_is_near_what_a_real_tokenizer_says(kind: str, tmp_path: Path) -> None:
    text, least, most = KINDS[kind]
    (tmp_path / "one.gguf").symlink_to(real_model())
    provider = LocalProvider(LocalConfig(model="one", context_length=512), tmp_path, ManualClock())
    await provider.preload()
    counted = await provider.count("one", [text])
    await provider.close()
    assert counted
    assert least <= estimate_tokens(text) / counted[0] <= most


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), (" ", 1), ("0123456789", 10), ("字", 1), ("字" * 40, 42), ("🚲" * 5, 10), ("\ud800", 1)],
)
def test_tokens_are_estimated_by_the_kinds_of_characters(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_a_longer_text_is_never_cheaper(one: str, two: str) -> None:
    assert estimate_tokens(f"{one} {two}") >= max(estimate_tokens(one), estimate_tokens(two)) * 0.9 - 1
    assert estimate_tokens(one) <= 3 * len(one.encode("utf-8", "replace")) + 1


@given(st.integers(0, 10**7))
def test_the_margin_makes_dearer(tokens: int) -> None:
    assert tokens * MARGIN <= with_margin(tokens) <= tokens * MARGIN + 1


@given(st.integers(1, 2_000_000), st.one_of(st.none(), st.integers(1, 10**6)))
def test_there_is_room_for_a_prompt_and_an_answer_in_every_window(window: int, limit: int | None) -> None:
    room = room_of(window, limit)
    assert room.prompt >= 1
    assert 0 <= room.answer <= window / 2
    if window > 100:
        assert room.prompt + room.answer < window


def test_a_window_without_a_token_is_refused() -> None:
    with pytest.raises(ConfigError):
        room_of(0)


async def test_each_text_is_counted_once_for_each_tokenizer() -> None:
    asked: list[list[str]] = []

    async def count(texts: Sequence[str]) -> Sequence[int]:
        asked.append(list(texts))
        return [len(text) for text in texts]

    cache = TokenCache()
    one, two = Counter(cache, "one", count), Counter(cache, "two", count)
    counts = await one.counted(["aa", "b", "aa"])
    assert (counts("aa"), counts("b"), counts.exact) == (2, 1, True)
    await one.counted(["b", "ccc"])
    await two.counted(["b"])
    assert asked == [["aa", "b"], ["ccc"], ["b"]]


async def test_where_nobody_counts_all_is_estimated_with_care() -> None:
    async def count(texts: Sequence[str]) -> None:
        return None

    for counter in (Counter(TokenCache()), Counter(TokenCache(), "m", count)):
        counts = await counter.counted([PROSE])
        assert not counts.exact
        assert counts(PROSE) == with_margin(estimate_tokens(PROSE))
        assert counts("another") == with_margin(estimate_tokens("another"))


async def test_the_cache_is_bounded_and_keeps_what_was_used_last() -> None:
    cache = TokenCache(most=100)
    counter = Counter(cache)
    await counter.estimated(["kept"])
    for number in range(500):
        await counter.estimated([f"text {number}", "kept"])
    assert len(cache) == 100
    assert len((await counter.estimated(["kept"])).figures) == 1


async def test_long_texts_are_estimated_beside_the_loop() -> None:
    counts = await Counter(TokenCache()).estimated([PROSE * 400])
    assert counts(PROSE * 400) == with_margin(estimate_tokens(PROSE * 400))
