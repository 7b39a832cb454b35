"""Values of JSON that nobody has checked: each is what it should be, or nothing.

Pure: must not know a vendor's words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> Sequence[Any]:
    """The list, else an empty one."""
    return value if isinstance(value, list) else ()


def as_text(value: Any) -> str:
    """The string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """A finite number that is not negative, as a whole one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return int(value)


def as_object_text(arguments: str) -> str:
    """JSON text of an object to the letter, else `{}`: for a call that is shown to a model again."""
    try:
        return arguments if isinstance(orjson.loads(arguments), dict) else "{}"
    except orjson.JSONDecodeError:
        return "{}"


def without_surrogates(value: Any) -> Any:
    """The same JSON value with nothing in it that UTF-8 cannot hold; the halves of a pair are joined."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {without_surrogates(name): without_surrogates(inner) for name, inner in value.items()}
    return [without_surrogates(inner) for inner in value] if isinstance(value, list) else value
