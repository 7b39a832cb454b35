"""Fixtures of the store's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from store.databases import Stores, opened


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    """A new database."""
    async with opened(tmp_path / "db.sqlite3") as made:
        yield made
