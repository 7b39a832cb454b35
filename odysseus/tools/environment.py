"""Which variables a program of the agent gets, and how the server keeps its own to itself. Knows no tool."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

_PASSED = ("PATH", "TZ")
_LANG = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|_(PAT|AUTH)$|^ODYSSEUS_", re.IGNORECASE)
_PR_SET_DUMPABLE = 4


def is_secret(name: str) -> bool:
    """Whether a variable of this name may hold a key, a token or a password, or is one of Odysseus itself."""
    return bool(_SECRET.search(name))


def clean_environment(home: Path, keep: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """What a program gets of `environ`: the search path, the language, the time zone, and what `keep` names.

    `home` is its HOME and TMPDIR unless `keep` names those. A name that looks like a secret is never passed on.
    """
    given = {"PATH": os.defpath, "HOME": str(home), "TMPDIR": str(home), "TERM": "dumb"}
    given["LANG"] = environ.get("LANG") or _LANG
    names = [*_PASSED, *(name for name in keep if not is_secret(name))]
    return {**given, **{name: environ[name] for name in names if name in environ}}


def seal_process(names: Collection[str] = ()) -> None:
    """Keep the keys of this process from the programs it starts, which run as the same user. Call it once.

    The variables in `names`, and all that look like secrets, are wiped from the memory that /proc/<pid>/environ and
    `ps` show; `os.environ` keeps them, and children that inherit the environment find them empty. On Linux no other
    process of the user (root apart) can look into the memory from then on, nor can a core dump show it.
    """
    if os.name != "posix":
        return
    library = ctypes.CDLL(None)
    for entry in _entries(library):
        name, _, value = ctypes.string_at(entry).partition(b"=")
        if value and (os.fsdecode(name) in names or is_secret(os.fsdecode(name))):
            ctypes.memset(entry + len(name) + 1, 0, len(value))
    if sys.platform == "linux":
        library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _entries(library: ctypes.CDLL) -> Iterator[int]:
    """The addresses of the C strings `NAME=value`."""
    strings = ctypes.POINTER(ctypes.c_void_p)
    if sys.platform == "darwin":
        library._NSGetEnviron.restype = ctypes.POINTER(strings)
        environ = library._NSGetEnviron().contents
    else:
        environ = strings.in_dll(library, "environ")
    index = 0
    while address := environ[index]:
        yield address
        index += 1
