"""Small tools that are always there: a calculator, and the time."""

from __future__ import annotations

import asyncio
import difflib
import zoneinfo
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Annotated

from msgspec import Meta

from odysseus.text import clean_text
from odysseus.tools.arithmetic import LENGTH_LIMIT, calculate
from odysseus.tools.base import Arguments, Tool, ToolContext, ToolError, ToolResult, make_tool
from odysseus.tools.exact import CalculationError, show

ZONE_LIMIT = 100
MOST_NEAR = 5


class Calculate(Arguments, frozen=True):
    """Arguments of calculate."""

    expression: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LENGTH_LIMIT,
            description="Like (1/3 + 0.25) * 2**10. + - * / // % ** ( ) and sqrt abs round floor ceil min max sum "
            "log(x, base=10) ln exp sin cos tan (radians) factorial pi e.",
        ),
    ]


class CurrentTime(Arguments, frozen=True):
    """Arguments of current_time."""

    timezone: Annotated[str, Meta(max_length=ZONE_LIMIT, description="Like Europe/Oslo; empty for the user's own.")] = (
        ""
    )


def small_tools(now: Callable[[], float]) -> Sequence[Tool]:
    """The small tools; `now` gives the time in seconds since the epoch."""

    async def time(given: CurrentTime, context: ToolContext) -> ToolResult:
        wanted = clean_text(given.timezone).strip()
        name, zone = await asyncio.to_thread(_zone, wanted, context.time_zone)
        moment = datetime.fromtimestamp(now(), UTC).astimezone(zone)
        offset = moment.strftime("%z")
        return ToolResult(
            f"{_WEEKDAYS[moment.weekday()]}, {moment.isoformat(timespec='seconds')} "
            f"({name}, UTC{offset[:3]}:{offset[3:5]})"
        )

    return (
        make_tool(
            "calculate",
            "Work out an expression exactly. Use it for any arithmetic.",
            Calculate,
            _calculate,
            ["read"],
            seconds=10.0,
        ),
        make_tool(
            "current_time",
            "Tell the date, weekday and time now, for the user or in a time zone.",
            CurrentTime,
            time,
            ["read"],
            seconds=10.0,
        ),
    )


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


async def _calculate(given: Calculate, _: ToolContext) -> ToolResult:
    return ToolResult(await asyncio.to_thread(_worked_out, given.expression))


def _worked_out(expression: str) -> str:
    try:
        return show(calculate(expression))
    except CalculationError as error:
        raise ToolError(error.message) from error


def _zone(wanted: str, own: str) -> tuple[str, tzinfo]:
    """A zone with its name: the one that is wanted, else the user's own, else UTC. Raises ToolError."""
    if wanted:
        name = _known().get(_folded(wanted))
        if name is None:
            raise ToolError(f"There is no time zone {wanted!r}. {_near(wanted)}")
    else:
        name = _known().get(_folded(own), "UTC")
    return name, UTC if name == "UTC" else zoneinfo.ZoneInfo(name)


def _near(wanted: str) -> str:
    """Names that were perhaps meant: those with the same words in them, then those spelt alike."""
    known, folded = _known(), _folded(wanted)
    cities = {name.rpartition("/")[2]: name for name in known}
    within = [name for name in known if len(folded) > 2 and folded in name]
    last = folded.rpartition("/")[2]
    alike = [cities[city] for city in difflib.get_close_matches(last, cities, MOST_NEAR)]
    near = list(dict.fromkeys([*sorted(within), *alike, *difflib.get_close_matches(folded, known, MOST_NEAR)]))
    if not near:
        return "Zones are named by region and city, like Europe/Oslo."
    return f"Perhaps {', '.join(known[name] for name in near[:MOST_NEAR])}?"


def _folded(name: str) -> str:
    return "_".join(name.split()).casefold()


@cache
def _known() -> dict[str, str]:
    """Every zone's name by its folded form. UTC is there even without a database of zones."""
    return {_folded(name): name for name in sorted({*zoneinfo.available_timezones(), "UTC"})}
