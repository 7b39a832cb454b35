"""Installs a model: sources in order, the right hash or nothing, one atomic rename at the end.

The functions block and belong in a thread. Knows neither the command line nor the pages.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import filelock

from odysseus.errors import Conflict, NotFound, OdysseusError
from odysseus.models import catalogue
from odysseus.models.catalogue import KnownModel, Source, UrlSource
from odysseus.models.fetch import (
    CANNOT_WRITE,
    CHUNK,
    Cancelled,
    DiskError,
    FetchError,
    Job,
    Report,
    fetch_file,
    fetch_url,
    fetch_wheels,
    without_secrets,
)
from odysseus.models.gguf import is_gguf

logger = logging.getLogger(__name__)

_SPARE_BYTES = 32 * 1024 * 1024

Outcome = Literal["installed", "already"]


class InstallError(OdysseusError):
    """The model was not installed and nothing is in its place. What was fetched may be kept for the next try."""

    status = 502


def free_bytes(folder: Path) -> int:
    """Free bytes on the folder's disk."""
    return shutil.disk_usage(folder).free


@dataclass(frozen=True, slots=True)
class Setting:
    """Where models go, who is told, how to stop, and how much room there is."""

    folder: Path
    report: Report
    cancel: threading.Event = field(default_factory=threading.Event)
    free: Callable[[Path], int] = free_bytes


@dataclass(frozen=True, slots=True)
class _Plan:
    """What shall lie in the folder, and the ways to get it: a label for the user, and what fetches."""

    name: str
    sha256: str
    size: int | None
    ways: tuple[tuple[str, Callable[[Job], None]], ...]
    origin: str = ""


def install_known(setting: Setting, model: KnownModel) -> Outcome:
    """Install a model of the catalogue. Raises InstallError, Conflict, Cancelled."""
    ways = tuple((source.label, _way(source)) for source in model.sources)
    return _install(setting, _Plan(model.name, model.sha256, model.size, ways))


def install_own(setting: Setting, where: str, sha256: str, name: str) -> Outcome:
    """Install the GGUF at a path or an http(s) address under `name`. Raises InstallError, Conflict, Cancelled."""
    if name in catalogue.KNOWN and catalogue.KNOWN[name].sha256 != sha256:
        raise Conflict(f"The name {name} belongs to a known model. Choose another with --name.")
    if is_url(where):
        plan = _Plan(name, sha256, None, (("the address", partial(fetch_url, url=where)),), without_secrets(where))
    else:
        path = Path(where).expanduser()
        plan = _Plan(name, sha256, None, (("the file", partial(fetch_file, path=path)),), path.name)
    return _install(setting, plan)


def is_url(where: str) -> bool:
    """Whether it is an address and not a path."""
    return where.lower().startswith(("http://", "https://"))


def name_for(where: str) -> str:
    """A model name made of the last part of a path or an address; empty when nothing is left."""
    last = urlsplit(where).path if is_url(where) else where
    stem = Path(last).name.removesuffix(".gguf")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64]


def remove(folder: Path, name: str) -> None:
    """Delete a model and all that belongs to it. Raises NotFound, InstallError."""
    if name not in catalogue.names(folder):
        raise NotFound(f"The model {name} is not installed.")
    try:
        catalogue.model_path(folder, name).unlink()
        catalogue.record_path(folder, name).unlink(missing_ok=True)
        _clean_up(folder, name)
    except OSError as error:
        raise InstallError("The model cannot be deleted. Is it in use?", status=409) from error


def _way(source: Source) -> Callable[[Job], None]:
    if isinstance(source, UrlSource):
        return partial(fetch_url, url=source.url)
    return partial(fetch_wheels, source=source)


def _install(setting: Setting, plan: _Plan) -> Outcome:
    try:
        setting.folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(setting.folder / f".{plan.name}.lock", timeout=0):
            if _have_already(setting, plan):
                return "already"
            part = setting.folder / f".{plan.name}-{plan.sha256[:12]}.part"
            job = Job(part, plan.size, setting.report, setting.cancel, partial(_reserve, setting))
            label = _fetch(job, plan)
            _put_in_place(setting.folder, part, plan, plan.origin or label)
            return "installed"
    except filelock.Timeout as error:
        raise Conflict(f"The model {plan.name} is being installed already.") from error
    except DiskError as error:
        raise InstallError(str(error), status=507) from error
    except OSError as error:
        logger.warning("installing %s failed: %r", plan.name, error)
        raise InstallError(CANNOT_WRITE, status=507) from error


def _have_already(setting: Setting, plan: _Plan) -> bool:
    """Whether the right file is there. Quick when its record says so, else the file is hashed."""
    model = catalogue.find(setting.folder, plan.name)
    if model is None:
        return False
    sha256 = model.record.sha256 if model.record else _hash(model.path, model.size, setting)
    if sha256 == plan.sha256:
        if model.record is None:
            catalogue.write_record(setting.folder, plan.name, sha256=sha256, origin=plan.origin)
        return True
    if plan.name in catalogue.KNOWN:
        return False  # a damaged copy: fetch it again
    raise Conflict(f"Another model is installed as {plan.name}. Remove it first, or choose a name with --name.")


def _fetch(job: Job, plan: _Plan) -> str:
    """Fill the part file with the right bytes. The label of the source that gave them."""
    tried = []
    for label, way in plan.ways:
        reason = _try(job, plan.sha256, way)
        if reason is None:
            return label
        job.report(job.received, job.size, f"Nothing from {label} ({reason})")
        tried.append(f"{label} ({reason})")
    raise InstallError(f"The model could not be fetched. Tried: {'; '.join(tried)}.")


def _try(job: Job, sha256: str, way: Callable[[Job], None]) -> str | None:
    """Why this way did not work, None when it did."""
    resumed = job.received > 0
    try:
        way(job)
    except FetchError as error:
        return str(error)
    if _hash(job.part, job.received, job) == sha256:
        return None
    job.part.unlink()
    if resumed:
        return _try(job, sha256, way)  # what lay there before may have been damaged
    return "its hash is not the expected one"


def _hash(path: Path, size: int, watch: Job | Setting) -> str:
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            if watch.cancel.is_set():
                raise Cancelled
            digest.update(data)
            done += len(data)
            watch.report(done, size, "Checking")
    return digest.hexdigest()


def _put_in_place(folder: Path, part: Path, plan: _Plan, origin: str) -> None:
    if not is_gguf(part):
        part.unlink()
        raise InstallError("The file is not a GGUF model.", status=415)
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(catalogue.model_path(folder, plan.name))
    catalogue.write_record(folder, plan.name, sha256=plan.sha256, origin=origin)
    _clean_up(folder, plan.name)


def _clean_up(folder: Path, name: str) -> None:
    """Delete what broken installs of this model left. The twelve places are the hash's, see `_install`."""
    for left in folder.glob(f".{name}-{'?' * 12}.p*"):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()


def _reserve(setting: Setting, size: int) -> None:
    free = setting.free(setting.folder)
    if free < size + _SPARE_BYTES:
        need = _megabytes(size + _SPARE_BYTES)
        raise InstallError(
            f"There is not enough disk space: {need} are needed, {_megabytes(free)} are free.", status=507
        )


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.0f} MB"
