"""The shelf: tools made late and once, and names that are known without them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from serving import serving, upstream_config
from upstream import Upstream

from odysseus.errors import ConfigError
from odysseus.tools.base import Tool
from odysseus.tools.process import OFFERED
from odysseus.tools.shelf import EVERYWHERE, Shelf
from odysseus.tools.small import small_tools

ROOT = Path(__file__).parents[2]


def test_a_start_imports_no_family_of_tools() -> None:
    program = """
import sys, server, odysseus.launch
families = ["families", "edits", "files", "shell", "small", "web_fetch", "web_search", "documents", "memory"]
sys.exit(any(f"odysseus.tools.{name}" in sys.modules for name in families))
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


async def test_the_names_known_beforehand_are_those_that_every_server_has(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        there = {tool.name for tool in server.services.shelf.tools()}
    assert there == EVERYWHERE | ({"bash", "python"} if OFFERED else set())


async def test_tools_are_made_once_and_not_for_names_that_are_known_anyway() -> None:
    made: list[Sequence[Tool]] = []

    def make() -> Sequence[Tool]:
        made.append(small_tools(time.time))
        return made[-1]

    shelf = Shelf(make)
    assert shelf.unnamed(["edit_file", "server__tool"]) == []
    assert not made
    await asyncio.gather(*(shelf.preload() for _ in range(5)))
    assert shelf.unnamed(["calculate", "no_tool", "bash"]) == ["no_tool", "bash"]
    assert [tuple(shelf.tools())] == [tuple(tools) for tools in made]


async def test_a_named_agent_with_a_tool_that_is_not_there_ends_the_start(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(upstream.base_url, **{"agents.a": {"tools": ["calculate", "no_tool"]}})
    with pytest.raises(ConfigError, match=r"agents\.a\.tools: there is no tool 'no_tool'"):
        async with serving(config, tmp_path):
            pass
