"""Nothing leads out of a workspace: not `..`, not a link, not a race; and what is no plain file is not opened."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from odysseus.errors import BadRequest
from odysseus.tools import confine
from odysseus.tools.base import ToolError
from odysseus.tools.confine import Folder, Place, file_at, folder_at, locate, sentences
from odysseus.tools.output import output_name
from odysseus.tools.rewriting import Rewrite, read_whole, rewrite_all
from odysseus.tools.workspace import Workspace, choose_workspace

SECRET = b"the secret"


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """A workspace beside a file that nobody may reach."""
    (tmp_path / "work" / "inner").mkdir(parents=True)
    (tmp_path / "work" / "inner" / "a.txt").write_bytes(b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_bytes(SECRET)
    (tmp_path / "work-2").mkdir()
    (tmp_path / "work-2" / "a.txt").write_bytes(SECRET)
    return Workspace((tmp_path / "work").resolve(), tmp_path / "outputs")


@pytest.fixture(params=[True, False], ids=["by handle", "by real path"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways of opening: with handles of folders, and without, as on systems that have none."""
    if request.param and not confine.BY_HANDLE:
        pytest.skip("this system opens nothing relative to a folder")
    monkeypatch.setattr(confine, "BY_HANDLE", request.param)
    return bool(request.param)


def content(workspace: Workspace, path: str) -> bytes:
    where = locate(workspace, path)
    with sentences(where.shown), file_at(where) as file:
        return file.read()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "path", ["inner/a.txt", "./inner//a.txt", "inner/../inner/a.txt", "link.txt", "linked/a.txt", "chain/a.txt"]
)
def test_a_path_inside_is_opened_through_links_that_stay_inside(place: Workspace, path: str) -> None:
    (place.root / "link.txt").symlink_to("inner/a.txt")
    (place.root / "linked").symlink_to(place.root / "inner")
    (place.root / "chain").symlink_to("linked")
    assert content(place, path) == b"inside"
    assert content(place, str(place.root / path)) == b"inside"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/a.txt",
        "inner/../../outside/a.txt",
        "../work-2/a.txt",
        "/etc/passwd",
        "/",
        "file",
        "folder/a.txt",
        "folder",
        "chain/a.txt",
        "up/outside/a.txt",
        "inner/../folder/a.txt",
        "missing/../../outside/a.txt",
        "/proc/self/root/etc/passwd",
        "dangling",
    ],
)
def test_a_path_that_leads_out_is_refused(place: Workspace, path: str) -> None:
    outside = place.root.parent / "outside"
    (place.root / "file").symlink_to(outside / "a.txt")
    (place.root / "folder").symlink_to(outside)
    (place.root / "chain").symlink_to("folder")
    (place.root / "up").symlink_to("..")
    (place.root / "dangling").symlink_to(outside / "not-there")
    with pytest.raises(ToolError, match="outside of the workspace"):
        locate(place, path)


@pytest.mark.usefixtures("way")
def test_a_path_that_becomes_a_link_after_it_was_looked_up_is_not_followed(place: Workspace) -> None:
    outside = place.root.parent / "outside"
    found = locate(place, "inner/a.txt")
    (place.root / "inner").rename(place.root / "gone")
    (place.root / "inner").symlink_to(outside)
    with pytest.raises(ToolError), sentences(found.shown), file_at(found):
        pass
    with pytest.raises(ToolError), sentences(found.shown):
        rewrite_all([Rewrite(found, SECRET, b"taken over")])
    (place.root / "inner").unlink()
    (place.root / "inner").mkdir()
    (place.root / "inner" / "a.txt").symlink_to(outside / "a.txt")
    with pytest.raises(ToolError), sentences(found.shown), file_at(found):
        pass
    assert (outside / "a.txt").read_bytes() == SECRET


def test_a_folder_once_open_stays_the_same_folder_whatever_takes_its_name(place: Workspace) -> None:
    if not confine.BY_HANDLE:
        pytest.skip("this system opens nothing relative to a folder")
    with Folder.open_root(place.root) as root, root.folder("inner") as inner:
        (place.root / "inner").rename(place.root / "moved")
        (place.root / "inner").symlink_to(place.root.parent / "outside")
        with inner.file("a.txt") as file:
            assert file.read() == b"inside"
        with inner.new_file("new.txt") as file:
            file.write(b"x")
    assert (place.root / "moved" / "new.txt").exists()
    assert not (place.root.parent / "outside" / "new.txt").exists()


def test_links_that_are_swapped_all_the_time_never_let_a_read_or_a_write_out(place: Workspace) -> None:
    if not confine.BY_HANDLE:
        pytest.skip("this system opens nothing relative to a folder")
    swapped, done = place.root / "swapped", threading.Event()

    def swap() -> None:
        while not done.is_set():
            for target in ("inner", "../outside"):
                temporary = place.root / "temporary"
                temporary.symlink_to(target)
                temporary.replace(swapped)

    swapped.symlink_to("inner")
    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        for number in range(300):
            try:
                seen.add(content(place, "swapped/a.txt"))
                rewrite_all([Rewrite(locate(place, f"swapped/{number}"), None, b"x")])
            except ToolError:
                seen.add(b"refused")
    finally:
        done.set()
        thread.join()
    assert SECRET not in seen
    assert [path.name for path in (place.root.parent / "outside").iterdir()] == ["a.txt"]


