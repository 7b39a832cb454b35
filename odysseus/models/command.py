"""`python server.py model install | list | remove`: the models folder from the command line.

Knows how to talk to a person at a terminal; the work is in install.py.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from odysseus.errors import BadRequest, OdysseusError
from odysseus.models import catalogue
from odysseus.models.fetch import Report
from odysseus.models.install import Outcome, Setting, install_known, install_own, is_url, name_for, remove

_LINE_SECONDS = 3.0
_HASH = re.compile(r"[0-9a-f]{64}")
_HOW_TO_HASH = (
    "Give the file's hash with --sha256. For a download take it from the page that offers it; "
    "for a file that you trust, `sha256sum FILE` prints it (`certutil -hashfile FILE SHA256` on Windows)."
)


def add_parser(subparsers: Any) -> None:
    """Add the `model` command to the subparsers of argparse."""
    parser = subparsers.add_parser("model", help="install, list or remove embedded models")
    actions = parser.add_subparsers(dest="action", required=True)
    install = actions.add_parser("install", help="install a known model, or a GGUF file of your own")
    install.add_argument("what", nargs="?", metavar="NAME|PATH|URL", help="a known name, a file or an address")
    install.add_argument("--sha256", metavar="HEX", help="the hash of your own file")
    install.add_argument("--name", help="the name that your own file gets")
    actions.add_parser("list", help="show the known and the installed models")
    actions.add_parser("remove", help="delete an installed model").add_argument("name", metavar="NAME")


def run(args: argparse.Namespace, models_dir: Path, default: str) -> int:
    """Do what `args` say. The exit code: 0 done, 2 a wrong argument or a failure, 130 stopped by Ctrl-C."""
    try:
        if args.action == "install":
            _install(args, models_dir, args.what or default)
        elif args.action == "remove":
            remove(models_dir, args.name)
            print(f"Removed {args.name}.")
        else:
            print("\n".join(_table(models_dir)))
    except OdysseusError as error:
        print(error.message, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. What was fetched is kept; the same command goes on from there.", file=sys.stderr)
        return 130
    return 0


def _install(args: argparse.Namespace, folder: Path, what: str) -> None:
    started = time.monotonic()
    if what in catalogue.KNOWN and not Path(what).is_file():
        name, outcome = what, _install_known(args, folder, what)
    else:
        name, outcome = _install_own(args, folder, what)
    if outcome == "already":
        print(f"{name} is installed already, and its hash is right.")
    else:
        print(f"Installed {name} in {time.monotonic() - started:.1f} s.")


def _install_known(args: argparse.Namespace, folder: Path, name: str) -> Outcome:
    if args.sha256 or args.name:
        raise BadRequest("--sha256 and --name are for a file of your own, not for a known model.")
    with _progress(name) as report:
        return install_known(Setting(folder, report), catalogue.KNOWN[name])


def _install_own(args: argparse.Namespace, folder: Path, what: str) -> tuple[str, Outcome]:
    if not is_url(what) and not Path(what).expanduser().is_file():
        raise BadRequest(f"{what} is neither a file nor a known model. Known are: {', '.join(catalogue.KNOWN)}.")
    sha256 = (args.sha256 or "").strip().lower()
    if not sha256:
        raise BadRequest(_HOW_TO_HASH)
    if not _HASH.fullmatch(sha256):
        raise BadRequest("The value of --sha256 is not a SHA-256: it has 64 characters, 0 to 9 and a to f.")
    name = args.name or name_for(what)
    if not catalogue.is_name(name):
        raise BadRequest("Choose a name with --name: letters, digits, dots, dashes and underscores, at most 64.")
    with _progress(name) as report:
        return name, install_own(Setting(folder, report), what, sha256, name)


def _table(folder: Path) -> Iterator[str]:
    here = {model.name: model for model in catalogue.installed(folder)}
    yield f"{'NAME':24} {'SIZE':>8} {'WINDOW':>8}  STATE"
    for name in dict.fromkeys((*catalogue.KNOWN, *here)):
        model, known = here.get(name), catalogue.KNOWN.get(name)
        size = model.size if model else known.size if known else 0
        window = model.context_length if model else known.context_length if known else None
        state = "not installed" if model is None else "installed" if model.record else "installed, not checked"
        licence = f", {known.licence}" if known else ""
        yield f"{name:24} {size / 1_000_000:>5.0f} MB {window or '?':>8}  {state}{licence}"


@contextmanager
def _progress(name: str) -> Iterator[Report]:
    """A bar on a terminal, else a line every few seconds."""
    if not sys.stderr.isatty():
        yield _Lines(name)
        return
    try:
        from tqdm import tqdm  # type: ignore[import-untyped]
    except ImportError:
        yield _Lines(name)
        return
    with tqdm(unit="B", unit_scale=True, unit_divisor=1000, desc=name, leave=False, file=sys.stderr) as bar:

        def report(received: int, total: int | None, message: str) -> None:
            bar.total = total
            bar.set_description(f"{name}: {message}", refresh=False)
            bar.n = received
            bar.update(0)

        yield report


class _Lines:
    """A line when something new is done, and every few seconds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._next = 0.0
        self._last = ""

    def __call__(self, received: int, total: int | None, message: str) -> None:
        if message == self._last and time.monotonic() < self._next:
            return
        self._last, self._next = message, time.monotonic() + _LINE_SECONDS
        of = f" of {total / 1_000_000:.0f}" if total else ""
        print(f"{self._name}: {message}, {received / 1_000_000:.0f}{of} MB", file=sys.stderr, flush=True)
