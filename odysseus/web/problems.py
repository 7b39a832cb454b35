"""The last word on errors: each becomes one JSON answer fit for a user; the rest goes to the log."""

from __future__ import annotations

import logging

from aiohttp import web

from odysseus.errors import OdysseusError
from odysseus.web.agent_problems import agent_problem, speaks_problems
from odysseus.web.answers import Handler, json_answer

log = logging.getLogger(__name__)

_BEGUN = web.RequestKey("answer_begun", bool)
_WORDS = {404: "There is nothing at this address.", 405: "This address does not take this method."}


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn what a handler raises into `{"error", "status"}`."""
    try:
        return await handler(request)
    except OdysseusError as error:
        _check_unsent(request, error)
        if error.status >= 500:
            log.warning("%s %s: %s", request.method, request.path, error.message)
        return _problem(request, error.message, error.status, error)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        answer = _problem(request, _WORDS.get(error.status, error.reason), error.status)
        if "Allow" in error.headers:
            answer.headers["Allow"] = error.headers["Allow"]
        return answer
    except ConnectionError:
        raise  # the client is gone: nobody is left to answer
    except Exception as error:
        log.exception("%s %s met an unexpected error", request.method, request.path)
        _check_unsent(request, error)
        return _problem(request, "The server met an error of its own. The log has the details.", 500)


async def note_begun(request: web.Request, _: web.StreamResponse) -> None:
    """For the signal on_response_prepare: from now on there is no other answer than this one."""
    request[_BEGUN] = True


def _check_unsent(request: web.Request, error: Exception) -> None:
    """Cut an answer that has begun, so that the client neither waits for the rest nor takes a part for all."""
    if _BEGUN in request:
        log.warning("%s %s: the answer was cut off: %s", request.method, request.path, type(error).__name__)
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionResetError("the answer was cut off") from error


def _problem(request: web.Request, message: str, status: int, error: OdysseusError | None = None) -> web.Response:
    """An error in the form of the dialect that is spoken at this address."""
    if speaks_problems(request.path):
        return agent_problem(request.path, message, status, error)
    return problem(message, status)


def problem(message: str, status: int) -> web.Response:
    """An error as the contract has it (chat stream, section 1)."""
    return json_answer({"error": message, "status": status}, status)
