"""The calls that wait for the user: on disk, or for incognito chats only in memory."""

from __future__ import annotations

from dataclasses import replace

from odysseus.agent.approvals import Sealed, from_json, to_json
from odysseus.clock import Clock
from odysseus.errors import Conflict
from odysseus.events import ApprovalDecision
from odysseus.store.approvals import GONE, ApprovalState, ApprovalStore, Pending

STATE_OF: dict[ApprovalDecision, ApprovalState] = {
    "approve": "approved",
    "approve_task": "approved",
    "deny": "denied",
}


class ApprovalBook:
    """Seals calls for a time, and gives each back once."""

    def __init__(self, store: ApprovalStore, clock: Clock, seconds: float) -> None:
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._unstored: dict[str, Sealed] = {}

    async def seal(self, sealed: Sealed, *, incognito: bool) -> Sealed:
        """Keep the call; gives it with the time it expires. Raises StoreError."""
        timed = replace(sealed, expires_at=self._clock.wall() + self._seconds)
        if incognito:
            self._unstored[timed.session_id] = timed
            return timed
        pending = Pending(
            timed.approval_id, timed.session_id, timed.run_id, timed.digest, to_json(timed), timed.expires_at
        )
        await self._store.add(pending)
        return timed

    async def pending(self, approval_id: str, session_id: str) -> Sealed:
        """The call that waits under this id, as it was sealed. Raises Conflict."""
        unstored = self._unstored.get(session_id)
        if unstored and unstored.approval_id == approval_id:
            if unstored.expires_at <= self._clock.wall():
                raise Conflict(GONE)
            return unstored
        pending = await self._store.pending(approval_id, session_id)
        sealed = from_json(pending.sealed)
        if sealed.digest != pending.digest:
            raise Conflict(GONE)
        return sealed

    def forget(self, session_id: str) -> None:
        """The session's call that waits in memory is decided on, or waits no longer."""
        self._unstored.pop(session_id, None)
