"""The description against the routes, and against the rules for such documents."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from jsonschema import Draft202012Validator
from openapi_schemas import DOCUMENT, SCHEMAS, operations
from openapi_spec_validator import validate
from serving import Server, serving, upstream_config
from upstream import Upstream

from odysseus.web.openapi.operation import Operation
from odysseus.web.openapi.operations import OPERATIONS, TAGS
from odysseus.web.routes import routes

STEPS = [(operation.id, operation) for operation in OPERATIONS]


def address(route: web.RouteDef) -> tuple[str, str]:
    return route.method.lower(), re.sub(r"\{(\w+):[^}]*\}", r"{\1}", route.path)


def test_every_route_has_one_entry_and_there_are_no_others() -> None:
    described = [(operation.method, operation.path) for operation in OPERATIONS]
    assert sorted(described) == sorted(address(route) for route in routes())


def test_the_document_is_valid() -> None:
    validate(DOCUMENT)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_component_is_a_valid_schema_with_no_field_unexplained(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    bare = [
        field
        for field, schema in SCHEMAS[name].get("properties", {}).items()
        if not schema.get("description")
        and "$ref" not in schema
        and len(schema.get("enum", ())) != 1
        and not all("$ref" in one for one in schema.get("anyOf", [{}]))
    ]
    assert bare == []


def test_every_reference_leads_to_something() -> None:
    referenced = set(re.findall(r"#/components/(\w+)/(\w+)", repr(DOCUMENT)))
    assert {(kind, name) for kind, name in referenced if name not in DOCUMENT["components"][kind]} == set()
    assert {name for kind, name in referenced if kind == "schemas"} == set(SCHEMAS)


@pytest.mark.parametrize(("name", "operation"), STEPS)
def test_every_parameter_of_a_path_is_described(name: str, operation: Operation) -> None:
    told = [parameter.name for parameter in operation.parameters if parameter.where == "path"]
    assert told == re.findall(r"\{(\w+)\}", operation.path), name
    assert all(parameter.description for parameter in operation.parameters)


def test_names_are_given_once_and_tags_are_known() -> None:
    assert len({operation.id for operation in OPERATIONS}) == len(OPERATIONS)
    assert {operation.tag for operation in OPERATIONS} == set(TAGS)


def test_every_error_is_told_in_the_words_of_its_family() -> None:
    for _, path, operation in operations():
        family = "AgentProblem" if re.match(r"/(agent|sessions|health|ready)\b", path) else "Problem"
        errors = [answer["$ref"] for status, answer in operation["responses"].items() if "$ref" in answer]
        assert errors
        assert all(re.fullmatch(rf"#/components/responses/{family}\d+", error) for error in errors)


@pytest.mark.parametrize(
    ("text", "fits"),
    [("01ARZ3NDEKTSV4RRFFQ69G5FAV", True), ("7zzzzzzzzzzzzzzzzzzzzzzzzz", True)]
    + [
        (text, False)
        for text in (
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "01ARZ3NDEKTSV4RRFFQ69G5FA",
            "01ARZ3NDEKTSV4RRFFQ69G5FAU",
            "x",
            "01ARZ3NDEKTSV4RRFFQ69G5FAVV",
        )
    ],
)
async def test_the_server_takes_the_session_ids_that_are_described(server: Server, text: str, fits: bool) -> None:
    (parameter,) = DOCUMENT["paths"]["/sessions/{session_id}"]["delete"]["parameters"]
    assert bool(re.search(parameter["schema"]["pattern"], text)) == fits
    async with server.http.delete(f"{server.url}/sessions/{text}") as response:
        assert response.status == (204 if fits else 400)


def test_a_form_for_an_agent_has_the_fields_of_its_json() -> None:
    assert set(SCHEMAS["AgentForm"]["properties"]) == set(SCHEMAS["AgentBody"]["properties"])


async def read(server: Server, path: str, **kwargs: Any) -> tuple[int, str, bytes]:
    async with server.http.get(server.url + path, **kwargs) as response:
        return response.status, response.content_type, await response.read()


async def test_the_server_serves_the_document(server: Server) -> None:
    status, kind, body = await read(server, "/openapi.json")
    assert (status, kind) == (200, "application/json")
    assert len(body) > 10_000
    assert await server.get("/openapi.json") == DOCUMENT


async def test_the_description_needs_the_token_too(upstream: Upstream, tmp_path: Path) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path, token="secret") as server:
        for path in ("/openapi.json", "/docs"):
            assert (await read(server, path))[0] == 401
            assert (await read(server, path, headers={"Authorization": "Bearer secret"}))[0] == 200
