"""A tool's JSON schema made small: what a small model is asked to fill in, in the words that its grammar knows.

Pure: must not know how a decision is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from odysseus.providers.base import ToolSpec
from odysseus.providers.loose import as_list, as_mapping, as_text

_KEPT = ("type", "enum", "const", "required")
_DEEPEST = 6  # levels of a schema; what lies deeper may be anything
Schema = dict[str, Any]


def shown_properties(tool: ToolSpec) -> list[str]:
    """The arguments to fill in: those that must be there, for a small model fills in all it is shown; else all."""
    properties = as_mapping(tool.parameters.get("properties"))
    needed = [name for name in as_list(tool.parameters.get("required")) if name in properties]
    return needed or list(properties)


def call_schema(tool: ToolSpec) -> Schema:
    """The shape of a call of this tool: `tool` and `arguments`."""
    whole = _small(tool.parameters, _definitions(tool.parameters), 0)
    shown = shown_properties(tool)
    arguments = {
        "type": "object",
        "properties": {name: whole["properties"][name] for name in shown},
        "required": [name for name in shown if name in whole.get("required", ())],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}, "arguments": arguments},
        "required": ["tool", "arguments"],
    }


def _definitions(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a `$ref` of this schema may point at."""
    parts = ("$defs", "definitions")
    return {f"#/{part}/{name}": found for part in parts for name, found in as_mapping(schema.get(part)).items()}


def _small(schema: Any, definitions: Mapping[str, Any], depth: int) -> Schema:
    """The schema with types, choices, lists and properties only, and with references replaced."""
    given = as_mapping(schema)
    reference = as_text(given.get("$ref"))
    if depth > _DEEPEST:
        return {}
    if reference:
        return _small(definitions.get(reference), definitions, depth + 1)
    small: Schema = {name: given[name] for name in _KEPT if name in given}
    for name in ("anyOf", "oneOf"):
        if choices := as_list(given.get(name)):
            return {"anyOf": [_small(choice, definitions, depth + 1) for choice in choices]}
    if "items" in given:
        small["items"] = _small(given["items"], definitions, depth + 1)
    properties = as_mapping(given.get("properties"))
    if properties:
        small["properties"] = {name: _small(part, definitions, depth + 1) for name, part in properties.items()}
    if "required" in small:
        small["required"] = [name for name in as_list(small["required"]) if name in properties]
    return small
