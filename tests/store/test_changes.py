"""The rows of file changes: in order, whole, gone with their session."""

from __future__ import annotations

import pytest

from odysseus.errors import NotFound
from odysseus.store.changes import Change, ChangeStore, content_hash
from odysseus.store.runs import RunStart
from store.databases import Stores


async def begun(stores: Stores, run_id: str = "r") -> tuple[ChangeStore, str]:
    session = await stores.session()
    await stores.runs.begin(RunStart(run_id, session.id, "agent", "q", "up", "m"))
    return ChangeStore(stores.db, stores.clock), session.id


def change(path: str, before: bytes | None) -> Change:
    return Change("/work", path, before, None if before is None else 0o640, content_hash(b"after"))


async def test_changes_come_back_newest_first_as_they_were(stores: Stores) -> None:
    changes, _ = await begun(stores)
    await changes.record("r", [change("a", b"\x00\xff"), change("b", None)])
    await changes.record("r", [change("a", b"")])
    found = await changes.of_run("r")
    assert list(found.changes) == [change("a", b""), change("b", None), change("a", b"\x00\xff")]
    assert (found.undone, found.running, found.interrupted) == (False, True, False)


async def test_changes_that_could_not_be_made_are_forgotten(stores: Stores) -> None:
    changes, _ = await begun(stores)
    await changes.record("r", [change("a", b"")])
    await changes.forget(await changes.record("r", [change("b", b""), change("c", None)]))
    assert [each.path for each in (await changes.of_run("r")).changes] == ["a"]


async def test_a_run_that_changed_nothing_has_nothing_undone(stores: Stores) -> None:
    changes, _ = await begun(stores)
    found = await changes.of_run("r")
    assert (list(found.changes), found.undone) == ([], False)


async def test_undone_changes_are_told_and_hold_nothing_any_more(stores: Stores) -> None:
    changes, _ = await begun(stores)
    await changes.record("r", [change("a", b"secret")])
    await changes.mark_undone("r")
    found = await changes.of_run("r")
    assert (list(found.changes), found.undone) == ([], True)
    row = await stores.db.read_one("SELECT before, undone_at FROM file_changes")
    assert row
    assert tuple(row) == (None, stores.clock.now)


async def test_runs_are_kept_apart_and_unknown_ones_are_not_found(stores: Stores) -> None:
    changes, _ = await begun(stores)
    await begun(stores, "other")
    await changes.record("other", [change("a", b"")])
    assert list((await changes.of_run("r")).changes) == []
    with pytest.raises(NotFound):
        await changes.of_run("unknown")
    with pytest.raises(NotFound):
        await changes.record("unknown", [change("a", b"")])


async def test_changes_go_with_their_session(stores: Stores) -> None:
    changes, session = await begun(stores)
    await changes.record("r", [change("a", b"x")])
    await stores.sessions.delete(session)
    assert await stores.db.read("SELECT * FROM file_changes") == []


def test_no_file_has_no_hash_and_an_empty_one_has() -> None:
    assert content_hash(None) is None
    assert content_hash(b"") != content_hash(b"x")
