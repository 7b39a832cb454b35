"""`python server.py backup FILE` and `restore FILE`: the words for a person at a terminal."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

COMMANDS = frozenset({"backup", "restore"})


def add_parsers(subparsers: Any) -> None:
    """Add the two commands to the subparsers of argparse."""
    backup = subparsers.add_parser("backup", help="write the data folder into one file, also while the server runs")
    backup.add_argument("file", type=Path, metavar="FILE", help="the new file; it holds the keys of endpoints")
    restore = subparsers.add_parser("restore", help="put a backup in the place of the data, while no server runs")
    restore.add_argument("file", type=Path, metavar="FILE", help="a file that `backup` has written")


def run(args: argparse.Namespace, data: Path) -> int:
    """Do what `args` say; for a restore the caller holds the folder's lock. Raises BadRequest, StoreError."""
    if args.command == "backup":
        from odysseus.archive.backup import make_backup

        made = make_backup(data, args.file.absolute())
        lost = f" {made.left_out} files could not be read." if made.left_out else ""
        print(f"Backed up {data} to {args.file}: the database and {made.files} files, {made.size / 1e6:.1f} MB.{lost}")
        return 0
    from odysseus.archive.restore import restore

    aside = restore(data, args.file.absolute())
    print(f"Restored {args.file} to {data}." + (f" What was there before is in {aside}." if aside else ""))
    return 0
