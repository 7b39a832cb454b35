"""Uploads: bytes kept once and whole, ids that tell nothing, faults in words."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from odysseus.errors import NotFound, StoreError
from odysseus.store.db import Connection
from odysseus.store.file_texts import FileText, FileTextStore
from odysseus.store.messages import Message, append_message, new_message_id
from odysseus.store.uploads import KEPT_SECONDS, Sent, Upload, UploadStore, picture_type
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


async def named(stores: Stores, session_id: str, metadata: Mapping[str, Any]) -> str:
    """A message with this metadata."""
    message = Message(new_message_id(), session_id, 0, "user", "x", metadata, stores.clock.now)

    def work(db: Connection) -> None:
        append_message(db, message)

    await stores.db.write(work)
    return message.id


async def test_a_file_comes_in_pieces_and_is_gone_when_nobody_keeps_it(uploads: UploadStore, tmp_path: Path) -> None:
    async with uploads.incoming() as file:
        for piece in (b"a", b"", b"bc"):
            await file.write(piece)
        assert (file.size, file.sha256) == (3, hashlib.sha256(b"abc").hexdigest())
        assert len(files(tmp_path / "uploads")) == 1
    assert files(tmp_path / "uploads") == []
    async with uploads.incoming() as file:
        await file.write(b"abc")
        (upload,) = await uploads.keep([Sent("a", "", file)])
    assert uploads.path(upload).read_bytes() == b"abc"


async def test_uploads_are_used_in_order_and_each_once_or_not_at_all(uploads: UploadStore, stores: Stores) -> None:
    first, second = await uploads.add("a", "", b"a"), await uploads.add("b", "", b"b")
    assert await uploads.use([second.id, first.id, second.id]) == [second, first]
    assert await uploads.use([]) == []
    stores.clock.advance(KEPT_SECONDS)
    with pytest.raises(NotFound):
        await uploads.use([first.id, "none"])
    assert await uploads.sweep() == 2


async def test_what_no_message_names_is_swept_away_after_a_day(
    uploads: UploadStore, stores: Stores, tmp_path: Path
) -> None:
    session = await stores.session()
    sent, made, lost, fresh = [await uploads.add(name, "", name.encode()) for name in ("sent", "made", "lost", "fresh")]
    await named(stores, session.id, {"attachments": [{"id": sent.id, "name": "sent"}, {"id": "none"}]})
    await named(stores, session.id, {"images": [{"image_id": made.id}]})
    stores.clock.advance(KEPT_SECONDS - 1)
    assert await uploads.sweep() == 0
    await uploads.use([fresh.id])
    stores.clock.advance(1)
    assert await uploads.sweep() == 1
    assert files(tmp_path / "uploads") == sorted(uploads.path(one) for one in (sent, made, fresh))
    with pytest.raises(NotFound):
        await uploads.get(lost.id)


@pytest.mark.parametrize("end", ["message", "session", "metadata"])
async def test_a_file_goes_with_the_last_message_that_names_it(uploads: UploadStore, stores: Stores, end: str) -> None:
    session = await stores.session()
    upload = await uploads.add("a", "", b"a")
    message_id = await named(stores, session.id, {"attachments": [{"id": upload.id}]})
    fork = await stores.messages.fork(session, message_id)
    await stores.messages.edit(session.id, message_id, "other words")
    stores.clock.advance(KEPT_SECONDS)
    await stores.sessions.delete(fork.id)
    assert await uploads.sweep() == 0

    def change(db: Connection) -> None:
        db.execute("UPDATE messages SET metadata = '{}' WHERE id = ?", (message_id,))

    if end == "message":
        await stores.messages.delete(session.id, [message_id])
    elif end == "session":
        await stores.sessions.delete(session.id)
    else:
        await stores.db.write(change)
    assert await uploads.sweep() == 1


@pytest.mark.parametrize(
    "metadata", [{}, {"attachments": None}, {"attachments": "x"}, {"attachments": ["x", 1, None, {}]}, {"images": {}}]
)
async def test_odd_metadata_names_nothing_and_harms_nothing(
    uploads: UploadStore, stores: Stores, metadata: Mapping[str, Any]
) -> None:
    await uploads.add("a", "", b"a")
    await named(stores, (await stores.session()).id, metadata)
    assert await stores.db.read("SELECT * FROM message_uploads") == []


async def test_bytes_stay_while_one_of_their_uploads_does(uploads: UploadStore, stores: Stores) -> None:
    texts = FileTextStore(stores.db, stores.clock)
    found = FileText("text", "same", "", "text/plain", None, None, None, mismatch=False)
    old = await uploads.add("a", "", b"same")
    await texts.put(old.sha256, "", found)
    stores.clock.advance(KEPT_SECONDS)
    new = await uploads.add("b", "", b"same")
    assert await uploads.sweep() == 1
    assert uploads.path(new).read_bytes() == b"same"
    assert await texts.get(new.sha256, "") == found
    stores.clock.advance(KEPT_SECONDS)
    assert await uploads.sweep() == 1
    assert not uploads.path(new).exists()
    assert await texts.get(new.sha256, "") is None


async def test_a_smaller_picture_goes_with_its_bytes(uploads: UploadStore, stores: Stores, tmp_path: Path) -> None:
    upload = await uploads.add("a", "", b"large")
    await uploads.keep_small(upload, b"small")
    await uploads.sweep()
    assert uploads.small_path(upload).read_bytes() == b"small"
    assert files(tmp_path / "uploads") == sorted([uploads.path(upload), uploads.small_path(upload)])
    stores.clock.advance(KEPT_SECONDS)
    await uploads.sweep()
    assert files(tmp_path / "uploads") == []


async def test_what_is_forgotten_goes_at_once_unless_a_message_names_it(uploads: UploadStore, stores: Stores) -> None:
    named_, other = await uploads.add("a", "", b"a"), await uploads.add("b", "", b"b")
    await named(stores, (await stores.session()).id, {"attachments": [{"id": named_.id}]})
    await uploads.forget([named_.id, other.id, "none"])
    assert await uploads.get(named_.id) == named_
    assert not uploads.path(other).exists()
    with pytest.raises(NotFound):
        await uploads.get(other.id)


async def test_text_without_its_file_is_not_kept(stores: Stores) -> None:
    texts = FileTextStore(stores.db, stores.clock)
    await texts.put("0" * 64, "", FileText("text", "x", "", "text/plain", None, None, None, mismatch=False))
    assert await texts.get("0" * 64, "") is None


async def test_what_a_crash_left_in_the_folder_is_removed(uploads: UploadStore, stores: Stores, tmp_path: Path) -> None:
    kept = await uploads.add("a", "", b"a")
    folder = tmp_path / "uploads"
    bytes_, half, other = folder / "ab" / ("ab" * 32), folder / ".new-half", folder / "notes.txt"
    for path in (bytes_, half, other):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    os.utime(half, (stores.clock.now, stores.clock.now))
    await uploads.sweep()
    assert files(folder) == sorted([uploads.path(kept), half, other])
    os.utime(half, (0, stores.clock.now - KEPT_SECONDS))
    await uploads.sweep()
    assert files(folder) == sorted([uploads.path(kept), other])


async def test_files_are_kept_while_others_are_swept_away(uploads: UploadStore, stores: Stores) -> None:
    for round_ in range(5):
        stores.clock.advance(KEPT_SECONDS)
        again = (uploads.add(f"{round_}", "", b"the same bytes each time") for _ in range(4))
        kept, _ = await asyncio.gather(asyncio.gather(*again), uploads.sweep())
        assert all(uploads.path(upload).is_file() for upload in kept)


async def test_a_caller_that_leaves_does_not_leave_bytes_without_a_row(uploads: UploadStore, stores: Stores) -> None:
    adding = asyncio.create_task(uploads.add("a", "", b"a"))
    while not any(uploads._tasks):
        await asyncio.sleep(0)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    await uploads.close()
    (row,) = await stores.db.read("SELECT sha256 FROM uploads")
    assert row[0] == hashlib.sha256(b"a").hexdigest()
