"""Which addresses the web tools may fetch."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver
from hypothesis import given
from hypothesis import strategies as st

from odysseus.tools.addresses import NotPublic, PublicResolver, check_url, is_public
from odysseus.tools.base import ToolError

LOOPBACK = [
    "http://127.0.0.1/",
    "http://127.8.9.10:8080/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0X7F.0.0.1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0x7f.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://127.0.0.1./",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
    "http://１２７.０.０.１/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://127．0．0．1/",
    "http://127%2e0%2e0%2e1/",
    "http://%31%32%37.0.0.1/",
]
INSIDE = [
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0251.0376.169.254/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://198.18.0.1/",
    "http://203.0.113.9/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[fec0::1]/",
    "http://[fc00::1]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
]
TRICKS = [
    "http:/\\127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http:///127.0.0.1/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http://user@example.com/",
    "http://example.com:80@127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http://127.0.0.1\\.example.com/",
    "http://example.com#@127.0.0.1:x/\x00",
    "http://exam\tple.com/",
    "http://example.com\r\nHost: inside/",
    "http://example.com/\nX: y",
    "http://example.com ./",
    "http://ex ample.com/",
    "http://example.com/\ud800",
    "http://example.com:99999/",
    "http://example.com:-1/",
    "http://example.com:８０８０a/",
    "http://example.com／@127.0.0.1/",
    "http://[::1/",
    "http://::1/",
    "http://[::1]x/",
    "http://1.2.3.4.5/",
    "http://1.2.3.400/",
    "http://08.8.8.8/",
    "http://example.0x7f/",
    "http://./",
    "http:///",
    "http://",
]
NO_WEB = ["file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "javascript:alert(1)", "example.com", ""]


@pytest.mark.parametrize("address", LOOPBACK + INSIDE + TRICKS + NO_WEB)
def test_no_notation_leads_inside(address: str) -> None:
    with pytest.raises(ToolError):
        check_url(address)


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("https://example.com/", "https://example.com/"),
        (" HTTPS://Example.COM./a?b=c#d ", "https://example.com/a?b=c"),
        ("http://8.8.8.8:8080/x", "http://8.8.8.8:8080/x"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("http://[64:ff9b::808:808]/", "http://[64:ff9b::808:808]/"),
        ("https://bücher.de/ä", "https://xn--bcher-kva.de/%C3%A4"),
        ("https://ｅxample.com/", "https://example.com/"),
        ("https://example.com/a@b?c=http://127.0.0.1/", "https://example.com/a@b?c=http://127.0.0.1/"),
        ("https://1password.com/", "https://1password.com/"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
    ],
)
def test_a_public_address_is_brought_to_one_form(address: str, meant: str) -> None:
    assert str(check_url(address)) == meant


@pytest.mark.parametrize("port", [22, 25, 3306, 5432, 6379, 6667, 11211])
def test_ports_of_other_services_are_refused(port: int) -> None:
    with pytest.raises(ToolError, match="port"):
        check_url(f"http://example.com:{port}/")


@pytest.mark.parametrize("port", [80, 443, 3000, 8000, 8443, 9999])
def test_ports_of_the_web_are_open(port: int) -> None:
    assert check_url(f"http://example.com:{port}/").port == port


def test_an_exemption_is_for_just_that_host() -> None:
    hosts = ("127.0.0.1", "Wiki.Lan", "[::1]")
    for good in ("http://127.0.0.1:81/", "http://wiki.lan/", "http://WIKI.lan.:8080/", "http://[::1]:9000/"):
        assert check_url(good, hosts)
    for bad in ("http://127.0.0.2/", "http://127.1/", "http://2130706433/", "http://[::ffff:127.0.0.1]/"):
        with pytest.raises(ToolError):
            check_url(bad, hosts)


def test_an_exemption_with_a_port_is_for_just_that_port() -> None:
    hosts = ("127.0.0.1:6379", "[::1]:9000", "wiki.lan:80")
    for good in ("http://127.0.0.1:6379/", "http://[::1]:9000/", "http://wiki.lan/"):
        assert check_url(good, hosts)
    for bad in ("http://127.0.0.1/", "http://127.0.0.1:63790/", "http://[::1]:900/"):
        with pytest.raises(ToolError):
            check_url(bad, hosts)


def test_the_refusal_names_the_setting() -> None:
    with pytest.raises(ToolError, match="allow_hosts"):
        check_url("http://192.168.1.1/")


@given(st.ip_addresses(v=4))
def test_nothing_that_python_calls_special_is_public(address: ipaddress.IPv4Address) -> None:
    if not address.is_global or address.is_multicast:
        assert not is_public(str(address))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_within_ipv6_is_no_more_public_than_itself(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    nat64 = ipaddress.IPv6Address((0x64FF9B << 96) + number)
    assert is_public(str(nat64)) == is_public(str(address))
    for hidden in ((0xFFFF << 32) + number, number, (0x2002 << 112) + (number << 80)):
        assert not is_public(str(ipaddress.IPv6Address(hidden)))


class Scripted(AbstractResolver):
    """A name server that gives its answers one after the other."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> Any:
        self.asked.append(host)
        return [
            {"hostname": host, "host": text, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
            for text in self.answers.pop(0)
        ]

    async def close(self) -> None:
        return


async def test_a_resolver_keeps_only_public_answers() -> None:
    found = await PublicResolver((), Scripted(["10.0.0.1", "8.8.8.8", "::1", "fe80::1%eth0"])).resolve("a.test", 80)
    assert [entry["host"] for entry in found] == ["8.8.8.8"]


async def test_a_name_with_only_inner_addresses_does_not_resolve() -> None:
    with pytest.raises(NotPublic):
        await PublicResolver((), Scripted(["169.254.169.254", "127.0.0.1"])).resolve("a.test", 80)


async def test_an_exempted_name_may_lead_inside() -> None:
    resolver = PublicResolver(("wiki.lan:80",), Scripted(["10.0.0.1"], ["10.0.0.1"]))
    assert (await resolver.resolve("wiki.lan", 80))[0]["host"] == "10.0.0.1"
    with pytest.raises(NotPublic):
        await resolver.resolve("wiki.lan", 81)


async def test_the_system_resolver_does_not_lead_to_this_machine() -> None:
    resolver = PublicResolver(())
    with pytest.raises(NotPublic):
        await resolver.resolve("localhost", 80)
    await resolver.close()
