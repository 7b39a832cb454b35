"""Folders that programs have filled are removed, and nothing beside them."""

from __future__ import annotations

import os
from pathlib import Path

from odysseus.tools.removing import remove_folder


def chain(folder: Path, levels: int) -> None:
    """Folders in each other, deeper than a path can name them, with a file in the last."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


def test_a_folder_deeper_than_the_stack_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "beside").mkdir()
    (folder / "beside" / "file").write_text("x")
    chain(folder, 5000)
    remove_folder(folder)
    assert list(tmp_path.iterdir()) == []


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "deep"
    for each in (kept, folder, kept / "inner"):
        each.mkdir()
    (folder / "link").symlink_to(kept)
    chain(folder, 1500)
    remove_folder(folder)
    assert list(tmp_path.iterdir()) == [kept]
    assert (kept / "inner").is_dir()


def test_a_folder_that_is_gone_is_no_error(tmp_path: Path) -> None:
    remove_folder(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
