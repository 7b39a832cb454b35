"""write_file, edit_file and apply_patch on real files, with what files held kept in a real database."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from contexts import context
from serving import HandClock

from odysseus.errors import NotFound
from odysseus.store.changes import SIZE_LIMIT, ChangeStore
from odysseus.store.db import Database
from odysseus.store.runs import RunStart, RunStore
from odysseus.store.sessions import SessionStore
from odysseus.tools import edits
from odysseus.tools.base import Tool, ToolContext, ToolError, ToolResult
from odysseus.tools.confine import Folder
from odysseus.tools.edits import TITLED_LIMIT, edit_tools


@dataclass(frozen=True)
class Desk:
    """The tools, a workspace and a run to work for."""

    tools: dict[str, Tool]
    context: ToolContext
    changes: ChangeStore
    runs: RunStore

    @property
    def work(self) -> Path:
        return self.context.workspace.root

    async def call(self, name: str, **given: Any) -> ToolResult:
        tool = self.tools[name]
        return await tool.run(tool.parse(given), self.context)

    async def preview(self, name: str, **given: Any) -> tuple[str, str]:
        tool = self.tools[name]
        shown = await tool.preview(tool.parse(given), self.context)
        return shown.content, shown.fingerprint

    async def refusal(self, name: str, **given: Any) -> str:
        """Why a call is refused, said by the preview as by the run; no file is changed."""
        before = self.files()
        with pytest.raises(ToolError) as caught:
            await self.preview(name, **given)
        with pytest.raises(ToolError) as again:
            await self.call(name, **given)
        assert caught.value.message == again.value.message
        assert str(self.work) not in caught.value.message
        assert self.files() == before
        return caught.value.message

    def files(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.work)): path.read_bytes() for path in self.work.rglob("*") if path.is_file()}

    async def kept(self) -> list[tuple[str, bytes | None]]:
        return [(each.path, each.before) for each in (await self.changes.of_run("r" * 32)).changes]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """The tools with a run that goes on."""
    db, clock = await Database.open(tmp_path / "db.sqlite3"), HandClock()
    session = await SessionStore(db, clock).create(name="", endpoint_id="up", model="m", mode="agent")
    runs, changes = RunStore(db, clock), ChangeStore(db, clock)
    await runs.begin(RunStart("r" * 32, session.id, "agent", "q", "up", "m"))
    yield Desk({tool.name: tool for tool in edit_tools(changes)}, context(tmp_path), changes, runs)
    await db.close()


def test_the_tools_ask_and_say_what_they_do() -> None:
    tools = edit_tools(ChangeStore(None, HandClock()))  # type: ignore[arg-type]
    assert [tool.name for tool in tools] == ["write_file", "edit_file", "apply_patch"]
    assert {tool.policy for tool in tools} == {"ask"}
    assert [sorted(tool.effects) for tool in tools] == [["write"], ["write"], ["destructive", "write"]]
    for tool in tools:
        assert all(field["description"] for field in tool.parameters["properties"].values())


# write_file


async def test_a_new_file_is_written_with_its_folders(desk: Desk) -> None:
    result = await desk.call("write_file", path="src/deep/a.txt", content="ä\nb")
    assert desk.files() == {"src/deep/a.txt": "ä\nb".encode()}
    assert result.output == "Made src/deep/a.txt (+2 -0 lines)."
    diff = result.extras["diff"]
    assert (diff["file"], diff["added"], diff["removed"]) == ("src/deep/a.txt", 2, 0)
    assert diff["text"].startswith("--- /dev/null\n+++ b/src/deep/a.txt\n@@ -0,0 +1,2 @@\n+ä\n+b\n\\ No newline")
    assert await desk.kept() == [("src/deep/a.txt", None)]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((desk.work / "src/deep/a.txt").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n"),
        (b"a\nb\n", "c\r\nd\r\n", b"c\nd\n"),
        (b"a\n", "b", b"b\n"),
        (b"a", "b", b"b"),
        (b"a\n", "", b""),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        ("\ufeffä\r\n".encode("utf-16-le"), "ö\n", "\ufeffö\r\n".encode("utf-16-le")),
        (b"\x00\x01binary", "text\n", b"text\n"),
        (b"", "a", b"a"),
    ],
)
async def test_writing_over_a_file_keeps_its_shape(desk: Desk, before: bytes, content: str, after: bytes) -> None:
    (desk.work / "a.txt").write_bytes(before)
    await desk.call("write_file", path="a.txt", content=content)
    assert desk.files() == {"a.txt": after}
    assert await desk.kept() == [("a.txt", before)]


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o666, 0o4750])
async def test_the_mode_of_a_file_is_kept(desk: Desk, mode: int) -> None:
    (desk.work / "run.sh").write_text("one\n", "utf-8")
    (desk.work / "run.sh").chmod(mode)
    await desk.call("write_file", path="run.sh", content="two\n")
    await desk.call("edit_file", path="run.sh", old="two", new="three")
    assert stat.S_IMODE((desk.work / "run.sh").stat().st_mode) == mode


async def test_writing_what_is_there_changes_and_keeps_nothing(desk: Desk) -> None:
    (desk.work / "a.txt").write_bytes(b"a\n")
    before = (desk.work / "a.txt").stat().st_ino
    result = await desk.call("write_file", path="a.txt", content="a\n")
    assert result.output.startswith("Nothing changed")
    assert (await desk.kept(), (desk.work / "a.txt").stat().st_ino) == ([], before)


async def test_a_link_that_stays_inside_is_written_through_and_stays_a_link(desk: Desk) -> None:
    (desk.work / "a.txt").write_bytes(b"a\n")
    (desk.work / "link").symlink_to("a.txt")
    await desk.call("write_file", path="link", content="b\n")
    assert (desk.work / "link").is_symlink()
    assert (desk.work / "a.txt").read_bytes() == b"b\n"
    assert await desk.kept() == [("a.txt", b"a\n")]


@pytest.mark.parametrize(
    "path", ["../a.txt", "out/new.txt", "file", "dangling", "/etc/new", ".", "", "output:" + "0" * 16]
)
@pytest.mark.parametrize("name", ["write_file", "edit_file", "apply_patch"])
async def test_nothing_is_written_outside(desk: Desk, name: str, path: str) -> None:
    outside = desk.work.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_bytes(b"a\n")
    (desk.work / "out").symlink_to(outside)
    (desk.work / "file").symlink_to(outside / "a.txt")
    (desk.work / "dangling").symlink_to(outside / "new.txt")
    given = {
        "write_file": {"path": path, "content": "x"},
        "edit_file": {"path": path, "old": "a", "new": "b"},
        "apply_patch": {"patch": f"*** Begin Patch\n*** Add File: {path or ' '}\n+x\n*** End Patch"},
    }
    await desk.refusal(name, **given[name])
    assert {each.name: each.read_bytes() for each in outside.iterdir()} == {"a.txt": b"a\n"}


async def test_special_files_folders_and_read_only_files_are_refused(desk: Desk) -> None:
    os.mkfifo(desk.work / "pipe")
    (desk.work / "folder").mkdir()
    (desk.work / "locked").write_bytes(b"a\n")
    (desk.work / "locked").chmod(0o444)
    assert "not a plain file" in await desk.refusal("write_file", path="pipe", content="x")
    assert "is a folder" in await desk.refusal("write_file", path="folder", content="x")
    assert "not a folder" in await desk.refusal("write_file", path="locked/x", content="x")
    assert "read-only" in await desk.refusal("write_file", path="locked", content="x")


async def test_files_over_the_limit_are_refused(desk: Desk) -> None:
    (desk.work / "big").write_bytes(b"a" * (SIZE_LIMIT + 1))
    assert "larger than 5 MB" in await desk.refusal("edit_file", path="big", old="a", new="b")
    assert "larger than 5 MB" in await desk.refusal("write_file", path="big", content="b")
    assert "larger than 5 MB" in await desk.refusal("write_file", path="new", content="b" * (SIZE_LIMIT + 1))


async def test_text_that_no_file_can_hold_is_made_plain(desk: Desk) -> None:
    await desk.call("write_file", path="a.txt", content="a\ud800b\x00")
    assert desk.files() == {"a.txt": "a\ufffdb\ufffd".encode()}


# edit_file


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\nb\nc", "b\n", "B\nBB\n", b"a\nB\nBB\nc"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\nc\r\nd\r\n", "b\nc\n", "x\n", b"a\r\nx\r\nd\r\n"),
        (b"a\nb\n", "a\r\nb", "c\r\nd", b"c\nd\n"),
        (b"\xef\xbb\xbfa b", "a", "\u00e4", b"\xef\xbb\xbf\xc3\xa4 b"),
        (b"caf\xe9 a\n", "a\n", "b\n", b"caf\xe9 b\n"),
        ("\ufeffa b".encode("utf-16-be"), "b", "ü", "\ufeffa ü".encode("utf-16-be")),
        (b"(a|b)*\\d $1", "(a|b)*\\d", "\\1 \\g<0>", b"\\1 \\g<0> $1"),
        (b"only", "only", "", b""),
    ],
)
async def test_an_edit_changes_exactly_that(desk: Desk, before: bytes, old: str, new: str, after: bytes) -> None:
    (desk.work / "a.txt").write_bytes(before)
    await desk.call("edit_file", path="a.txt", old=old, new=new)
    assert desk.files() == {"a.txt": after}


async def test_every_place_is_changed_when_asked_for(desk: Desk) -> None:
    (desk.work / "a.txt").write_bytes(b"x y\nx y\n")
    said = await desk.refusal("edit_file", path="a.txt", old="x", new="z")
    assert "found 2 times (at lines 1, 2)" in said
    assert "replace_all" in said
    result = await desk.call("edit_file", path="a.txt", old="x", new="z", replace_all=True)
    assert desk.files() == {"a.txt": b"z y\nz y\n"}
    assert result.extras["diff"]["added"] == 2


async def test_text_that_is_not_there_is_answered_with_the_nearest_lines(desk: Desk) -> None:
    (desk.work / "a.py").write_bytes(b"import os\n\n\ndef first():\n    return os.name\n")
    said = await desk.refusal("edit_file", path="a.py", old="def first():\n  return os.name", new="x")
    assert "found 0 times" in said
    assert "4\tdef first():\n5\t    return os.name\n" in said
    assert "5\t    return os.name" in await desk.refusal("edit_file", path="a.py", old="return os.nam()", new="x")
    assert "nothing like it" in await desk.refusal("edit_file", path="a.py", old="class Quite(Different)", new="x")


async def test_an_edit_of_nothing_is_refused(desk: Desk) -> None:
    (desk.work / "a.bin").write_bytes(b"a\x00b")
    assert "not a text file" in await desk.refusal("edit_file", path="a.bin", old="a", new="b")
    (desk.work / "a.txt").write_bytes(b"a")
    assert "old is empty" in await desk.refusal("edit_file", path="a.txt", old="", new="b")
    assert "are the same" in await desk.refusal("edit_file", path="a.txt", old="a", new="a")
    assert "does not exist" in await desk.refusal("edit_file", path="b.txt", old="a", new="b")


# apply_patch

PATCH = """*** Begin Patch
*** Update File: a.txt
-one
+eins
*** Add File: new/b.txt
+b
*** Delete File: c.txt
*** Update File: d.sh
*** Move to: sub/e.sh
-four
+vier
*** End Patch"""


def laid_out(desk: Desk) -> dict[str, bytes]:
    """The files that PATCH is for."""
    (desk.work / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    (desk.work / "c.txt").write_bytes(b"three\n")
    (desk.work / "d.sh").write_bytes(b"four")
    (desk.work / "d.sh").chmod(0o755)
    return desk.files()


async def test_a_patch_changes_adds_deletes_and_moves(desk: Desk) -> None:
    laid_out(desk)
    result = await desk.call("apply_patch", patch=PATCH)
    assert desk.files() == {"a.txt": b"eins\r\ntwo\r\n", "new/b.txt": b"b\n", "sub/e.sh": b"vier"}
    assert stat.S_IMODE((desk.work / "sub/e.sh").stat().st_mode) == 0o755
    assert result.output.split("\n") == [
        "Changed a.txt (+1 -1 lines).",
        "Made new/b.txt (+1 -0 lines).",
        "Deleted c.txt.",
        "Deleted d.sh.",
        "Made sub/e.sh (+1 -0 lines).",
    ]
    diff = result.extras["diff"]
    assert (diff["file"], diff["added"], diff["removed"]) == ("a.txt …and 4 more", 3, 3)
    assert diff["text"].count("--- ") == 5


@pytest.mark.parametrize(
    "wrong",
    [
        "*** Update File: c.txt\n-not there\n+x\n",
        "*** Add File: c.txt\n+x\n",
        "*** Delete File: missing.txt\n",
        "*** Update File: c.txt\n*** Move to: a.txt\n",
        "*** Add File: ../out.txt\n+x\n",
        "*** Add File: a.txt/x\n+x\n",
    ],
)
async def test_a_patch_with_one_wrong_file_changes_none(desk: Desk, wrong: str) -> None:
    files = laid_out(desk)
    await desk.refusal("apply_patch", patch=f"*** Begin Patch\n*** Update File: a.txt\n-one\n+x\n{wrong}*** End Patch")
    assert desk.files() == files
    assert await desk.kept() == []


async def test_a_file_named_twice_gets_both_changes(desk: Desk) -> None:
    laid_out(desk)
    await desk.call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Update File: ./a.txt\n-two\n+2\n*** End Patch",
    )
    assert desk.files()["a.txt"] == b"1\r\n2\r\n"
    assert await desk.kept() == [("a.txt", b"one\r\ntwo\r\n")]


async def test_a_unified_diff_deletes_only_what_it_knows(desk: Desk) -> None:
    (desk.work / "c.txt").write_bytes(b"three\nmore\n")
    patch = "--- a/c.txt\n+++ /dev/null\n@@ -1,{} +0,0 @@\n-three\n{}"
    assert "holds more" in await desk.refusal("apply_patch", patch=patch.format(1, ""))
    await desk.call("apply_patch", patch=patch.format(2, "-more\n"))
    assert desk.files() == {}


def test_a_patch_has_a_title_on_one_line() -> None:
    tool = edit_tools(ChangeStore(None, HandClock()))[2]  # type: ignore[arg-type]
    assert tool.command(tool.parse({"patch": PATCH})) == "update a.txt and 3 more"
    assert tool.command(tool.parse({"patch": "nonsense"})) == "a patch"
    assert tool.command(tool.parse({"patch": PATCH + " " * TITLED_LIMIT})) == "a long patch"


# What is shown is what happens


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("write_file", {"path": "a.txt", "content": "new\n"}),
        ("edit_file", {"path": "a.txt", "old": "one", "new": "1"}),
        ("apply_patch", {"patch": PATCH}),
    ],
)
async def test_the_preview_is_the_diff_that_comes_and_names_the_state(desk: Desk, name: str, given: Any) -> None:
    files = laid_out(desk)
    content, fingerprint = await desk.preview(name, **given)
    assert desk.files() == files
    assert (await desk.preview(name, **given))[1] == fingerprint
    (desk.work / "a.txt").write_bytes(b"one\nother\n")
    assert (await desk.preview(name, **given))[1] != fingerprint
    (desk.work / "a.txt").write_bytes(files["a.txt"])
    assert (await desk.preview(name, **given))[1] == fingerprint
    assert (await desk.call(name, **given)).extras["diff"]["text"] == content


async def test_a_long_diff_is_cut_in_the_row_and_whole_in_the_preview(desk: Desk) -> None:
    text = "".join(f"line {n}\n" for n in range(10_000))
    content, _ = await desk.preview("write_file", path="a.txt", content=text)
    assert "\n+line 5000\n" in content
    shown = (await desk.call("write_file", path="a.txt", content=text)).extras["diff"]["text"]
    assert len(shown) < 21_000
    assert "left out here" in shown


# What files held is kept


async def test_incognito_keeps_nothing(desk: Desk, tmp_path: Path) -> None:
    (desk.work / "a.txt").write_bytes(b"one\n")
    tool = desk.tools["edit_file"]
    hidden = context(tmp_path, incognito=True, run_id="unknown")
    await tool.run(tool.parse({"path": "a.txt", "old": "one", "new": "two"}), hidden)
    assert desk.files() == {"a.txt": b"two\n"}
    assert await desk.kept() == []


async def test_nothing_is_written_when_nothing_can_be_kept(desk: Desk, tmp_path: Path) -> None:
    (desk.work / "a.txt").write_bytes(b"one\n")
    tool = desk.tools["edit_file"]
    with pytest.raises(NotFound):
        await tool.run(tool.parse({"path": "a.txt", "old": "one", "new": "two"}), context(tmp_path, run_id="gone"))
    assert desk.files() == {"a.txt": b"one\n"}


async def test_a_cancelled_write_is_whole_and_kept_or_never_begun(desk: Desk) -> None:
    for number in range(12):
        task = asyncio.create_task(desk.call("write_file", path=f"{number}.txt", content="x" * 100_000))
        for _ in range(number):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not desk.changes.lock.locked()
    files = desk.files()
    assert set(files.values()) <= {b"x" * 100_000}
    assert {path for path, _ in await desk.kept()} == set(files)
    assert files


async def test_edits_side_by_side_lose_nothing(desk: Desk) -> None:
    (desk.work / "a.txt").write_text("".join(f"<{n}>\n" for n in range(20)), "utf-8")
    await asyncio.gather(
        *(desk.call("edit_file", path="a.txt", old=f"<{n}>", new=f"[{n}]") for n in range(20)),
    )
    assert desk.files()["a.txt"].decode() == "".join(f"[{n}]\n" for n in range(20))


async def test_a_patch_of_very_many_files_is_refused(desk: Desk) -> None:
    files = "".join(f"*** Add File: {n}\n+x\n" for n in range(edits.FILES_LIMIT + 1))
    assert "Send it in parts" in await desk.refusal("apply_patch", patch=f"*** Begin Patch\n{files}*** End Patch")


async def test_a_binary_file_can_be_moved_and_deleted_by_a_patch(desk: Desk) -> None:
    (desk.work / "a.bin").write_bytes(b"\x00\x01")
    patch = "*** Begin Patch\n{}\n*** End Patch"
    await desk.call("apply_patch", patch=patch.format("*** Update File: a.bin\n*** Move to: b.bin"))
    assert desk.files() == {"b.bin": b"\x00\x01"}
    await desk.call("apply_patch", patch=patch.format("*** Delete File: b.bin"))
    assert desk.files() == {}


async def test_what_a_private_file_holds_is_never_open_to_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.work / "secret").write_bytes(b"one\n")
    (desk.work / "secret").chmod(0o600)
    seen = []
    new_file = Folder.new_file

    def watched(self: Folder, name: str, *, private: bool = False) -> BinaryIO:
        file = new_file(self, name, private=private)
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        return file

    monkeypatch.setattr(Folder, "new_file", watched)
    await desk.call("write_file", path="secret", content="two\n")
    assert seen == [0o600]
    assert stat.S_IMODE((desk.work / "secret").stat().st_mode) == 0o600
