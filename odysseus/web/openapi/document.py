"""The OpenAPI document: the operations and their types, put together. Pure; it takes a few milliseconds, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import orjson

from odysseus import __version__
from odysseus.web.guard import COOKIE
from odysseus.web.openapi.operation import JSON, Answer, Body, Operation, Parameter, Problems
from odysseus.web.openapi.operations import OPERATIONS, TAGS, UNIONS, UNNAMED
from odysseus.web.openapi.run_shapes import REF

Json = dict[str, Any]

INTRODUCTION = (
    "Every call of this server. When it has a token, send it as a bearer token, or in the cookie that its page keeps. "
    "Pages of other sites are refused."
)


@cache
def document_bytes() -> bytes:
    """The document as JSON."""
    return orjson.dumps(document())


def document() -> Json:
    """The document, made anew."""
    schemas = Schemas(OPERATIONS)
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Odysseus", "version": __version__, "description": INTRODUCTION},
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": words} for name, words in TAGS.items()],
        "security": [{}, {"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": _problem_answers(OPERATIONS, schemas),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "The server's token"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": "The token, kept by the page",
                },
            },
        },
    }


class Schemas:
    """The schemas of all types that operations name; `of` gives that of one type, by reference where it has a name."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._kinds = [*dict.fromkeys(_kinds(operations)), *UNIONS.values(), *UNNAMED]
        found, components = msgspec.json.schema_components(self._kinds, ref_template=REF)
        self._found = list(found)
        self.components: Json = orjson.loads(orjson.dumps(dict(sorted(components.items()))))
        for name, kind in UNIONS.items():
            self.components[name] = {"title": name, **self.of(kind)}

    def of(self, kind: Any) -> Json:
        """The schema of a type, or of a component by its name."""
        if isinstance(kind, str):
            return {"$ref": REF.format(name=kind)}
        return dict(self._found[self._kinds.index(kind)])

    def of_form(self, kind: Any) -> Json:
        """The same for a form, where arrays and objects are JSON in a string."""
        schema = self.components[kind.__name__]
        properties = {name: _as_text(value) for name, value in schema["properties"].items()}
        if properties == schema["properties"]:
            return self.of(kind)
        name = f"{kind.__name__}Form"
        self.components[name] = {**schema, "title": name, "properties": properties}
        return self.of(name)


def _as_text(schema: Json) -> Json:
    if schema.get("type") != "array":
        return schema
    return {
        "type": "string",
        "description": f"{schema.get('description', 'An array')}, as JSON in a string",
        "contentMediaType": JSON,
        "contentSchema": {key: value for key, value in schema.items() if key not in {"description", "default"}},
    }


def _kinds(operations: Iterable[Operation]) -> Iterable[Any]:
    for operation in operations:
        yield from (parameter.kind for parameter in operation.parameters)
        yield operation.problems.kind
        if operation.body:
            yield from (kind for kind in (operation.body.kind, operation.body.form) if kind)
        for answer in operation.answers.values():
            yield from answer.content.values()
            yield str


def _operation(operation: Operation, schemas: Schemas) -> Json:
    told: Json = {"operationId": operation.id, "tags": [operation.tag], "summary": operation.summary}
    if operation.description:
        told["description"] = operation.description
    if operation.parameters:
        told["parameters"] = [_parameter(parameter, schemas) for parameter in operation.parameters]
    if operation.body:
        told["requestBody"] = _body(operation.body, schemas)
    told["responses"] = {
        **{str(status): _answer(answer, schemas) for status, answer in operation.answers.items()},
        **{str(status): {"$ref": _problem_ref(operation.problems, status)} for status in operation.statuses},
    }
    return told


def _parameter(parameter: Parameter, schemas: Schemas) -> Json:
    told: Json = {
        "name": parameter.name,
        "in": parameter.where,
        "description": parameter.description,
        "schema": schemas.of(parameter.kind),
    }
    if parameter.where == "path":
        told["required"] = True
    if parameter.example is not None:
        told["example"] = parameter.example
    return told


def _body(body: Body, schemas: Schemas) -> Json:
    content: Json = {}
    for media in body.media:
        if media == JSON or body.form:
            schema = schemas.of(body.kind if media == JSON else body.form)
        else:
            schema = schemas.of_form(body.kind)
        content[media] = {"schema": schema}
    if body.example is not None:
        content[JSON]["example"] = dict(body.example)
    return {"required": body.required, "content": content}


def _answer(answer: Answer, schemas: Schemas) -> Json:
    told: Json = {"description": answer.description}
    if answer.content:
        told["content"] = {media: {"schema": schemas.of(kind)} for media, kind in answer.content.items()}
    if answer.headers:
        told["headers"] = {
            name: {"description": words, "schema": schemas.of(str)} for name, words in answer.headers.items()
        }
    return told


def _problem_ref(problems: Problems, status: int) -> str:
    return f"#/components/responses/{problems.name}{status}"


def _problem_answers(operations: Iterable[Operation], schemas: Schemas) -> Json:
    """One answer for each status that a family of calls may fail with."""
    used: Mapping[str, tuple[Problems, int]] = {
        f"{operation.problems.name}{status}": (operation.problems, status)
        for operation in operations
        for status in operation.statuses
    }
    return {
        name: _answer(_problem_answer(problems, status), schemas) for name, (problems, status) in sorted(used.items())
    }


def _problem_answer(problems: Problems, status: int) -> Answer:
    return Answer(problems.reasons[status], {problems.media: problems.kind}, problems.headers.get(status, {}))
