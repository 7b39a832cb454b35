"""The page's files as one release: read together, without their comments, under one version.

The version is a part of each file's address, so that files of two releases never meet in one page. Knows no request.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from graphlib import CycleError
from pathlib import Path

from rcssmin import cssmin
from rjsmin import jsmin

from odysseus.web.bundle import NotBundled, bundle

log = logging.getLogger(__name__)

INDEX = "index.html"
SCRIPTS = {"app.js": "page.js", "docs.js": "docs.page.js"}
"""What a page starts with, and the name of the script that is made of it and of all that it imports."""

WORKER = "sw.js"
SHEET = "page.css"
"""The styles that the page names, in one file."""

KEPT = (".html", ".js", ".css", ".svg", ".webmanifest")
"""What the page cannot do without. Pictures are for who installs it."""

ADDRESSES = re.compile(r"(?<=[\"'`])/static/")
SHEET_TAG = f'<link rel="stylesheet" href="/static/{SHEET}">'
SHEET_LINK = re.compile(r'\s*<link rel="stylesheet" href="/static/([^"]+)">')
NESTED = re.compile(r"`[^`]*\$\{[^`}]*`")
"""A template within a template, whose white space the minifier takes for that of code: only comments leave its file."""
COMMENT = re.compile(r"^\s*/\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)
SCRIPT_TAG = re.compile(r'<script type="module" src="/static/([^"]+)">')


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
    apart = dict(files)
    for start, script in SCRIPTS.items():
        files |= _joined(start, script, apart)
    if INDEX in files:
        index = sources[INDEX].decode()
        files[SHEET] = b"\n".join(files[name] for name in SHEET_LINK.findall(index))
        files[INDEX] = SHEET_LINK.sub("", index).replace("<script", f"{SHEET_TAG}\n  <script", 1).encode()
    prefix = f"/static/v-{version}/"
    for name in [name for name in files if name.endswith(".html")]:
        files[name] = SCRIPT_TAG.sub(lambda tag: _script_tag(tag, files), files[name].decode()).encode()
    return Release(version, {name: _addressed(name, body, prefix) for name, body in files.items()})


def _version(sources: Mapping[str, bytes]) -> str:
    """A name for these very files, and for what is made of them."""
    made_by = (Path(__file__), Path(__file__).with_name("bundle.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in made_by))
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


def _joined(start: str, script: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The start's script and the files that lead to it; nothing where it cannot be made, and the modules stay apart."""
    if start not in files:
        return {}
    texts = {name: body.decode(errors="replace") for name, body in files.items() if name.endswith(".js")}
    try:
        text, stubs = bundle(start, script, texts)
    except (NotBundled, CycleError) as error:
        log.warning("static/%s and its modules are served one by one: %s", start, error)
        return {}
    # What another page shares is left alone: only one of them can be its start.
    led = {name: stub.encode() for name, stub in stubs.items()} if script == SCRIPTS["app.js"] else {}
    return {script: text.encode(), **led}


def _script_tag(tag: re.Match[str], files: Mapping[str, bytes]) -> str:
    script = SCRIPTS.get(tag[1], tag[1])
    return f'<script type="module" src="/static/{script if script in files else tag[1]}">'


def _addressed(name: str, body: bytes, prefix: str) -> bytes:
    """The file with the addresses in it those of its release."""
    if not name.endswith((".html", ".css", ".js", ".webmanifest")):
        return body
    try:
        return ADDRESSES.sub(prefix, body.decode()).encode()
    except ValueError:
        return body
