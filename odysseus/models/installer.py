"""One install at a time for the server: started, watched and stopped from the event loop, done in a thread.

Knows nothing of requests or pages.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from odysseus.errors import Conflict, NotFound, OdysseusError
from odysseus.models.catalogue import KNOWN, KnownModel
from odysseus.models.fetch import Cancelled
from odysseus.models.install import Setting, install_known

_CLOSE_SECONDS = 0.8


@dataclass(frozen=True, slots=True)
class InstallProgress:
    """How far an install is, in bytes. `total` is None while it is not known; `message` is for the user."""

    state: Literal["idle", "running", "done", "failed"] = "idle"
    name: str = ""
    received: int = 0
    total: int | None = None
    message: str = ""


class Installer:
    """Owns the installing thread."""

    def __init__(self, folder: Path, known: dict[str, KnownModel] | None = None) -> None:
        self._folder = folder
        self._known = KNOWN if known is None else known
        self._progress = InstallProgress()
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, name: str) -> None:
        """Begin to install a known model. Raises NotFound, Conflict while another install runs."""
        if name not in self._known:
            raise NotFound(f"There is no known model named {name}.")
        if self._thread and self._thread.is_alive():
            raise Conflict(f"The model {self._progress.name} is being installed. Wait for it or cancel it.")
        self._cancel = threading.Event()
        self._progress = InstallProgress("running", name, 0, self._known[name].size, "Starting")
        # A daemon: the end of the program does not wait for a slow network.
        self._thread = threading.Thread(target=self._run, args=(self._known[name],), name="model-install", daemon=True)
        self._thread.start()

    def progress(self) -> InstallProgress:
        """Where it is now. Never waits."""
        return self._progress

    async def wait(self) -> InstallProgress:
        """Wait for the end of what runs."""
        if self._thread:
            await asyncio.to_thread(self._thread.join)
        return self._progress

    async def cancel(self) -> None:
        """Stop what runs, and wait shortly for its end. What was fetched is kept for the next start."""
        self._cancel.set()
        if self._thread:
            await asyncio.to_thread(self._thread.join, _CLOSE_SECONDS)

    async def close(self) -> None:
        """The same, at the end of the program."""
        await self.cancel()

    def _run(self, model: KnownModel) -> None:
        end = replace(self._progress, state="failed", message="The installation ended unexpectedly.")
        try:
            install_known(Setting(self._folder, self._report, self._cancel), model)
            end = InstallProgress("done", model.name, model.size, model.size, "Installed")
        except Cancelled:
            end = InstallProgress("idle", model.name, message="The installation was cancelled.")
        except OdysseusError as error:
            end = replace(self._progress, state="failed", message=error.message)
        finally:
            self._progress = end

    def _report(self, received: int, total: int | None, message: str) -> None:
        self._progress = replace(self._progress, received=received, total=total, message=message)