@pytest.mark.usefixtures("way")
def test_what_is_no_plain_file_is_refused_without_waiting(place: Workspace) -> None:
    os.mkfifo(place.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        (place.root / "s").symlink_to("sock")
        here = os.getcwd()
        os.chdir(place.root)
        try:
            listener.bind("sock")
        finally:
            os.chdir(here)
        for name in ("pipe", "sock", "s"):
            with pytest.raises(ToolError, match="not a plain file"):
                content(place, name)
    with pytest.raises(ToolError, match="is a folder"):
        content(place, "inner")
    with pytest.raises(ToolError, match="is a folder"):
        content(place, ".")


def test_a_device_is_refused(place: Workspace) -> None:
    try:
        os.mknod(place.root / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only an administrator makes devices")
    with pytest.raises(ToolError, match="not a plain file"):
        content(place, "zero")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a\x00b", "NUL"),
        ("\ud800", "Unicode"),
        ("x" * 300, "too long"),
        ("x" * 5000, "characters"),
        ("x/" * 2040, "does not exist"),
        ("nothing.txt", "does not exist"),
        ("inner/a.txt/b", "not a folder"),
        ("circle", "circle"),
    ],
)
def test_a_path_that_cannot_be_is_a_plain_sentence(place: Workspace, path: str, said: str) -> None:
    (place.root / "circle").symlink_to("circle")
    with pytest.raises(ToolError, match=said) as caught:
        content(place, path)
    assert str(place.root) not in caught.value.message
    assert len(caught.value.message) < 400


def test_a_name_that_is_no_utf8_is_listed_but_leads_nowhere(place: Workspace) -> None:
    try:
        Path(os.fsdecode(bytes(place.root / "x").replace(b"x", b"bad\xff"))).write_bytes(b"")
        os.symlink(b"bad\xff", bytes(place.root / "link"))
    except OSError:
        pytest.skip("this file system takes only Unicode")
    with pytest.raises(ToolError, match="UTF-8"):
        locate(place, "link")


def test_kept_outputs_are_read_from_their_own_folder_only(place: Workspace) -> None:
    name = output_name("call")
    assert place.outputs
    place.outputs.mkdir()
    (place.outputs / f"{name.removeprefix('output:')}.txt").write_bytes(b"all of it")
    assert content(place, name) == b"all of it"
    assert locate(place, name).shown == name
    for bad in ("output:../../outside/a", "output:", name + "/..", name.upper().replace("OUTPUT", "output") + "x"):
        with pytest.raises(ToolError, match="16 hex digits"):
            locate(place, bad)
    with pytest.raises(ToolError, match="does not exist"):
        content(place, "output:" + "0" * 16)
    with pytest.raises(ToolError, match="No whole outputs"):
        locate(Workspace(place.root), name)


def test_a_kept_output_that_is_a_link_is_not_followed(place: Workspace) -> None:
    assert place.outputs
    place.outputs.mkdir()
    (place.outputs / f"{'0' * 16}.txt").symlink_to(place.root.parent / "outside" / "a.txt")
    with pytest.raises(ToolError, match="link"):
        content(place, "output:" + "0" * 16)


@pytest.mark.usefixtures("way")
def test_a_folder_is_opened_and_its_missing_folders_made(place: Workspace) -> None:
    rewrite_all([Rewrite(locate(place, "one/two/new.txt"), None, b"x")])
    assert (place.root / "one" / "two" / "new.txt").read_bytes() == b"x"
    with folder_at(locate(place, "one/two")) as folder, folder.entries() as entries:
        assert [entry.name for entry in entries] == ["new.txt"]


@pytest.mark.usefixtures("way")
def test_files_are_changed_all_or_none_and_leave_no_other_file(place: Workspace) -> None:
    one, two = (Place(place.root, ("inner", name)) for name in ("a.txt", "b"))
    blocked = Place(place.root, ("inner", "a.txt", "c"))
    with pytest.raises(ToolError):
        rewrite_all([Rewrite(one, b"inside", b"new"), Rewrite(two, None, b"x"), Rewrite(blocked, None, b"x")])
    assert [path.name for path in (place.root / "inner").iterdir()] == ["a.txt"]
    assert read_whole(one)[0] == b"inside"


