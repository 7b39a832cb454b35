"""Taking back what a run did to files, through the real server: all of it, or nothing and the reason."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from serving import Server

from odysseus.store.changes import Change, content_hash
from odysseus.store.runs import RunStart, RunStore
from odysseus.tools.base import Tool, ToolContext, ToolError
from odysseus.tools.confine import Folder
from odysseus.tools.edits import edit_tools
from odysseus.tools.workspace import Workspace

RUN = "run-1"


@dataclass
class Job:
    """A run that works in a folder, on a server."""

    server: Server
    work: Path
    tools: dict[str, Tool] = field(default_factory=dict)

    async def begin(self, run_id: str = RUN) -> None:
        """A run that has ended as far as the server knows, whose calls come now."""
        services = self.server.services
        session = await self.server.session()
        await RunStore(services.db, services.clock).begin(RunStart(run_id, session, "agent", "q", "up", "m"))
        await self.status(run_id, "completed")
        self.tools = {tool.name: tool for tool in edit_tools(services.changes)}

    async def status(self, run_id: str, status: str) -> None:
        def work(db: Any) -> None:
            db.execute("UPDATE runs SET status = ? WHERE run_id = ?", (status, run_id))

        await self.server.services.db.write(work)

    async def call(self, name: str, run_id: str = RUN, **given: Any) -> None:
        tool = self.tools[name]
        context = ToolContext("s", run_id, "c", Workspace(self.work), lambda _message, _tail: None)
        await tool.run(tool.parse(given), context)

    async def undo(self, status: int = 200, run_id: str = RUN) -> Any:
        return await self.server.post(f"/api/runs/{run_id}/undo", status=status)

    def files(self) -> dict[str, tuple[bytes, int]]:
        """What the folder holds, with modes."""
        return {
            str(path.relative_to(self.work)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
            for path in self.work.rglob("*")
            if path.is_file()
        }


@pytest.fixture
async def job(server: Server, tmp_path: Path) -> Job:
    """A run with a folder that holds two files."""
    work = (tmp_path / "work").resolve()
    work.mkdir()
    (work / "a.txt").write_bytes(b"one\r\ntwo")
    (work / "run.sh").write_bytes(b"\xef\xbb\xbf#!\n")
    (work / "run.sh").chmod(0o750)
    made = Job(server, work)
    await made.begin()
    return made


async def changed(job: Job) -> None:
    """Everything that a run can do to files."""
    await job.call("edit_file", path="a.txt", old="one", new="1")
    await job.call("write_file", path="sub/new.txt", content="new\n")
    await job.call("edit_file", path="a.txt", old="two", new="2")
    await job.call("write_file", path="run.sh", content="other\n")
    await job.call(
        "apply_patch",
        patch="*** Begin Patch\n*** Delete File: run.sh\n*** Update File: a.txt\n*** Move to: b.txt\n*** End Patch",
    )
    await job.call("edit_file", path="sub/new.txt", old="new", new="newer")


async def test_a_run_is_taken_back_with_modes_and_new_files_gone(job: Job) -> None:
    before = job.files()
    await changed(job)
    assert set(job.files()) == {"b.txt", "sub/new.txt"}
    answer = await job.undo()
    assert answer == {"status": "ok", "files": ["a.txt", "b.txt", "run.sh", "sub/new.txt"]}
    assert job.files() == before


async def test_a_second_undo_and_an_empty_one_are_conflicts(job: Job) -> None:
    assert "changed no files" in (await job.undo(409))["error"]
    await changed(job)
    await job.undo()
    after = job.files()
    assert "undone already" in (await job.undo(409))["error"]
    assert job.files() == after


async def test_an_unknown_run_is_not_found_and_a_going_one_is_left_alone(job: Job) -> None:
    await job.undo(404, "unknown")
    await changed(job)
    await job.status(RUN, "running")
    assert "still goes on" in (await job.undo(409))["error"]


@pytest.mark.parametrize("spoil", ["write", "delete", "revert", "link", "folder", "return", "parent"])
async def test_a_file_that_has_changed_since_stops_the_whole_undo(job: Job, spoil: str) -> None:
    await changed(job)
    target = job.work / "sub" / "new.txt"
    match spoil:
        case "write":
            target.write_bytes(b"mine\n")
        case "delete":
            target.unlink()
        case "revert":
            target = job.work / "a.txt"
            target.write_bytes(b"one\r\ntwo")
        case "link":
            (job.work.parent / "outside").write_bytes(target.read_bytes())
            target.unlink()
            target.symlink_to(job.work.parent / "outside")
        case "folder":
            target.unlink()
            target.mkdir()
        case "return":
            target = job.work / "run.sh"
            target.write_bytes(b"made again\n")
        case "parent":
            (job.work / "sub").rename(job.work.parent / "elsewhere")
            (job.work / "sub").symlink_to(job.work.parent / "elsewhere")
    before = job.files()
    error = (await job.undo(409))["error"]
    assert str(target.relative_to(job.work)) in error
    assert "b.txt" not in error
    assert str(job.work) not in error
    assert job.files() == before
    assert (job.work / "b.txt").read_bytes() == b"1\r\n2"


async def test_after_the_file_is_as_the_run_left_it_the_undo_goes(job: Job) -> None:
    before = job.files()
    await changed(job)
    (job.work / "b.txt").write_bytes(b"mine\n")
    await job.undo(409)
    (job.work / "b.txt").write_bytes(b"1\r\n2")
    await job.undo()
    assert job.files() == before


async def test_what_the_user_wrote_between_two_steps_is_not_lost(job: Job) -> None:
    await job.call("edit_file", path="a.txt", old="one", new="1")
    (job.work / "a.txt").write_bytes(b"1\r\ntwo\r\nmine")
    await job.call("edit_file", path="a.txt", old="two", new="2")
    assert "a.txt" in (await job.undo(409))["error"]
    assert (job.work / "a.txt").read_bytes() == b"1\r\n2\r\nmine"


async def test_a_later_run_is_undone_first(job: Job) -> None:
    await job.call("edit_file", path="a.txt", old="one", new="1")
    await job.begin("run-2")
    await job.call("edit_file", "run-2", path="a.txt", old="1", new="eins")
    await job.undo(409)
    await job.undo(200, "run-2")
    await job.undo()
    assert (job.work / "a.txt").read_bytes() == b"one\r\ntwo"


async def test_a_step_that_could_not_be_taken_does_not_matter(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    before = job.files()
    await job.call("edit_file", path="a.txt", old="one", new="1")

    def full(_self: Folder, _name: str, **_: Any) -> Any:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "new_file", full)
        with pytest.raises(ToolError, match="disk is full"):
            await job.call("edit_file", path="a.txt", old="two", new="2")
    await job.call("write_file", path="new.txt", content="x")
    await job.undo()
    assert job.files() == before


async def test_a_run_that_died_between_keeping_and_writing_can_be_undone(job: Job) -> None:
    before = job.files()
    await job.call("edit_file", path="a.txt", old="one", new="1")
    lost = Change(str(job.work), "run.sh", before["run.sh"][0], before["run.sh"][1], content_hash(b"never written"))
    await job.server.services.changes.record(RUN, [lost])
    assert "run.sh" in (await job.undo(409))["error"]
    await job.status(RUN, "interrupted")
    await job.undo()
    assert job.files() == before


async def test_an_undo_that_fails_in_the_middle_changes_nothing(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    await changed(job)
    before = job.files()
    remove = Folder.remove

    def refuse(self: Folder, name: str) -> None:
        if name == "b.txt":
            raise PermissionError(13, "denied")
        remove(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "remove", refuse)
        assert "Nothing was undone" in (await job.undo(409))["error"]
    assert job.files() == before
    await job.undo()
    assert "b.txt" not in job.files()


async def test_a_workspace_that_is_gone_is_a_conflict(job: Job) -> None:
    await changed(job)
    os.rename(job.work, job.work.parent / "moved")
    error = (await job.undo(409))["error"]
    assert "b.txt" in error
    assert not job.work.exists()


async def test_the_undo_of_a_deleted_session_is_not_found(job: Job) -> None:
    await changed(job)
    for session in await job.server.get("/api/sessions"):
        await job.server.call("DELETE", f"/api/session/{session['id']}")
    await job.undo(404)
