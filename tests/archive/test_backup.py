"""Backup and restore by the real program: made while it writes, put back whole, or refused with nothing changed."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sqlite3
import stat
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from launching import SERVER, Ended, environment, launched
from upstream import Hang, Upstream, answer, text_chunk

from odysseus.archive.backup import make_backup
from odysseus.archive.folder import DATABASE, JOURNAL, MANIFEST
from odysseus.archive.restore import finish_restore, restore
from odysseus.errors import OdysseusError


async def command(*args: str | Path) -> Ended:
    """`server.py` with a command, to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SERVER),
        *map(str, args),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return Ended(process.returncode or 0, out.decode(), err.decode())


def settings(upstream: Upstream, path: Path) -> Path:
    path.write_text(
        '[chat]\nendpoint = "up"\nmodel = "fake-model"\n'
        f'[[endpoints]]\nid = "up"\nkind = "openai"\nbase_url = "{upstream.base_url}"\n',
        "utf-8",
    )
    return path


async def said(http: aiohttp.ClientSession, session: str) -> list[tuple[str, str | None]]:
    """The messages of a session, each with the status of its run."""
    async with http.get(f"/api/history/{session}") as response:
        history = (await response.json())["history"]
    return [(one["content"], one["metadata"].get("status")) for one in history]


async def send(http: aiohttp.ClientSession, session: str, message: str, **more: Any) -> aiohttp.ClientResponse:
    return await http.post("/api/chat_stream", json={"session": session, "message": message, **more})


async def test_a_backup_of_a_server_at_work_comes_back_in_another_folder(upstream: Upstream, tmp_path: Path) -> None:
    config, data, file = settings(upstream, tmp_path / "c.toml"), tmp_path / "data", tmp_path / "kept.zip"
    upstream.reply(answer("whole")).reply(text_chunk("begun"), Hang())
    begin = ("--config", config, "--port", "0", "--data")
    async with launched(*begin, data) as server, aiohttp.ClientSession(server.url) as http:
        form = aiohttp.FormData(default_to_multipart=True)
        form.add_field("files", io.BytesIO(b"kept bytes"), filename="a.txt")
        async with http.post("/api/upload", data=form) as response:
            upload = (await response.json())["files"][0]["id"]
        async with http.post("/api/session", json={"name": "one"}) as response:
            session = (await response.json())["id"]
        await (await send(http, session, "first", attachments=[upload])).read()
        going = await send(http, session, "second")
        await going.content.readuntil(b"begun")
        writing = asyncio.create_task(write_on(http))
        made = await command("--config", config, "--data", data, "backup", file)
        writing.cancel()
        assert (made.code, "Backed up" in made.out) == (0, True), made.err
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        refused = await command("--config", config, "--data", data, "restore", file)
        assert refused.code == 2
        assert "in use" in refused.err
        going.close()
    fresh = tmp_path / "fresh"
    back = await command("--config", config, "--data", fresh, "restore", file)
    assert back.code == 0, back.err
    async with launched(*begin, fresh) as server, aiohttp.ClientSession(server.url) as http:
        first, second, *_ = [one for one in await said(http, session) if one[1] is not None]
        assert first == ("whole", "completed")
        assert second[1] == "interrupted"
        async with http.get(f"/api/upload/{upload}") as response:
            assert await response.read() == b"kept bytes"


