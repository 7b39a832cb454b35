"""The embedded model as an agent, end to end: a real model, a real call of a real tool, over both dialects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from local_models import real_model
from serving import Server, serving

from odysseus.config import load_config

DEFAULT_SIZE = 400_000_000
SECONDS = 110

pytestmark = pytest.mark.model


@pytest_asyncio.fixture
async def shipped(tmp_path: Path) -> AsyncIterator[Server]:
    """The server as it is shipped, with its model."""
    folder = real_model(DEFAULT_SIZE).parent
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models").symlink_to(folder, target_is_directory=True)
    async with serving(load_config(None, {}), tmp_path / "data") as server:
        yield server


async def test_it_calls_a_tool_and_answers_from_its_result(shipped: Server) -> None:
    session = await shipped.session()
    async with asyncio.timeout(SECONDS):
        stream = await shipped.send(session, "What is 17 * 23? Use the calculate tool.", mode="agent")
        while await stream._read():
            pass
    rows: list[dict[str, Any]] = [frame.data for frame in stream.frames if frame.kind == "tool_output"]
    assert [(row["tool"], row["exit_code"]) for row in rows][:1] == [("calculate", 0)], stream.kinds
    assert "391" in rows[0]["output"]
    assert "391" in stream.text
    assert stream.record["status"] == "completed"


async def test_the_shipped_agent_answers_other_programs(shipped: Server) -> None:
    body = {"message": "Say hello in one short sentence."}
    async with (
        asyncio.timeout(SECONDS),
        shipped.http.post(f"{shipped.url}/agent/support/chat/stream", json=body) as answer,
    ):
        raw = (await answer.read()).decode()
    kinds = [line[7:] for line in raw.splitlines() if line.startswith("event: ")]
    assert (kinds[0], kinds[-1]) == ("stream_start", "stream_end"), raw
    data = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: ")]
    assert "".join(event.get("delta", "") for event in data).strip()
