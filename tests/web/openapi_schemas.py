"""The document as tests use it: its schemas closed, so that a field that nobody described is found."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from odysseus.web.openapi.document import document

DOCUMENT = document()
SCHEMAS: Mapping[str, Any] = DOCUMENT["components"]["schemas"]


def closed() -> dict[str, Any]:
    """The components, where an object has no other fields than its own."""
    schemas = copy.deepcopy(dict(SCHEMAS))
    for schema in schemas.values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return schemas


_CLOSED = {"schemas": closed()}


def check(value: Any, schema: Mapping[str, Any]) -> None:
    """Raises AssertionError that says where `value` is not as the schema has it."""
    validator = Draft202012Validator({**schema, "components": _CLOSED})
    error = best_match(validator.iter_errors(value))
    if error is not None:
        raise AssertionError(f"{error.json_path}: {error.message[:500]}")


def component(name: str) -> Mapping[str, Any]:
    """A schema that is this component."""
    return {"$ref": f"#/components/schemas/{name}"}


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Method, path and entry of every call."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation
