"""docs/tools.md against the code: every tool with its effects, its policy, its time, and whose text it gives."""

from __future__ import annotations

from pathlib import Path

from documents import names, page, rows, section
from serving import serving, upstream_config
from upstream import Upstream

from odysseus.agent.toolbox import PLANNING_TOOLS, SHELL_TOOLS, WEB_TOOLS, Wishes
from odysseus.tools.base import Tool

TABLE = {names(cells[0])[0]: cells for cells in rows(page("tools.md"))}


async def shelf(upstream: Upstream, data: Path, *, incognito: bool = False) -> list[Tool]:
    """All tools of a server with the default settings, and somebody who makes pictures."""
    config = upstream_config(upstream.base_url, images={"endpoint": "up"})
    async with serving(config, data) as server:
        return list(server.services.desk.toolbox(Wishes(incognito=incognito)).tools.values())


async def test_the_tools_page_has_every_tool_in_its_place_and_no_other(upstream: Upstream, tmp_path: Path) -> None:
    assert list(TABLE) == [tool.name for tool in await shelf(upstream, tmp_path)]


async def test_the_tools_page_tells_what_each_tool_may_do(upstream: Upstream, tmp_path: Path) -> None:
    told = {
        name: (set(names(effects)), names(policy)[0], outside, float(seconds))
        for name, (_, _, effects, policy, outside, seconds) in TABLE.items()
    }
    assert told == {
        tool.name: (set(tool.effects), tool.policy, "yes" if tool.outside else "no", tool.seconds)
        for tool in await shelf(upstream, tmp_path)
    }


async def test_the_tools_page_says_what_is_off_in_an_incognito_chat(upstream: Upstream, tmp_path: Path) -> None:
    off = set(TABLE) - {tool.name for tool in await shelf(upstream, tmp_path, incognito=True)}
    assert off == {name for name in TABLE if name.endswith(("_document", "_memory", "_image"))}
    assert "documents, memory and pictures are off" in section(page("tools.md"), "Incognito")


def test_what_a_message_can_turn_off_is_on_the_page() -> None:
    assert set(TABLE) >= PLANNING_TOOLS | SHELL_TOOLS | WEB_TOOLS
