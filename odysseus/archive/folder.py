"""What of the data folder a backup holds, and what a restore leaves where it is. Knows names only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

FORMAT = "odysseus-backup"
VERSION = 1
MANIFEST = "odysseus-backup.json"
DATABASE = "odysseus.sqlite3"
JOURNAL = "restore.json"
STAGED = ".restore-"
ASIDE = "replaced-"
STAYING = frozenset({"models", "odysseus.lock", "odysseus.json", JOURNAL, MANIFEST})


def stays(name: str) -> bool:
    """Whether an entry of the data folder is in no backup, and is not touched by a restore."""
    return name in STAYING or name.startswith((STAGED, ASIDE, ".write-", ".odysseus.json."))


def entries(data: Path) -> Sequence[Path]:
    """The entries of the data folder that a backup is about."""
    return sorted(entry for entry in data.iterdir() if not stays(entry.name))


def interrupted(data: Path) -> bool:
    """Whether a restore was cut off while it put things in place."""
    return (data / JOURNAL).exists()
