"""A file to text, from the event loop: a process for each file, at most two at a time, killed at its limits."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec

from odysseus.extract.kinds import BINARY, HEAD_BYTES, LABELS, ZIP, called_by, is_mismatch, sniff
from odysseus.extract.result import Extracted, ExtractLimits, Unreadable, join_notes
from odysseus.extract.source import open_plain
from odysseus.text import clean_text
from odysseus.worker import WorkerError, ask_worker

AT_ONCE = 2
"""How many files are read at a time; the others wait for their turn, which costs them no time of their own."""

DEFAULTS = ExtractLimits()

_SCRIPT = Path(__file__).with_name("worker.py")
_KEEP_ENV = ("TESSDATA_PREFIX",)
_SLOW = "Reading the file took too long. Send a part of it."
_CRASHED = "The file could not be read: it is damaged, or needs more memory than reading may take. Send a smaller one."

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def extract(path: Path, name: str, limits: ExtractLimits = DEFAULTS, declared: str = "") -> Extracted:
    """The text of the file at `path`, which its sender called `name` and `declared` to be of a type.

    Content that cannot be read is kind `failed` with a note, and nothing is raised for it. When this returns, or raises
    since it was cancelled, no process of it runs any more.
    """
    name, declared = clean_text(name), clean_text(declared)
    request = {"path": str(path), "name": name, "declared": declared, "limits": asdict(limits)}
    async with _turn():
        try:
            answer = await ask_worker(_SCRIPT, request, b"", limits.seconds, _KEEP_ENV)
        except TimeoutError:
            found = await _failed(path, _SLOW)
        except WorkerError:
            found = await _failed(path, _CRASHED)
        else:
            found = msgspec.convert(answer, Extracted)
    return _named(found, name, declared)


def _turn() -> asyncio.Semaphore:
    """The places of this event loop."""
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))


async def _failed(path: Path, note: str) -> Extracted:
    """What is left to say of a file whose reading was killed. Its beginning is looked at, and no archive is opened."""
    return Extracted("failed", note=note, mime=await asyncio.to_thread(_by_beginning, path))


def _by_beginning(path: Path) -> str:
    try:
        with open_plain(path) as file:
            mime = sniff(file.read(HEAD_BYTES))
    except (Unreadable, OSError):
        return ""
    return "" if mime in {ZIP, BINARY} else mime


def _named(found: Extracted, name: str, declared: str) -> Extracted:
    """With what there is to say when the content is not what it is called."""
    mismatch = is_mismatch(found.mime, declared, name)
    if not mismatch and not is_mismatch(found.mime, "", name):
        return found
    called = LABELS.get(called_by(name), "") or "of another type"
    really = LABELS.get(found.mime, "text")
    read = "" if found.kind == "failed" else ", and was read as that"
    said = f"It is called {called}, but it is {really}{read}." if called != really else ""
    return replace(found, mismatch=mismatch, note=join_notes(said, found.note))
