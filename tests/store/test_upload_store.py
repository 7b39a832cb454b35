"""Uploads: bytes kept once and whole, ids that tell nothing, faults in words."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from odysseus.errors import NotFound, StoreError
from odysseus.store.uploads import Upload, UploadStore, picture_type
from store.databases import Stores


@pytest.fixture
def uploads(stores: Stores, tmp_path: Path) -> UploadStore:
    return UploadStore(stores.db, tmp_path / "uploads", stores.clock)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


async def test_a_file_comes_back_as_it_was_sent(uploads: UploadStore, stores: Stores, tmp_path: Path) -> None:
    data = bytes(range(256)) * 10
    kept = await uploads.add("Übung 1.pdf", "application/pdf", data)
    digest = hashlib.sha256(data).hexdigest()
    assert kept == Upload(kept.id, "Übung 1.pdf", "application/pdf", 2560, digest, stores.clock.now)
    assert await uploads.get(kept.id) == kept
    assert uploads.path(kept) == tmp_path / "uploads" / digest[:2] / digest
    assert uploads.path(kept).read_bytes() == data
    assert uploads.path(kept).stat().st_mode & 0o077 == 0


async def test_the_same_bytes_are_kept_once_under_ids_of_their_own(uploads: UploadStore, tmp_path: Path) -> None:
    kept = await asyncio.gather(*(uploads.add(f"{number}.txt", "text/plain", b"same") for number in range(8)))
    assert len({upload.id for upload in kept}) == 8
    assert all(len(upload.id) == 32 and upload.sha256 not in upload.id for upload in kept)
    assert files(tmp_path / "uploads") == [uploads.path(kept[0])]


async def test_an_empty_file_is_a_file(uploads: UploadStore) -> None:
    kept = await uploads.add("", "", b"")
    assert (kept.size, uploads.path(kept).read_bytes()) == (0, b"")


async def test_bytes_that_were_cut_on_the_disk_are_written_again(uploads: UploadStore) -> None:
    kept = await uploads.add("a", "", b"whole")
    uploads.path(kept).write_bytes(b"wh")
    await uploads.add("b", "", b"whole")
    assert uploads.path(kept).read_bytes() == b"whole"


async def test_a_failed_write_leaves_neither_row_nor_file(uploads: UploadStore, stores: Stores, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    (tmp_path / "uploads" / digest[:2] / digest).mkdir(parents=True)  # a folder stands where the file belongs
    with pytest.raises(StoreError, match="could not be saved"):
        await uploads.add("x", "", b"x")
    assert await stores.db.read("SELECT * FROM uploads") == []
    assert files(tmp_path / "uploads") == []


@pytest.mark.parametrize("wrong", ["", "x", "..", "%", "' OR 1=1 --"])
async def test_another_id_is_not_found(uploads: UploadStore, wrong: str) -> None:
    await uploads.add("a", "", b"a")
    with pytest.raises(NotFound):
        await uploads.get(wrong)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0....", "image/jpeg"),
        (b"GIF89a..........", "image/gif"),
        (b"GIF87a..........", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", ""),
        (b"\x89PNG\n", ""),
        (b"GIF8", ""),
        (b" \x89PNG\r\n\x1a\n", ""),
        (b"<svg xmlns=", ""),
        (b"<!doctype html>", ""),
        (b"BM..............", ""),
        (b"", ""),
    ],
)
def test_only_pictures_that_are_safe_to_show_have_a_type(head: bytes, kind: str) -> None:
    assert picture_type(head) == kind
