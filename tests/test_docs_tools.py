"""docs/tools.md against the code: every tool with its effects, its policy, its time, and whose text it gives."""

from __future__ import annotations

from pathlib import Path

from documents import names, page, rows, section
from serving import serving, upstream_config
from upstream import Upstream

from odysseus.agent.pictures import picture_maker
from odysseus.agent.toolbox import PLANNING_TOOLS, SHELL_TOOLS, WEB_TOOLS, Wishes, choose_tools
from odysseus.store.documents import DocumentStore
from odysseus.store.memories import MemoryStore
from odysseus.tools.base import Tool
from odysseus.tools.families import own_tools
from odysseus.tools.shelf import Stores

TABLE = {names(cells[0])[0]: cells for cells in rows(page("tools.md"))}


async def shelf(upstream: Upstream, data: Path, *, incognito: bool = False) -> list[Tool]:
    """What a message is offered by a server with the default settings, and somebody who makes pictures."""
    async with serving(upstream_config(upstream.base_url, images={"endpoint": "up"}), data) as server:
        given = server.services
        documents, memories = DocumentStore(given.db, given.clock), MemoryStore(given.db, given.clock)
        stores = Stores(given.changes, documents, memories, given.uploads)
        painter = picture_maker(given.config.images, given.router.configs)
        tools = own_tools(given.config, stores, given.clock, painter)
        there = {tool["name"] for tool in (await server.get("/api/tools"))["tools"]}
    assert {tool.name for tool in tools} == there
    return list(choose_tools(tools, Wishes(incognito=incognito)).tools.values())


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
