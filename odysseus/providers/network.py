"""Why there is no connection to an endpoint, in words that a user may read: no address, no host.

Pure: must not know what was asked.
"""

from __future__ import annotations

import aiohttp

from odysseus.errors import ProviderError

_CLOSED = "The endpoint closed the connection before it answered."
_NETWORK_WORDS: tuple[tuple[type[aiohttp.ClientError], str], ...] = (
    (aiohttp.InvalidURL, "The endpoint's base URL is not valid."),
    (aiohttp.ClientConnectorDNSError, "The endpoint's host name was not found. Check its base URL and the network."),
    (aiohttp.ClientSSLError, "No secure connection to the endpoint: its certificate or its TLS is not accepted."),
    (aiohttp.ConnectionTimeoutError, "The endpoint did not take the connection in time. Check that it can be reached."),
    (aiohttp.ClientConnectorError, "The endpoint cannot be reached. Check that it runs, and its base URL."),
    (aiohttp.ClientResponseError, "The endpoint did not answer in HTTP. Check its base URL."),
)


# The numbers are OpenSSL's.
_CERTIFICATE_WORDS = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed",
    19: "is signed by an authority that this computer does not know",
    20: "is signed by an authority that this computer does not know",
    21: "is signed by an authority that this computer does not know",
    62: "is for another host name",
    64: "is for another address",
}


def network_error(error: aiohttp.ClientError) -> ProviderError:
    """Why there is no connection, in plain words and without the address."""
    words = _tls_words(error) or next((words for kind, words in _NETWORK_WORDS if isinstance(error, kind)), _CLOSED)
    unreachable = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    return ProviderError(words, retryable=not isinstance(error, aiohttp.InvalidURL), unreachable=unreachable)


def _tls_words(error: aiohttp.ClientError) -> str:
    """What is wrong with the secure connection, empty when it is something else or not known."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        code = getattr(error.certificate_error, "verify_code", 0)
        if code in _CERTIFICATE_WORDS:
            return f"No secure connection to the endpoint: its certificate {_CERTIFICATE_WORDS[code]}."
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        reason = getattr(error.os_error, "reason", None) or ""
        if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
            return "The endpoint does not speak TLS there. If it has none, begin its base URL with http://."
    return ""
