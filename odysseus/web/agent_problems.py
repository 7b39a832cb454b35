"""Errors of the named agents as `application/problem+json` (agent stream contract, section 2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from odysseus.dialects.agent import ERRORS
from odysseus.errors import OdysseusError

PATHS = ("/agent/", "/sessions/", "/health", "/ready")
KINDS: Mapping[int, tuple[str, str]] = {
    400: ("invalid-request", "Invalid Request"),
    401: ("unauthorized", "Unauthorized"),
    403: ("forbidden", "Forbidden"),
    404: ("agent-not-found", "Agent Not Found"),
    405: ("method-not-allowed", "Method Not Allowed"),
    409: ("conflict", "Conflict"),
    413: ("payload-too-large", "Payload Too Large"),
    415: ("unsupported-media-type", "Unsupported Media Type"),
    429: ("too-many-sessions", "Too Many Sessions"),
    503: ("agent-not-ready", "Agent Not Ready"),
}
AGENT_ERROR = ("agent-error", "Agent Error")
RETRY_SECONDS = 5
_FIELD = re.compile(r"^Field '([^']*)'[: ]+(.*)$", re.DOTALL)


def speaks_problems(path: str) -> bool:
    """Whether errors at this address are told in this form."""
    return path.startswith(PATHS)


def agent_problem(path: str, message: str, status: int, error: OdysseusError | None = None) -> web.Response:
    """An error as a problem; a field that is named in the message is listed too."""
    slug, title = KINDS.get(status, AGENT_ERROR)
    body: dict[str, Any] = {
        "type": ERRORS + slug,
        "title": title,
        "status": status,
        "detail": message,
        "instance": path,
    }
    if status == 400 and (found := _FIELD.match(message)):
        body["errors"] = [{"field": found[1], "message": found[2]}]
    answer = web.Response(body=orjson.dumps(body), status=status, content_type="application/problem+json")
    if status in {429, 503}:
        answer.headers["Retry-After"] = str(round(getattr(error, "retry_after", None) or RETRY_SECONDS))
    return answer
