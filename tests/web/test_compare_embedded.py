"""Two embedded models in one comparison: they share one engine, and each gives its answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from local_models import real_model
from serving import Stream, serving

from odysseus.config import load_config
from odysseus.models import catalogue

SECONDS = 110

pytestmark = pytest.mark.model


async def whole(stream: Stream) -> Stream:
    """Read to the end, however slow the model is."""
    while await stream._read():
        pass
    return stream


async def test_two_embedded_models_answer_one_after_the_other(tmp_path: Path) -> None:
    folder = real_model().parent
    names = [model.name for model in sorted(catalogue.installed(folder), key=lambda model: model.size)[:2]]
    if len(names) < 2:
        pytest.skip("only one embedded model is installed")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models").symlink_to(folder, target_is_directory=True)
    async with serving(load_config(None, {}), tmp_path / "data") as server, asyncio.timeout(SECONDS):
        panes = [{"endpoint_id": "local", "model": name} for name in names]
        made = await server.post("/api/compare", {"panes": panes, "blind": True})
        sent = [
            await server.send(pane["session"], "Say hello in one short sentence.", compare_mode=True)
            for pane in made["panes"]
        ]
        streams = await asyncio.gather(*map(whole, sent))
        assert [stream.record["status"] for stream in streams] == ["completed"] * 2
        assert all(stream.text.strip() for stream in streams)
        first, second = (stream.record["timing"] for stream in streams)
        assert first["finished_at"] < second["finished_at"]
        assert second["time_to_first_token"] >= first["total_time"] - 1
        assert not [name for name in names for stream in streams if name in str(stream.record)]
        await server.post(f"/api/compare/{made['id']}/vote", {"vote": "tie"})
        shown = await server.get(f"/api/compare/{made['id']}")
        told = [pane["history"][1]["metadata"]["model"] for pane in shown["panes"]]
        assert sorted(told) == sorted(names)