@pytest.mark.usefixtures("way")
def test_a_step_that_fails_takes_back_those_before_it(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (Place(place.root, ("inner", name)) for name in ("a.txt", "b"))
    (place.root / "inner" / "a.txt").chmod(0o640)
    rename, calls = Folder.rename, []

    def full(self: Folder, old: str, new: str) -> None:
        calls.append(new)
        if new == "b":
            raise OSError(28, "no space left")
        rename(self, old, new)

    monkeypatch.setattr(Folder, "rename", full)
    with pytest.raises(ToolError, match="disk is full"):
        rewrite_all([Rewrite(one, b"inside", b"new", 0o640), Rewrite(two, None, b"x")])
    assert calls == ["a.txt", "b", "a.txt"]
    assert [path.name for path in (place.root / "inner").iterdir()] == ["a.txt"]
    assert (place.root / "inner" / "a.txt").read_bytes() == b"inside"
    assert stat.S_IMODE((place.root / "inner" / "a.txt").stat().st_mode) == 0o640


@pytest.mark.usefixtures("way")
def test_an_open_folder_whose_name_was_taken_by_a_link_does_not_lead_out(place: Workspace) -> None:
    outside = place.root.parent / "outside"
    (outside / "deep").mkdir()
    with Folder.open_root(place.root) as root, root.folder("inner") as inner:
        (place.root / "inner").rename(place.root / "moved")
        (place.root / "inner").symlink_to(outside)
        acts: list[Callable[[], object]] = [
            lambda: inner.folder("deep").close(),
            lambda: inner.folder("made", make=True).close(),
            lambda: inner.new_file("new.txt").close(),
            lambda: inner.rename("a.txt", "b.txt"),
            lambda: inner.remove("deep"),
            lambda: inner.remove("b.txt"),
        ]
        for act in acts:
            with suppress(OSError):
                act()
        with suppress(OSError), inner.file("a.txt") as file:
            assert file.read() != SECRET
    assert sorted(each.name for each in outside.iterdir()) == ["a.txt", "deep"]


def test_a_file_that_becomes_a_link_while_it_is_opened_is_refused(
    place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confine, "BY_HANDLE", False)
    monkeypatch.setattr(confine, "_NO_FOLLOW", 0)
    state = Folder.state

    def swapped(self: Folder, name: str) -> os.stat_result:
        found = state(self, name)
        (place.root / "inner" / "a.txt").unlink()
        (place.root / "inner" / "a.txt").symlink_to(place.root.parent / "outside" / "a.txt")
        return found

    monkeypatch.setattr(Folder, "state", swapped)
    with pytest.raises(ToolError, match="link"):
        content(place, "inner/a.txt")


@pytest.mark.usefixtures("way")
def test_a_file_that_is_not_as_it_was_when_the_step_was_planned_is_not_changed(place: Workspace) -> None:
    one = Place(place.root, ("inner", "a.txt"))
    for before in (b"other", None):
        with pytest.raises(ToolError, match="changed in the meantime"):
            rewrite_all([Rewrite(one, before, b"new")])
    with pytest.raises(ToolError, match="changed in the meantime"):
        rewrite_all([Rewrite(Place(place.root, ("inner", "b")), b"gone", b"new")])
    assert {path.name: path.read_bytes() for path in (place.root / "inner").iterdir()} == {"a.txt": b"inside"}


# Which folders may be a workspace


def test_a_folder_is_chosen_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert choose_workspace(f" {tmp_path / 'link'} ") == (tmp_path / "real").resolve()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "whole path"),
        ("relative/folder", "whole path"),
        ("~", "whole path"),
        ("/a\x00b", "whole path"),
        ("/" + "x" * 5000, "whole path"),
        ("/" + "x" * 300, "cannot be opened"),
        ("/\ud800", "cannot be opened"),
        ("/no/such/folder", "does not exist"),
        ("/", "whole disk"),
        ("//", "whole disk"),
        ("/proc/../", "whole disk"),
    ],
)
def test_a_folder_that_cannot_be_chosen_says_why(text: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said) as caught:
        choose_workspace(text)
    assert text.strip("/ ~.") not in caught.value.message or not text.strip("/ ~.")


def test_a_file_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadRequest, match="this is a file"):
        choose_workspace(str(tmp_path / "file"))


def test_the_home_folder_and_what_holds_it_are_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "users" / "me"
    (home / "project").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    for path in (home, home.parent, tmp_path / "link", home / "project" / ".."):
        with pytest.raises(BadRequest, match="home folder"):
            choose_workspace(str(path))
    assert choose_workspace(str(home / "project")) == (home / "project").resolve()


def test_the_servers_own_folders_are_no_workspace(tmp_path: Path) -> None:
    data = tmp_path / "server" / "data"
    (data / "outputs").mkdir(parents=True)
    (tmp_path / "server" / "data-2").mkdir()
    (tmp_path / "link").symlink_to(data)
    for path in (data, data.parent, tmp_path, data / "outputs", tmp_path / "link"):
        with pytest.raises(BadRequest, match="keeps its data"):
            choose_workspace(str(path), [data])
    assert choose_workspace(str(tmp_path / "server" / "data-2"), [data])
