"""Which addresses an endpoint may have: anything but link-local and the metadata services of clouds.

A base URL there would hand a machine's own credentials to whoever can add an endpoint. Names are checked again when
they are resolved, so that no name leads there either.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver
from aiohttp.resolver import DefaultResolver

from odysseus.errors import BadRequest

METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"})
METADATA_ADDRESSES = frozenset({"169.254.169.254", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "168.63.129.16"})
_BASE_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?", re.IGNORECASE)


def check_base_url(text: str) -> str:
    """The base URL without its last slash. Raises BadRequest that says what an address looks like."""
    url = text.strip().rstrip("/")
    if not _BASE_URL.fullmatch(url) or not _host(url):
        raise BadRequest("The address must be like http://127.0.0.1:11434/v1, without a name or key in it.")
    if is_forbidden_host(_host(url)):
        raise BadRequest("The address is link-local or a cloud's metadata service. No model answers there.")
    return url


def _host(url: str) -> str:
    """The host of a URL, empty when it has none or the port is no number."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "") if parts.port != 0 else ""
    except ValueError:
        return ""


def is_forbidden_host(host: str) -> bool:
    """Whether a host, as a name or as an address in any notation, is one of those."""
    name = host.rstrip(".").lower()
    return name in METADATA_NAMES or is_forbidden_address(_address_of(name))


def is_forbidden_address(text: str) -> bool:
    """Whether an IP address is link-local or a metadata service's; False for what is no address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
    return inner.is_link_local or str(inner) in METADATA_ADDRESSES


def _address_of(host: str) -> str:
    """Old notations, like 0xA9FEA9FE, 2852039166 or 0251.0376.169.254, as the usual one."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host


class SafeResolver(AbstractResolver):
    """The usual resolver, without answers that no endpoint may have."""

    def __init__(self) -> None:
        self._inner = DefaultResolver()

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> Any:
        found = await self._inner.resolve(host, port, family)
        allowed = [entry for entry in found if not is_forbidden_address(entry["host"])]
        if not allowed:
            raise OSError(None, "the name leads to an address that is not allowed")
        return allowed

    async def close(self) -> None:
        await self._inner.close()