async def write_on(http: aiohttp.ClientSession) -> None:
    """Writes, one after the other, until the backup is made."""
    while True:
        async with http.post("/api/session", json={"name": "more"}):
            pass


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder as a server leaves it, with one session."""
    folder = tmp_path / "data"
    (folder / "uploads" / "ab").mkdir(parents=True)
    (folder / "uploads" / "ab" / "file").write_text("old upload")
    (folder / "models").mkdir()
    (folder / "models" / "m.gguf").write_text("model")
    asyncio.run(make_database(folder / DATABASE))
    name(folder, "old")
    return folder


async def make_database(path: Path) -> None:
    from odysseus.store.db import Database

    await (await Database.open(path)).close()


def name(folder: Path, text: str) -> None:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        database.execute("DELETE FROM sessions")
        database.execute(
            "INSERT INTO sessions (id, name, mode, created_at, updated_at) VALUES ('s', ?, 'chat', 0, 0)", (text,)
        )
        database.commit()


def state(folder: Path) -> tuple[str, str]:
    """What the data folder holds: the name of its session, and its upload."""
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        (found,) = database.execute("SELECT name FROM sessions").fetchone()
    return str(found), (folder / "uploads" / "ab" / "file").read_text()


OLD, NEW = ("old", "old upload"), ("new", "new upload")


def backed_up(data: Path) -> Path:
    """A backup of the new state, with the folder in the old one."""
    file = data.parent / "b.zip"
    (data / "uploads" / "ab" / "file").write_text("new upload")
    name(data, "new")
    make_backup(data, file)
    (data / "uploads" / "ab" / "file").write_text("old upload")
    name(data, "old")
    return file


def test_what_was_there_is_kept_aside_and_the_models_stay(data: Path) -> None:
    aside = restore(data, backed_up(data))
    assert state(data) == NEW
    assert aside
    assert state(aside) == OLD
    assert (data / "models" / "m.gguf").read_text() == "model"
    with zipfile.ZipFile(data.parent / "b.zip") as archive:
        assert sorted(archive.namelist()) == [MANIFEST, DATABASE, "uploads/ab/file"]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", range(6))
def test_a_restore_that_is_cut_off_leaves_the_old_or_the_new(
    data: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, moves, real = backed_up(data), 0, os.replace

    def replace(source: Path, target: Path) -> None:
        nonlocal moves
        moves += 1
        if moves > step:
            raise Killed
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(Killed) if step < 5 else monkeypatch.context():
        restore(data, file)
    monkeypatch.setattr(os, "replace", real)
    finish_restore(data)
    assert state(data) == (NEW if step else OLD)
    assert not (data / JOURNAL).exists()
    assert list(data.glob(".restore-*")) == []
    aside = list(data.glob("replaced-*"))
    assert [state(one) for one in aside] == ([OLD] if step else [])


def packed(*members: tuple[str, bytes], told: Any = None, deflate: bool = False) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED) as archive:
        archive.writestr(MANIFEST, json.dumps(told or {"format": "odysseus-backup", "version": 1}))
        for path, body in members:
            archive.writestr(path, body)
    return out.getvalue()


def with_link(database: bytes) -> bytes:
    out = io.BytesIO(packed((DATABASE, database)))
    with zipfile.ZipFile(out, "a") as archive:
        link = zipfile.ZipInfo("uploads")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc")
    return out.getvalue()


def changed(database: bytes, folder: Path, sql: str) -> bytes:
    path = folder / "changed.sqlite3"
    path.write_bytes(database)
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(sql)
    return path.read_bytes()


def with_broken_packing(database: bytes) -> bytes:
    whole = packed((DATABASE, database), deflate=True)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        start = archive.getinfo(DATABASE).header_offset + 30 + len(DATABASE)
    return whole[:start] + b"\xff" * 20 + whole[start + 20 :]


WRONG: dict[str, Callable[[bytes, Path], bytes]] = {
    "no zip": lambda database, folder: b"hello",
    "half": lambda database, folder: packed((DATABASE, database))[:-300],
    "another zip": lambda database, folder: packed((DATABASE, database), told={"format": "x", "version": 1}),
    "a newer one": lambda database, folder: packed(
        (DATABASE, database), told={"format": "odysseus-backup", "version": 2}
    ),
    "no database": lambda database, folder: packed(("uploads/a", b"x")),
    "a way out": lambda database, folder: packed((DATABASE, database), ("../evil", b"x")),
    "a way out within": lambda database, folder: packed((DATABASE, database), ("uploads/../../evil", b"x")),
    "a whole path": lambda database, folder: packed((DATABASE, database), ("/tmp/evil", b"x")),
    "a drive": lambda database, folder: packed((DATABASE, database), ("C:/evil", b"x")),
    "a model": lambda database, folder: packed((DATABASE, database), ("models/m.gguf", b"x")),
    "the lock": lambda database, folder: packed((DATABASE, database), ("odysseus.lock", b"x")),
    "a log": lambda database, folder: packed((DATABASE, database), (f"{DATABASE}-wal", b"x")),
    "a link": lambda database, folder: with_link(database),
    "a bomb": lambda database, folder: packed((DATABASE, database), ("uploads/b", bytes(130_000_000)), deflate=True),
    "a broken database": lambda database, folder: packed(
        (DATABASE, database[:5000] + b"\xff" * (len(database) - 5000))
    ),
    "no database file": lambda database, folder: packed((DATABASE, b"x" * 5000)),
    "a broken packing": lambda database, folder: with_broken_packing(database),
    "a newer layout": lambda database, folder: packed(
        (DATABASE, changed(database, folder, "PRAGMA user_version = 9999"))
    ),
    "another database": lambda database, folder: packed(
        (DATABASE, changed(database, folder, "ALTER TABLE sessions RENAME TO other"))
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_backup_that_cannot_be_trusted_changes_nothing(data: Path, kind: str) -> None:
    with zipfile.ZipFile(backed_up(data)) as archive:
        database = archive.read(DATABASE)
    file = data.parent / "wrong.zip"
    file.write_bytes(WRONG[kind](database, data.parent))
    before = sorted(path.name for path in data.parent.rglob("*"))
    with pytest.raises(OdysseusError):
        restore(data, file)
    assert state(data) == OLD
    assert sorted(path.name for path in data.parent.rglob("*")) == before


def test_a_file_that_is_older_than_zip_comes_along(data: Path) -> None:
    os.utime(data / "uploads" / "ab" / "file", (0, 0))
    made = make_backup(data, data.parent / "old.zip")
    assert (made.files, made.left_out) == (1, 0)


def test_a_backup_is_put_nowhere_where_it_could_harm(data: Path) -> None:
    (data.parent / "there.zip").write_text("mine")
    for file in (data.parent / "there.zip", data / "b.zip", data.parent / "none" / "b.zip"):
        with pytest.raises(OdysseusError):
            make_backup(data, file)
    assert (data.parent / "there.zip").read_text() == "mine"
    with pytest.raises(OdysseusError, match="nothing to back up"):
        make_backup(data.parent, Path("/tmp/b.zip"))
