"""The words in which a call of the server is described: parameters, bodies, answers. They know no call by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

from odysseus.web.openapi.answers import Problem

JSON = "application/json"
EVENTS = "text/event-stream"
MULTIPART = "multipart/form-data"
FORMS = (JSON, MULTIPART, "application/x-www-form-urlencoded")

Binary = Annotated[str, Meta(extra_json_schema={"contentMediaType": "application/octet-stream"})]

Where = Literal["path", "query", "header"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value beside the body. `kind` is its type; those in the path are always required."""

    name: str
    where: Where
    description: str
    kind: Any = str
    example: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent. `media` are the content types that mean the same; `form` is the type of forms, where it differs."""

    kind: Any
    media: Sequence[str] = FORMS
    form: Any = None
    required: bool = True
    example: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes back with one status: types by content type, none for no body; and headers with their meaning."""

    description: str
    content: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problems:
    """How a family of calls tells errors, what each status means there, and which have headers with what meaning."""

    name: str
    media: str
    kind: Any
    reasons: Mapping[int, str]
    always: Sequence[int]
    headers: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


API = Problems(
    "Problem",
    JSON,
    Problem,
    {
        400: "The request cannot be read, or a value in it is missing or wrong",
        401: "The server has a token, and this request has not",
        403: "The Host or the Origin is not this server's",
        404: "There is no such thing",
        409: "It is not in the state that this needs",
        413: "The body is over `server.max_body_bytes`, or a file over `uploads.max_file_bytes`",
        415: "The body has another content type",
        500: "A fault of the server; its log has the details",
        503: "The server is shutting down, or the database is locked by another program",
        507: "The disk is full",
    },
    always=(401, 403, 500, 503),
)
READS_BODY = (400, 413, 415)
CHANGES = (404, 507)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call. `errors` are the statuses beside those that any call of its family may have."""

    method: str
    path: str
    id: str
    tag: str
    summary: str
    answers: Mapping[int, Answer]
    description: str = ""
    parameters: Sequence[Parameter] = ()
    body: Body | None = None
    errors: Sequence[int] = ()
    problems: Problems = API

    @property
    def statuses(self) -> Sequence[int]:
        """Every status that tells an error."""
        of_body = READS_BODY if self.body else ()
        return sorted({*self.errors, *of_body, *self.problems.always} - set(self.answers))


def said(description: str, kind: Any, *, status: int = 200) -> Mapping[int, Answer]:
    """The usual answer: JSON of a type."""
    return {status: Answer(description, {JSON: kind})}


FILE = {
    206: Answer("The asked range of it"),
    304: Answer("Not changed since"),
    412: Answer("It is not as the request demands"),
    416: Answer("There is no such range"),
}


def of_file(description: str, *media: str) -> Mapping[int, Answer]:
    return {200: Answer(description, dict.fromkeys(media, Binary)), **FILE}
