"""Which policy each tool has now: what the settings say, and over it what the user chose on the page.

What the settings deny stays denied: the file is the owner's word, and a page left open in a browser must not undo it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from odysseus.errors import Conflict
from odysseus.store.policies import PolicyStore
from odysseus.tools.base import Policy, Tool


class Policies:
    """`tools` gives what there is now, `settings` policies by name. The choices are held in memory as stored."""

    def __init__(self, tools: Callable[[], Sequence[Tool]], settings: Mapping[str, Policy], store: PolicyStore) -> None:
        self.tools = tools
        self._settings = settings
        self._store = store
        self._chosen: dict[str, Policy] = {}

    async def load(self) -> None:
        """Read the choices. Raises StoreError."""
        self._chosen = cast("dict[str, Policy]", dict(await self._store.all()))

    def default(self, tool: Tool) -> Policy:
        """What holds without a choice."""
        return self._settings.get(tool.name, tool.policy)

    def of(self, tool: Tool, *, unattended: bool = False) -> Policy:
        """What holds now. Of choices only `deny` holds for an agent of the settings, which works unattended."""
        default, chosen = self.default(tool), self._chosen.get(tool.name)
        if chosen is None or default == "deny" or (unattended and chosen != "deny"):
            return default
        return chosen

    def apply(self, tools: Sequence[Tool], *, unattended: bool = False) -> list[Tool]:
        """The tools, each with the policy that holds for it now."""
        return [replace(tool, policy=self.of(tool, unattended=unattended)) for tool in tools]

    async def choose(self, tool: Tool, policy: Policy | None) -> None:
        """Set a tool's policy from now on; None goes back to the settings'. Raises Conflict, StoreError."""
        if self.default(tool) == "deny" and policy not in {None, "deny"}:
            raise Conflict(f"The settings file denies {tool.name}. Change it there, and start the server again.")
        await self._store.set(tool.name, policy)
        if policy is None:
            self._chosen.pop(tool.name, None)
        else:
            self._chosen[tool.name] = policy
