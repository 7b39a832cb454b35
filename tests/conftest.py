"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings
from serving import Server, serving, upstream_config
from upstream import Upstream

pytest_plugins = ["extract_fixtures", "little_web"]

# A slow machine is no fault of a property, and the suite has to stay short.
settings.register_profile("suite", max_examples=40, deadline=None)
settings.load_profile("suite")


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    """A scripted model server."""
    async with Upstream() as running:
        yield running


@pytest.fixture
async def server(upstream: Upstream, tmp_path: Path) -> AsyncIterator[Server]:
    """The application, with the scripted upstream as its only endpoint."""
    async with serving(upstream_config(upstream.base_url), tmp_path / "data") as running:
        yield running
