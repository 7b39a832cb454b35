"""Which addresses the web tools may fetch: http and https on the public internet, and what the user has exempted.

Knows addresses and names, and nothing of what is fetched. A URL is brought to one strict form before it is judged, so
that the host that was judged is the one connected to; a name is judged once more by what it resolves to.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Collection
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from aiohttp.abc import AbstractResolver
from aiohttp.resolver import DefaultResolver
from yarl import URL

from odysseus.tools.base import ToolError

LONGEST_URL = 2048

# The IANA registries of special-purpose addresses, multicast, and public addresses where clouds keep their secrets.
_CLOSED = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
203.0.113.0/24 224.0.0.0/3
"""
# Of IPv6 only the global unicast block is open; in it: Teredo and its like, examples, and 6to4, which hides an IPv4.
_OPEN_6 = ipaddress.IPv6Network("2000::/3")
_CLOSED_WITHIN_6 = "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20"
# What an IPv6-only network makes of public IPv4 addresses.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Ports where no web server listens but other services read what a request says: those that browsers refuse, and stores.
_OTHER_PORTS = """
0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137
139 143 161 179 389 427 445 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1433
1521 1719 1720 1723 2049 2379 3306 3389 3659 4045 4190 5060 5061 5432 5672 5900 6000 6379 6566 6665 6666 6667 6668 6669
6679 6697 9042 10080 11211 27017
"""
_CLOSED_4 = [ipaddress.IPv4Network(text) for text in _CLOSED.split()]
_CLOSED_6 = [ipaddress.IPv6Network(text) for text in _CLOSED_WITHIN_6.split()]
_CLOSED_PORTS = frozenset(int(text) for text in _OTHER_PORTS.split())

_URL = re.compile(r"(https?)://([^/?#]+)(.*)", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]@%/?#\\\s]+)(:[0-9]{1,5})?", re.ASCII)
_UNWRITTEN = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)

_ODD = (
    "The address is not one that can be fetched. It must be written in full, like https://example.com/page, "
    "with no user name, backslash or control character."
)
_NOT_PUBLIC = (
    "The address is not on the public internet, so it is not fetched. "
    "The user can allow its host in the setting [web] allow_hosts."
)


class NotPublic(OSError):
    """A name that leads to no address that may be fetched."""


def check_url(text: str, allow_hosts: Collection[str] = ()) -> URL:
    """The URL as it may be requested, without its fragment. Raises ToolError that says why it may not."""
    url = _parse(text)
    host, port = url.raw_host or "", url.port or 0
    if is_exempt(host, port, allow_hosts):
        return url
    if port in _CLOSED_PORTS:
        raise ToolError("Web pages are not served on this port, so it is not fetched.")
    if _is_number(host) and not is_public(host):
        raise ToolError(_NOT_PUBLIC)
    return url


def is_exempt(host: str, port: int, allow_hosts: Collection[str]) -> bool:
    """Whether the user's setting names this host, or this host with this port. IPv6 may stand in brackets."""
    spelled = f"[{host}]" if ":" in host else host
    return not {host, spelled, f"{spelled}:{port}"}.isdisjoint(entry.lower() for entry in allow_hosts)


def is_public(text: str) -> bool:
    """Whether an IP address, in its usual notation, is one of the public internet."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_4)
    return _is_public_6(address)


class PublicResolver(AbstractResolver):
    """Resolves names to public addresses only; those of exempted hosts to any. Raises NotPublic when none is left.

    aiohttp connects to just what this gives, so a name that changes between a check and the connection gains nothing.
    """

    def __init__(
        self,
        allow_hosts: Collection[str],
        inner: AbstractResolver | None = None,
        judge: Callable[[str], bool] = is_public,
    ) -> None:
        self._allow_hosts = allow_hosts
        self._inner = inner or DefaultResolver()
        self._judge = judge

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> Any:
        found = await self._inner.resolve(host, port, family)
        if is_exempt(host, port, self._allow_hosts):
            return found
        public = [entry for entry in found if self._judge(entry["host"])]
        if not public:
            raise NotPublic(_NOT_PUBLIC)
        return public

    async def close(self) -> None:
        await self._inner.close()


def _parse(text: str) -> URL:
    """The URL with its host in its one usual form. Anything that two readers could take differently is refused."""
    text = text.strip(" ")
    found = _URL.fullmatch(text)
    if found is None and not text.lower().startswith(("http:", "https:")):
        raise ToolError("Only addresses that begin with http:// or https:// can be fetched.")
    if len(text) > LONGEST_URL:
        raise ToolError(f"The address is longer than {LONGEST_URL} characters.")
    if found is None or _UNWRITTEN.search(text) or "\\" in text.partition("?")[0]:
        raise ToolError(_ODD)
    scheme, authority, rest = found.groups()
    spelled = _AUTHORITY.fullmatch(unicodedata.normalize("NFKC", authority).replace("\u3002", ".").lower())
    if spelled is None:
        raise ToolError(_ODD)
    return _build(scheme.lower(), spelled[1].removesuffix("."), spelled[2] or "", rest)


def _build(scheme: str, host: str, port: str, rest: str) -> URL:
    try:
        url = URL(f"{scheme}://{host}{port}{rest}").with_fragment(None)
    except ValueError as error:
        raise ToolError(_ODD) from error
    name = url.raw_host or ""
    if not (_is_usual_number(name) if _is_number(name) else _NAME.fullmatch(name)):
        raise ToolError(_ODD)
    return url


def _is_number(host: str) -> bool:
    """Whether a host stands for an IP address in any notation: as browsers see it, by its last part."""
    return ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def _is_usual_number(host: str) -> bool:
    """Whether an IP address is written as everybody writes it, so that nobody can read another one."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def _is_public_6(address: IPv6Address) -> bool:
    if address.scope_id:
        return False
    if address in _NAT64:
        return is_public(str(IPv4Address(address.packed[-4:])))
    return address in _OPEN_6 and not any(address in network for network in _CLOSED_6)
