"""The calculator and the time, called as the loop calls them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contexts import context

from odysseus.tools.base import Tool, ToolError
from odysseus.tools.small import small_tools

WINTER = 1_769_853_900.0  # 2026-01-31 10:05:00 UTC
SUMMER = 1_783_000_000.0  # 2026-07-02 13:46:40 UTC


def tools(now: float = WINTER) -> Mapping[str, Tool]:
    return {tool.name: tool for tool in small_tools(lambda: now)}


async def call(folder: Path, name: str, now: float = WINTER, zone: str = "", **given: Any) -> str:
    tool = tools(now)[name]
    return str((await tool.run(tool.parse(given), context(folder, time_zone=zone))).output)


async def test_the_calculator_gives_the_value(tmp_path: Path) -> None:
    assert await call(tmp_path, "calculate", expression="(1/3 + 0.25) * 12") == "7"
    assert await call(tmp_path, "calculate", expression="1/3") == "1/3 ≈ 0.33333333333333333333"
    with pytest.raises(ToolError, match="Division by zero"):
        await call(tmp_path, "calculate", expression="1/0")
    with pytest.raises(ToolError, match="expression"):
        await call(tmp_path, "calculate", expression="1" * 1001)


@pytest.mark.parametrize(
    ("now", "zone", "own", "told"),
    [
        (WINTER, "", "", "Saturday, 2026-01-31T10:05:00+00:00 (UTC, UTC+00:00)"),
        (WINTER, "", "Europe/Oslo", "Saturday, 2026-01-31T11:05:00+01:00 (Europe/Oslo, UTC+01:00)"),
        (SUMMER, "", "Europe/Oslo", "Thursday, 2026-07-02T15:46:40+02:00 (Europe/Oslo, UTC+02:00)"),
        (WINTER, "", "Nowhere/At_All", "Saturday, 2026-01-31T10:05:00+00:00 (UTC, UTC+00:00)"),
        (
            WINTER,
            "America/St_Johns",
            "Europe/Oslo",
            "Saturday, 2026-01-31T06:35:00-03:30 (America/St_Johns, UTC-03:30)",
        ),
        (WINTER, "Pacific/Kiritimati", "", "Sunday, 2026-02-01T00:05:00+14:00 (Pacific/Kiritimati, UTC+14:00)"),
        (WINTER, " asia/kathmandu ", "", "Saturday, 2026-01-31T15:50:00+05:45 (Asia/Kathmandu, UTC+05:45)"),
        (WINTER, "america/new york", "", "Saturday, 2026-01-31T05:05:00-05:00 (America/New_York, UTC-05:00)"),
        (WINTER, "utc", "Europe/Oslo", "Saturday, 2026-01-31T10:05:00+00:00 (UTC, UTC+00:00)"),
    ],
)
async def test_the_time_is_told_where_the_user_is_or_asks_for(
    tmp_path: Path, now: float, zone: str, own: str, told: str
) -> None:
    assert await call(tmp_path, "current_time", now, own, timezone=zone) == told


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("Oslo", "Europe/Oslo"),
        ("Europe/Osla", "Europe/Oslo"),
        ("new york", "America/New_York"),
        ("Asia/Katmandoo", "Asia/Kat"),
        ("Lagoss", "Africa/Lagos"),
        ("qqqqq", "like Europe/Oslo"),
    ],
)
async def test_a_zone_that_is_not_known_is_told_with_those_near_it(tmp_path: Path, wanted: str, near: str) -> None:
    with pytest.raises(ToolError, match="There is no time zone") as told:
        await call(tmp_path, "current_time", timezone=wanted)
    assert near in told.value.message


@pytest.mark.parametrize(
    "wanted", ["../../etc/passwd", "/etc/passwd", "Europe", "Europe/../Europe/Oslo", "\0", "zone.tab", "x" * 100, "."]
)
async def test_no_name_leads_to_a_file(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(ToolError, match="There is no time zone"):
        await call(tmp_path, "current_time", timezone=wanted)


def test_utc_needs_no_database_of_zones(tmp_path: Path) -> None:
    code = "from odysseus.tools.small import _zone; print(_zone('', 'Europe/Oslo')[0], _zone('UTC', '')[0])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONTZPATH": "", "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    names = done.stdout.split()
    assert names[1] == "UTC"
    assert names[0] in {"UTC", "Europe/Oslo"}  # the latter where the package of zones is installed


def test_they_are_always_there() -> None:
    for tool in tools().values():
        assert (tool.effects, tool.policy, tool.reads_only) == (frozenset({"read"}), "allow", True)
