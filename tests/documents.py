"""The Markdown pages as tests read them: sections, tables, names in code quotes."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def page(name: str) -> str:
    """The text of a page in docs/."""
    return (ROOT / "docs" / name).read_text("utf-8")


def section(page: str, heading: str) -> str:
    """The text under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading {heading!r}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The first table's rows below its head."""
    found = re.search(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    lines = found[0].splitlines() if found else []
    return [re.split(r" ?\| ?", line.removeprefix("| ").removesuffix(" |")) for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)
