"""How many tokens a model's window holds where nobody tells: the dated table of hosted models, else a careful guess."""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

UNKNOWN_HERE = 8_192
"""Of a server in the user's own network, which may have been started with little memory."""
UNKNOWN_HOSTED = 32_768
_OWN_NAMES = (".local", ".lan", ".internal", ".home", ".home.arpa", ".localhost")


@cache
def _table() -> Mapping[str, int]:
    table = tomllib.loads((files("odysseus.providers") / "windows.toml").read_text("utf-8"))["windows"]
    return {str(name): int(tokens) for name, tokens in table.items()}


def listed_window(host: str, model: str) -> int | None:
    """The published window of a hosted model; None when it is not in the table, or runs in the user's own network."""
    if is_near(host):
        return None
    name = model.rpartition("/")[2].lower()
    known = [key for key in _table() if name.startswith(key) and not name[len(key) :][:1].isalnum()]
    return _table()[max(known, key=len)] if known else None


def careful_window(host: str) -> int:
    """What a model that nobody knows surely holds."""
    return UNKNOWN_HERE if is_near(host) else UNKNOWN_HOSTED


def is_near(host: str) -> bool:
    """Whether a host, without its port, is this machine or in the user's own network. No host is this process."""
    name = host.rstrip(".").lower()
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return "." not in name or name.endswith(_OWN_NAMES)
    return address.is_private or address.is_loopback
