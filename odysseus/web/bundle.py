"""The modules that a page starts with as one script, which compresses better and loads in one request.

Each module becomes a function with its own names; what it exports is kept under its path. A module that is loaded later
imports from the same addresses as before: there it finds what the script has made. Knows the few forms of import and
export that the page's own files use, and says so where it meets another. Knows no request.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

KEPT = "$modules"
"""What the script calls its modules: no module has such a name of its own."""

START = r"(?:^|(?<=[;}\n]))"
IMPORT = re.compile(START + r"import\s*(?:(?:\{([^}]*)\}|\*\s*as\s+([\w$]+))\s*from\s*)?[\"'](\.[^\"']+)[\"'];?")
EXPORT = re.compile(START + r"export\s+(?=(?:const|class|function|async\s+function)\s+([\w$]+))")
LATER = re.compile(r"\bimport\(\s*[\"'](\.[^\"']+)[\"']\s*\)")
LEFT = re.compile(START + r"(?:import\s*[\"'{*]|export\b)")


class NotBundled(ValueError):
    """A module has a form of import or export that is not known here."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module's text without imports and exports. `needs` are the paths of others, with what is taken of each."""

    body: str
    needs: tuple[tuple[str, str], ...]
    gives: tuple[str, ...]


def read_module(name: str, text: str) -> Module:
    """Take a module apart. Raises NotBundled."""
    needs = []
    for names, whole, path in IMPORT.findall(text):
        taken = whole or "{" + re.sub(r"\s+as\s+", ":", names.strip()) + "}"
        needs.append((_path(name, path), taken))
    body = IMPORT.sub("", text)
    gives = tuple(EXPORT.findall(body))
    body = LATER.sub(lambda found: f'import("./{_path(name, found[1])}")', EXPORT.sub("", body))
    if LEFT.search(body):
        raise NotBundled(f"{name} has an import or an export of another form")
    return Module(body, tuple(needs), gives)


def _path(name: str, path: str) -> str:
    """What a module means by a path, from the folder of all."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def bundle(start: str, script: str, files: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The text of `script`: `start` and all that it imports at once; and what stands at the address of each of these.

    Raises NotBundled, and graphlib.CycleError for modules that import each other.
    """
    modules: dict[str, Module] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in modules:
            if name not in files:
                raise NotBundled(f"{name} is not there")
            modules[name] = read_module(name, files[name])
            waiting += [path for path, _ in modules[name].needs]
    order = TopologicalSorter({name: [path for path, _ in module.needs] for name, module in modules.items()})
    text = "".join(_wrapped(name, modules) for name in order.static_order())
    return f"export const {KEPT}={{}};{text}", {name: _stub(name, module, script) for name, module in modules.items()}


def _wrapped(name: str, modules: Mapping[str, Module]) -> str:
    module = modules[name]
    for path, taken in module.needs:
        missing = {one.partition(":")[0].strip() for one in taken.strip("{}").split(",") if taken[0] == "{"} - {""}
        missing -= set(modules[path].gives)
        if missing:
            raise NotBundled(f"{name} takes what {path} does not give: {', '.join(sorted(missing))}")
    taken_all = "".join(f'const {taken}={KEPT}["{path}"];' for path, taken in module.needs if taken != "{}")
    return f'{KEPT}["{name}"]=(()=>{{{taken_all}{module.body}\nreturn{{{",".join(module.gives)}}}}})();\n'


def _stub(name: str, module: Module, script: str) -> str:
    """What a module that is loaded later finds at the address of one of the script."""
    path = posixpath.relpath(script, posixpath.dirname(name) or ".")
    path = path if path.startswith(".") else f"./{path}"
    names = ",".join(module.gives)
    return f'import{{{KEPT}}}from"{path}";export const{{{names}}}={KEPT}["{name}"];'
