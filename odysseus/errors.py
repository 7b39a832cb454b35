"""Every error a user may meet: its words, its HTTP status, and whether trying again can help.

A message here is written for the user. It names what was wrong and what to do, and holds no path, key, address or
traceback; those go to the log.
"""

from __future__ import annotations


class OdysseusError(Exception):
    """Base of the tree. `status` is the HTTP status of the answer."""

    status = 500
    retryable = False

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if status is not None:
            self.status = status


class BadRequest(OdysseusError):
    """The request cannot be understood or is not allowed as it stands."""

    status = 400


class Forbidden(OdysseusError):
    """The Host, the Origin or the token is not one this server accepts."""

    status = 403


class NotFound(OdysseusError):
    """No such session, message, run or upload."""

    status = 404


class Conflict(OdysseusError):
    """The thing exists, but not in the state the request needs."""

    status = 409


class TooLarge(OdysseusError):
    """The body is over the limit."""

    status = 413


class UnsupportedMedia(OdysseusError):
    """A content type this call does not take."""

    status = 415


class TooMany(OdysseusError):
    """A limit of how many at once is reached. `retry_after` is in seconds."""

    status = 429
    retryable = True

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ShuttingDown(OdysseusError):
    """The server takes no new runs."""

    status = 503
    retryable = True


class StoreError(OdysseusError):
    """SQLite could not write or read: a full disk, a locked or damaged file."""

    status = 500


class ProviderError(OdysseusError):
    """A model endpoint failed. `status` is the provider's own, 504 for silence, 502 for the network or no answer.

    `retry_after` is the provider's wish in seconds; `unreachable` says that there was no connection at all.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 502,
        retryable: bool = False,
        retry_after: float | None = None,
        unreachable: bool = False,
    ) -> None:
        super().__init__(message, status=status)
        self.retryable = retryable
        self.retry_after = retry_after
        self.unreachable = unreachable


class ConfigError(OdysseusError):
    """A setting is unknown or wrong; the message names it in full. Ends the start with exit code 2."""
