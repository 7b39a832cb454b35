"""Who may ask: the Host, the Origin and the token of every request, and the headers that keep the page closed.

Any page in the user's browser can reach a local port. It can neither name this server as its Host (rebinding) nor
hide its own Origin when it changes something.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import web

from odysseus.errors import Forbidden, OdysseusError
from odysseus.web.answers import Handler
from odysseus.web.cors import ALLOWED, Cors, preflight

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
COOKIE = "odysseus_token"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Unauthorized(OdysseusError):
    """The token is missing or wrong."""

    status = 401


@dataclass(frozen=True, slots=True)
class Guard:
    """What is let in. `hosts` are names without ports; an empty token means that none is needed."""

    bound: str
    hosts: frozenset[str]
    token: str = ""
    cors: Cors = field(default_factory=lambda: Cors({}))

    @web.middleware
    async def __call__(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check a request before it is routed anywhere."""
        self.check_host(request.headers.get("Host", ""))
        origin = self.cors.allowed(request)
        if not origin:
            check_origin(request)
        else:
            request[ALLOWED] = origin
            if request.method == "OPTIONS":
                return preflight()
        if self.token:
            self.check_token(request)
        return await handler(request)

    def check_host(self, host: str) -> None:
        """Raises Forbidden unless Host names this server."""
        name = host_name(host)
        allowed = name in self.hosts or name in LOOPBACK_NAMES or name == self.bound
        # Bound to every address, an address is as good as another: rebinding needs a name.
        if not allowed and not (is_unspecified(self.bound) and is_address(name)):
            raise Forbidden(
                "The Host of this request is not this server's. Add it to server.allowed_hosts to allow it."
            )

    def check_token(self, request: web.Request) -> None:
        """Raises Unauthorized unless the bearer token, the cookie or `?token=` is right."""
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        offered = bearer.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
        if request.path == "/" and "token" in request.query:
            offered = request.query["token"]
        if not hmac.compare_digest(offered.encode("utf-8", "replace"), self.token.encode()):
            raise Unauthorized(
                "This server needs its token: send it as a bearer token, or open the page with ?token=…."
            )


def check_origin(request: web.Request) -> None:
    """Raises Forbidden when another site's page asks: by its Origin for changes, by Sec-Fetch-Site for the API."""
    changes = request.method not in SAFE_METHODS
    origin = request.headers.get("Origin")
    if changes and origin is not None and _netloc(origin) != request.headers.get("Host", "").lower():
        raise Forbidden("Pages of other sites may not change anything here.")
    api = request.path.startswith("/api/")
    if (changes or api) and request.headers.get("Sec-Fetch-Site", "").lower() in {"cross-site", "same-site"}:
        raise Forbidden("Pages of other sites may not use this server.")


def _netloc(origin: str) -> str:
    """Host and port of an Origin as a Host header has them; empty for `null` and nonsense."""
    try:
        parts = urlsplit(origin)
        default = {"http": 80, "https": 443}.get(parts.scheme)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        return host if parts.port in {None, default} else f"{host}:{parts.port}"
    except ValueError:
        return ""


def host_name(host: str) -> str:
    """A Host header without its port and brackets, in lower case; empty when it is no host."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_address(name: str) -> bool:
    """Whether it is an IP address and no name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_unspecified(name: str) -> bool:
    """Whether it stands for every address of the machine."""
    return name == "" or (is_address(name) and ipaddress.ip_address(name).is_unspecified)


def is_loopback(name: str) -> bool:
    """Whether only this machine can reach it."""
    return name == "localhost" or (is_address(name) and ipaddress.ip_address(name).is_loopback)


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Close the page on every answer."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
