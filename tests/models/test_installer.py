"""The server's installer, from the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import GUARD_SECONDS, FileServer, file_server, gguf, known

from odysseus.errors import Conflict, NotFound
from odysseus.models.catalogue import UrlSource
from odysseus.models.installer import Installer, InstallProgress

DATA = gguf()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server(DATA) as running:
        yield running


@pytest.fixture
def installer(server: FileServer, tmp_path: Path) -> Installer:
    return Installer(tmp_path, {"tiny": known(DATA, UrlSource("the hub", server.url))})


async def test_an_install_runs_to_done(installer: Installer, tmp_path: Path) -> None:
    assert installer.progress().state == "idle"
    installer.start("tiny")
    assert installer.progress().state == "running"
    async with asyncio.timeout(GUARD_SECONDS):
        end = await installer.wait()
    assert end == InstallProgress("done", "tiny", len(DATA), len(DATA), "Installed")
    assert (tmp_path / "tiny.gguf").read_bytes() == DATA


async def test_an_unknown_name_is_refused(installer: Installer) -> None:
    with pytest.raises(NotFound):
        installer.start("../tiny")
    assert installer.progress().state == "idle"


async def test_a_failure_is_kept_with_its_reason(installer: Installer, server: FileServer) -> None:
    server.status = 500
    installer.start("tiny")
    end = await installer.wait()
    assert (end.state, end.message) == ("failed", "The model could not be fetched. Tried: the hub (status 500).")
    server.status = 0
    installer.start("tiny")
    assert (await installer.wait()).state == "done"


async def test_one_install_at_a_time_and_a_cancel_frees_the_place(installer: Installer, server: FileServer) -> None:
    server.cut_after, server.hold = 1_500_000, threading.Event()
    installer.start("tiny")
    assert await asyncio.to_thread(server.reached.wait, GUARD_SECONDS)
    with pytest.raises(Conflict):
        installer.start("tiny")
    cancelling = asyncio.create_task(installer.cancel())
    await asyncio.sleep(0)
    server.hold.set()
    await cancelling
    end = await installer.wait()
    assert (end.state, end.message) == ("idle", "The installation was cancelled.")
    server.hold = None
    installer.start("tiny")
    assert (await installer.wait()).state == "done"
    await installer.close()
