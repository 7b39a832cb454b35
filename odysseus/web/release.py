"""The page's files as one release: read together, without their comments, under one version.

The version is a part of each file's address, so that files of two releases never meet in one page. Knows no request.
"""

from __future__ import annotations

import hashlib
import json
import logging
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rcssmin import cssmin
from rjsmin import jsmin

log = logging.getLogger(__name__)

INDEX = "index.html"
SCRIPT = "app.js"
WORKER = "sw.js"
SHEET = "page.css"
"""The styles that the page names, in one file."""

KEPT = (".html", ".js", ".css", ".svg", ".webmanifest")
"""What the page cannot do without. Pictures are for who installs it."""

ADDRESSES = re.compile(r"(?<=[\"'`])/static/")
SHEET_LINK = re.compile(r'\s*<link rel="stylesheet" href="/static/([^"]+)">')
NESTED = re.compile(r"`[^`]*\$\{[^`}]*`")
"""A template within a template, whose white space the minifier takes for that of code: only comments leave its file."""
COMMENT = re.compile(r"^\s*/\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)
SCRIPT_TAG = re.compile(r'(\s*)<script type="module"')
IMPORT = re.compile(r"(?:^|[;\n}])(?:import|export)\b[^;\"'()]*[\"'](\.[^\"']+)[\"']")


@dataclass(frozen=True, slots=True)
class Release:
    """The files by their path in the folder, as they are sent before compression."""

    version: str
    files: Mapping[str, bytes]

    @property
    def prefix(self) -> str:
        """What the addresses of its files begin with."""
        return f"/static/v-{self.version}/"

    @property
    def worker(self) -> bytes:
        """The service worker, which is told what it keeps. Another release makes another text."""
        kept = [self.prefix + name for name in sorted(self.files) if name.endswith(KEPT) and name != WORKER]
        told = json.dumps({"version": self.version, "page": self.prefix + INDEX, "files": kept})
        return f"self.release={told};\n".encode() + self.files.get(WORKER, b"")


def read_sources(root: Path) -> dict[str, bytes]:
    """Every file of the folder by its path in it. Raises OSError."""
    return {name: (root / name).read_bytes() for name in sorted(stamps(root))}


def stamps(root: Path) -> dict[str, tuple[int, int]]:
    """When each file was changed, in nanoseconds, and its bytes: what tells whether to read again. Raises OSError."""
    found = {}
    for path in root.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            about = path.stat()
            found[path.relative_to(root).as_posix()] = (about.st_mtime_ns, about.st_size)
    return found


def make_release(sources: Mapping[str, bytes]) -> Release:
    """What is served of these files."""
    version = _version(sources)
    files = {name: _smaller(name, source) for name, source in sources.items()}
    if INDEX in files:
        index = sources[INDEX].decode()
        files[SHEET] = b"\n".join(files[name] for name in SHEET_LINK.findall(index))
        files[INDEX] = _page(index, files).encode()
    prefix = f"/static/v-{version}/"
    return Release(version, {name: _addressed(name, body, prefix) for name, body in files.items()})


def _version(sources: Mapping[str, bytes]) -> str:
    """A name for these very files, and for what this module makes of them."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name, source in sorted(sources.items()):
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()[:12]


def _smaller(name: str, source: bytes) -> bytes:
    """A script or a style without comments and white space; another file, or one that cannot be, as it is."""
    minify: Callable[[str], str] | None = {"js": jsmin, "css": cssmin}.get(name.rpartition(".")[2])
    if minify is None:
        return source
    try:
        text = source.decode()
        return (COMMENT.sub("", text) if NESTED.search(text) else minify(text)).encode()
    except ValueError:
        log.warning("static/%s could not be made smaller and is served as it is", name, exc_info=True)
        return source


def _page(index: str, files: Mapping[str, bytes]) -> str:
    """The page with one style sheet, and with its modules named, so that they load side by side."""
    page = SHEET_LINK.sub("", index)
    links = [f'<link rel="stylesheet" href="/static/{SHEET}">']
    links += [f'<link rel="modulepreload" href="/static/{name}">' for name in modules(SCRIPT, files)]
    return SCRIPT_TAG.sub(lambda tag: "".join(tag[1] + link for link in links) + tag[0], page, count=1)


def modules(name: str, files: Mapping[str, bytes]) -> list[str]:
    """A module and all that it imports at once, each after the one that names it first. `import()` is not followed."""
    found = [name]
    for module in found:
        found += [other for other in _imports(module, files) if other not in found]
    return found


def _imports(name: str, files: Mapping[str, bytes]) -> Iterator[str]:
    text = files.get(name, b"").decode(errors="replace")
    for path in dict.fromkeys(IMPORT.findall(text)):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _addressed(name: str, body: bytes, prefix: str) -> bytes:
    """The file with the addresses in it those of its release."""
    if not name.endswith((".html", ".css", ".js", ".webmanifest")):
        return body
    try:
        return ADDRESSES.sub(prefix, body.decode()).encode()
    except ValueError:
        return body
