"""Where an agent run works: the user's folder, the session's own, or an incognito chat's, which is gone with it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from odysseus.errors import BadRequest
from odysseus.events import WorkspaceRejected
from odysseus.tools.removing import remove_folder
from odysseus.tools.workspace import Workspace, choose_workspace


class Places:
    """The folders of agent runs. `data` is the server's own, which no run may work in as a whole."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._passing: dict[str, Path] = {}

    async def check(self, text: str) -> str:
        """The folder that a user wishes for, real and absolute. Raises BadRequest that says why it cannot be had."""
        return str(await asyncio.to_thread(choose_workspace, text, [self._data]))

    async def open(
        self, session_id: str, chosen: str, *, incognito: bool
    ) -> tuple[Workspace, Sequence[WorkspaceRejected]]:
        """The workspace of one run, and why it is not the chosen one."""
        root, rejected = "", []
        try:
            root = await self.check(chosen) if chosen else ""
        except BadRequest as error:
            rejected.append(WorkspaceRejected(chosen, error.message))
        if incognito:
            return Workspace(Path(root) if root else await self._passing_folder(session_id)), rejected
        own = Path(root) if root else await asyncio.to_thread(_made, self._own(session_id))
        return Workspace(own, self._outputs(session_id)), rejected

    async def close(self) -> None:
        """Remove the folders of incognito chats."""
        await asyncio.to_thread(_remove, *self._passing.values())

    async def forget(self, session_id: str) -> None:
        """Remove what a deleted session has in the data folder, its own workspace too."""
        passing = self._passing.pop(session_id, None)
        await asyncio.to_thread(
            _remove, self._own(session_id), self._outputs(session_id), *([passing] if passing else [])
        )

    async def _passing_folder(self, session_id: str) -> Path:
        """An incognito chat's own folder: outside the data, and gone with the chat or the server."""
        if session_id not in self._passing:
            self._passing[session_id] = await asyncio.to_thread(_temporary)
        return self._passing[session_id]

    def _own(self, session_id: str) -> Path:
        return self._data / "workspaces" / session_id

    def _outputs(self, session_id: str) -> Path:
        return self._data / "outputs" / session_id


def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="odysseus-")).resolve()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _remove(*folders: Path) -> None:
    for folder in folders:
        remove_folder(folder)
