"""What a request cost: the dated table of list prices, and the arithmetic. A price that is not known is never zero."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from odysseus.config import Price
from odysseus.events import UsageReport

MILLION = 1_000_000
# A dated or "latest" release of a model costs what the model costs: gpt-4o-2024-08-06, claude-sonnet-4-20250514.
_RELEASE = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|latest)$")


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files("odysseus.providers") / "pricing.toml").read_text("utf-8"))


def price_of(host: str, model: str, own: Mapping[str, Price]) -> Price | None:
    """The user's own price of this model, else the list price of the host that bills it, else None."""
    name = _RELEASE.sub("", model)
    for key in (model, name):
        if key in own:
            return own[key]
    listed = _table().get(host, {})
    found = listed.get(model) or listed.get(name) if isinstance(listed, dict) else None
    return Price(**found) if found else None


def cost_of(usage: UsageReport, price: Price) -> float:
    """Dollars. Cached input is part of the input tokens and has its own price."""
    cached = min(usage.cached_input_tokens or 0, usage.input_tokens)
    rate = price.input if price.cached is None else price.cached
    dollars = (usage.input_tokens - cached) * price.input + cached * rate + usage.output_tokens * price.output
    return round(dollars / MILLION, 8)
