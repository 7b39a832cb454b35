"""A model that steps in for another gets a prompt of its own: what its window has room for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from serving import Server, config_of, serving
from upstream import Upstream, calls

from odysseus.context.budget import estimate_tokens

SMALL = 4096
CONFIG = """
[chat]
endpoint = "large"
model = "large-model"
[[endpoints]]
id = "large"
kind = "openai"
base_url = "{url}"
context_length = 200000
[[endpoints]]
id = "small"
kind = "openai"
base_url = "{url}"
context_length = {small}
"""


def prompt_tokens(request: Any) -> int:
    """About how many the messages have."""
    return sum(estimate_tokens(str(message["content"])) for message in request.json["messages"])


async def with_fallback(server: Server) -> str:
    """A new session that has someone to step in."""
    session = await server.session()
    await server.call("PATCH", f"/api/session/{session}", json={"fallback": ["small/small-model"]})
    return session


@pytest.mark.parametrize("mode", ["chat", "agent"])
async def test_the_prompt_fits_the_smaller_window_of_who_steps_in(
    upstream: Upstream, tmp_path: Path, mode: str
) -> None:
    async with serving(config_of(CONFIG.format(url=upstream.base_url, small=SMALL)), tmp_path) as server:
        session = await with_fallback(server)
        for number in range(4):
            await (await server.send(session, f"Part {number}: " + "a long story of herons " * 300)).rest()
        upstream.reply(status=503)
        if mode == "agent":
            upstream.reply(calls(("get_time", {})))
        stream = await (await server.send(session, "And now the END?", mode=mode)).rest()
        kinds = stream.kinds
        assert kinds.index("fallback") < kinds.index("context_trimmed") < kinds.index("usage")
        told = [frame.data["data"] for frame in stream.frames if frame.kind == "context_trimmed"]
        assert {trimmed["context_length"] for trimmed in told} == {SMALL}
        refused, *answered = upstream.requests[4:]
        assert prompt_tokens(refused) > SMALL
        assert [request.json["model"] for request in answered] == ["small-model"] * (2 if mode == "agent" else 1)
        for request in answered:
            assert prompt_tokens(request) < SMALL
            assert any("END?" in str(message["content"]) for message in request.json["messages"])


async def test_a_prompt_that_fits_both_is_the_same_for_both(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(config_of(CONFIG.format(url=upstream.base_url, small=SMALL)), tmp_path) as server:
        upstream.reply(status=503)
        stream = await (await server.send(await with_fallback(server), "short")).rest()
        assert "fallback" in stream.kinds
        assert "context_trimmed" not in stream.kinds
        first, second = upstream.requests
        assert first.json["messages"] == second.json["messages"]
