"""read_file, ls, glob and grep on real files, called as the loop calls them."""

from __future__ import annotations

import asyncio
import io
import os
import re
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from contexts import context

from odysseus.tools import files
from odysseus.tools.base import OUTPUT_LIMIT, ToolError
from odysseus.tools.files import file_tools
from odysseus.tools.globs import parse_glob
from odysseus.tools.grep_worker import Findings, compiled, search
from odysseus.tools.output import output_name

TOOLS = {tool.name: tool for tool in file_tools()}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The workspace's folder."""
    return context(tmp_path).workspace.root


async def call(work: Path, name: str, **given: Any) -> str:
    """What a tool says, within what the loop lets through."""
    tool = TOOLS[name]
    result = await tool.run(tool.parse(given), context(work.parent))
    assert len(result.output) <= OUTPUT_LIMIT
    result.output.encode()
    return result.output


async def refusal(work: Path, name: str, **given: Any) -> str:
    with pytest.raises(ToolError) as caught:
        await call(work, name, **given)
    assert str(work) not in caught.value.message
    return caught.value.message


def test_the_tools_only_read_and_say_what_their_arguments_are() -> None:
    assert list(TOOLS) == ["read_file", "ls", "glob", "grep"]
    for tool in TOOLS.values():
        assert tool.reads_only
        assert tool.policy == "allow"
        assert all(field["description"] for field in tool.parameters["properties"].values())
        assert "\n" not in tool.description
    assert {name for name, tool in TOOLS.items() if tool.outside} == {"read_file", "grep"}


@pytest.mark.parametrize("name", TOOLS)
async def test_no_tool_leaves_the_workspace(work: Path, name: str) -> None:
    (work.parent / "secret").mkdir()
    (work.parent / "secret" / "a.txt").write_text("secret words", "utf-8")
    (work / "link").symlink_to("../secret")
    (work / "file").symlink_to("../secret/a.txt")
    more = {"pattern": "*" if name == "glob" else "secret"} if name in {"glob", "grep"} else {}
    for path in ("../secret", "link", "file", "/", "..", str(work.parent / "secret")):
        assert "outside of the workspace" in await refusal(work, name, path=path, **more)
    if name != "read_file":
        assert "words" not in await call(work, name, **more)


# read_file


async def test_lines_come_numbered_and_exact(work: Path) -> None:
    (work / "a.txt").write_bytes("one\n\ttwo  \n\nvier ü\n".encode())
    assert await call(work, "read_file", path="a.txt") == "1\tone\n2\t\ttwo  \n3\t\n4\tvier ü"


async def test_a_part_says_how_to_read_on(work: Path) -> None:
    (work / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 1201)), "utf-8")
    first = await call(work, "read_file", path="a.txt")
    assert first.endswith("500\tline 500\n[Lines 1-500 of 1,200; read on with offset=501.]")
    last = await call(work, "read_file", path="a.txt", offset=1199, limit=50)
    assert last == "1199\tline 1199\n1200\tline 1200"
    assert "has 1,200 lines" in await refusal(work, "read_file", path="a.txt", offset=1201)


async def test_reading_on_as_told_gives_every_line_once(work: Path) -> None:
    lines = [f"{n} " + "x" * (n % 90) for n in range(1, 1500)]
    (work / "a.txt").write_text("\n".join(lines), "utf-8")
    read, offset = [], 1
    while offset:
        page = await call(work, "read_file", path="a.txt", offset=offset, limit=10_000)
        rows = page.split("\n")
        offset = int(rows.pop().split("offset=")[1].rstrip(".]")) if rows[-1].startswith("[") else 0
        read += [row.split("\t", 1)[1] for row in rows]
    assert read == lines


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffäö\r\nzwei\r\n".encode(),
        b"\xff\xfe" + "äö\r\nzwei\r\n".encode("utf-16-le"),
        b"\xfe\xff" + "äö\nzwei".encode("utf-16-be"),
        "äö\nzwei\n".encode(),
    ],
)
async def test_texts_of_every_encoding_are_read(work: Path, content: bytes) -> None:
    (work / "a.txt").write_bytes(content)
    assert await call(work, "read_file", path="a.txt") == "1\täö\n2\tzwei"


async def test_bytes_that_are_no_utf8_do_not_stop_a_text(work: Path) -> None:
    (work / "a.txt").write_bytes(b"caf\xe9\nnext\n")
    assert await call(work, "read_file", path="a.txt") == "1\tcaf\ufffd\n2\tnext"


@pytest.mark.parametrize(
    ("content", "said"), [(b"\x89PNG\r\n\x1a\n\x00\x00", "a PNG picture of 10 bytes"), (b"ab\x00c" * 9, "binary data")]
)
async def test_binary_data_is_described_and_not_shown(work: Path, content: bytes, said: str) -> None:
    (work / "a.bin").write_bytes(content)
    assert said in await call(work, "read_file", path="a.bin")


async def test_an_empty_file_is_said_to_be_empty(work: Path) -> None:
    (work / "a.txt").write_bytes(b"")
    assert await call(work, "read_file", path="a.txt") == "[a.txt is empty.]"


async def test_a_line_of_megabytes_is_cut_and_can_be_read_on(work: Path) -> None:
    line = "".join(f"{n:07d}" for n in range(700_000))
    (work / "a.json").write_text(f"{line}\nlast\n", "utf-8")
    page = await call(work, "read_file", path="a.json")
    assert page.split("\n")[1] == "2\tlast"
    assert "Line 1 has 4,900,000 characters; see more of it with offset=1, limit=1, column=2001." in page
    more = await call(work, "read_file", path="a.json", offset=1, limit=1, column=2001)
    assert more.split("\n")[0] == f"1\t{line[2000:16_000]}"
    assert "column=16001" in more


async def test_a_huge_file_is_read_in_bounded_memory(work: Path) -> None:
    with (work / "a.log").open("wb") as file:
        file.write(b"first\n" * 2000)
        file.seek(3_000_000_000)
        file.write(b"\nlast\n")
    before = psutil.Process().memory_info().rss
    page = await call(work, "read_file", path="a.log", limit=1)
    assert page.startswith("1\tfirst\n[Lines 1-1; read on with offset=2.]")
    assert psutil.Process().memory_info().rss - before < 50_000_000


async def test_kept_outputs_are_read_and_searched(work: Path) -> None:
    name = output_name("call_7")
    outputs = work.parent / "outputs"
    outputs.mkdir()
    (outputs / f"{name.removeprefix('output:')}.txt").write_text("alpha\nbeta\n", "utf-8")
    assert await call(work, "read_file", path=name, offset=2) == "2\tbeta"
    assert await call(work, "grep", path=name, pattern="bet") == f"{name}\n2:beta"


@pytest.mark.parametrize(
    "given", [{"offset": 0}, {"limit": 0}, {"column": 0}, {"limit": 10**9}, {"path": 5}, {"p": "x"}]
)
async def test_arguments_out_of_range_are_refused(work: Path, given: dict[str, Any]) -> None:
    assert "Wrong arguments for read_file" in await refusal(work, "read_file", **{"path": "a", **given})


# ls


async def test_a_folder_is_listed_with_folders_first_and_hidden_ones(work: Path) -> None:
    (work / "src").mkdir()
    (work / ".git").mkdir()
    (work / "b.txt").write_bytes(b"x" * 1234)
    (work / ".env").write_bytes(b"x")
    (work / "link").symlink_to("b.txt")
    os.mkfifo(work / "pipe")
    assert await call(work, "ls") == ".git/\nsrc/\n.env  1\nb.txt  1,234\nlink  [link]\npipe  [not a file]"
    assert await call(work, "ls", path="src") == "[src is empty.]"
    assert "not a folder" in await refusal(work, "ls", path="b.txt")
    assert "does not exist" in await refusal(work, "ls", path="nothing")


async def test_a_full_folder_is_listed_up_to_a_limit(work: Path) -> None:
    for number in range(files.LISTED + 3):
        (work / f"{number:04d}").touch()
    listed = await call(work, "ls")
    assert listed.endswith("0499  0\n[3 more are not shown; find them with glob.]")


async def test_names_cannot_pass_for_other_lines(work: Path) -> None:
    (work / "a\nb\u202etxt").write_bytes(b"")
    (Path(os.fsdecode(bytes(work) + b"/c\xff"))).write_bytes(b"")
    assert await call(work, "ls") == "a\\x0ab\\x202etxt  0\nc\ufffd  0"
    assert await call(work, "glob", pattern="a*") == "a\\x0ab\\x202etxt"


# glob


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("**", "x/y", True),
        ("src/**", "src/x/y", True),
        ("src/**", "other/x", False),
        ("**/test_*", "a/b/test_c", True),
        ("*.{ts,tsx}", "a/b.tsx", True),
        ("{a,b{c,d}}/*", "bd/x", True),
        ("{a,b{c,d}}/*", "b/x", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("?.txt", "ab.txt", False),
        ("./a.txt", "a.txt", True),
        ("A.txt", "a.txt", False),
        ("*", ".hidden", True),
    ],
)
def test_a_pattern_fits(pattern: str, path: str, fits: bool) -> None:
    assert parse_glob(pattern).matches(path) is fits


@pytest.mark.parametrize("pattern", ["", "../*", "/etc/*", "a/../../b", "x" * 1001, "{a,b}" * 9])
def test_a_pattern_that_leaves_or_grows_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError):
        parse_glob(pattern)


def test_no_pattern_takes_long() -> None:
    begun = time.process_time()
    assert not parse_glob("**/" * 300 + "x").matches("/".join("a" * 2000))
    assert not parse_glob("*a" * 400 + "b").matches("a" * 250)
    assert time.process_time() - begun < 2


async def test_files_are_found_newest_first_and_a_few_folders_left_out(work: Path) -> None:
    for at, name in enumerate(["old.py", "src/new.py", "src/deep/newest.py", "node_modules/m.py", ".git/g.py"]):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
        os.utime(work / name, (1000 + at, 1000 + at))
    assert await call(work, "glob", pattern="*.py") == "src/deep/newest.py\nsrc/new.py\nold.py"
    assert await call(work, "glob", pattern="*.py", path="src") == "src/deep/newest.py\nsrc/new.py"
    assert await call(work, "glob", pattern="node_modules/**/*.py") == "node_modules/m.py"
    assert await call(work, "glob", pattern="*.py", path=".git") == ".git/g.py"
    assert await call(work, "glob", pattern="*.rs") == "No files found."


async def test_many_files_are_found_up_to_a_limit(work: Path) -> None:
    for number in range(files.GLOBBED + 5):
        (work / f"{number:04d}").touch()
        os.utime(work / f"{number:04d}", (1000 + number, 1000 + number))
    lines = (await call(work, "glob", pattern="*")).split("\n")
    assert (lines[0], lines[-2]) == ("0204", "0005")
    assert lines[-1].startswith("[The newest 200 of 205 files")


async def test_a_very_deep_tree_and_a_circle_of_links_end(work: Path) -> None:
    (work / "circle").symlink_to(".")
    deep = work
    for _ in range(70):
        deep = deep / "d"
        deep.mkdir()
    (deep / "x.py").touch()
    assert await call(work, "glob", pattern="*.py") == "No files found.\n[1 folders or files could not be opened.]"


# grep


async def test_matches_come_by_file_with_their_lines(work: Path) -> None:
    (work / "src").mkdir()
    (work / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n", "utf-8")
    (work / "src" / "b.txt").write_bytes(b"\xef\xbb\xbftwo\r\n")
    (work / "c.bin").write_bytes(b"two\x00two")
    assert await call(work, "grep", pattern="t[wh]") == "a.txt\n2:two\n3:three\n\nsrc/b.txt\n1:two"
    assert await call(work, "grep", pattern="^two$", path="src") == "src/b.txt\n1:two"
    assert await call(work, "grep", pattern="two", path="a.txt") == "a.txt\n2:two"
    assert await call(work, "grep", pattern="TWO", ignore_case=True, glob="src/*") == "src/b.txt\n1:two"
    assert await call(work, "grep", pattern="TWO") == "No matches."


async def test_context_lines_are_told_once_and_in_order(work: Path) -> None:
    (work / "a.txt").write_text("\n".join("abXdXfghiXk"), "utf-8")
    found = await call(work, "grep", pattern="X", context=1)
    assert found == "a.txt\n2-b\n3:X\n4-d\n5:X\n6-f\n--\n9-i\n10:X\n11-k"


async def test_grep_leaves_out_the_same_folders_and_passes_over_pipes(work: Path) -> None:
    for name in ("node_modules/a.js", ".venv/b.js", "c.js"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("needle", "utf-8")
    os.mkfifo(work / "pipe.js")
    assert await call(work, "grep", pattern="needle") == "c.js\n1:needle\n[1 folders or files could not be opened.]"
    assert "node_modules/a.js" in await call(work, "grep", pattern="needle", path="node_modules")


async def test_a_long_line_is_cut_around_its_match(work: Path) -> None:
    (work / "a.json").write_text("x" * 3_000_000 + "needle" + "y" * 3_000_000, "utf-8")
    found = await call(work, "grep", pattern="needle")
    assert "needle" in found
    assert len(found) < 500


async def test_matches_are_limited(work: Path) -> None:
    (work / "a.txt").write_text("hit\n" * 5000, "utf-8")
    found = await call(work, "grep", pattern="hit")
    assert "200:hit\n" in found
    assert "201:hit" not in found
    assert "Stopped after 200 matches" in found
    (work / "a.txt").write_text(("hit" + "x" * 290 + "\n") * 5000, "utf-8")
    assert "Narrow the pattern" in await call(work, "grep", pattern="hit")


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(?P<x>", "*", "[", "(?<=a+)b"])
def test_a_wrong_pattern_is_explained(pattern: str) -> None:
    with pytest.raises(ToolError, match="not a regular expression"):
        compiled(pattern, ignore_case=False)


async def test_a_search_that_cannot_be_made_is_refused(work: Path) -> None:
    assert "not a regular expression" in await refusal(work, "grep", pattern="(")
    assert "cannot leave it" in await refusal(work, "grep", pattern="x", glob="../*")
    assert "does not exist" in await refusal(work, "grep", pattern="x", path="nothing")


async def test_a_pattern_that_would_take_for_ever_is_ended(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SECONDS", 0.7)
    (work / "a.txt").write_text("a" * 60 + "\n", "utf-8")
    tool = TOOLS["grep"]
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    result = await tool.run(tool.parse({"pattern": "(a|a)*$b"}), context(work.parent))
    ticking.cancel()
    assert result.exit_code == 1
    assert "Use a simpler pattern" in result.output
    assert ticks > 20
    assert searching() == []


def test_a_match_is_told_at_once_in_case_that_time_is_up_before_the_next() -> None:
    told: list[str] = []

    class Told(io.StringIO):
        def flush(self) -> None:
            told.append(self.getvalue())

    out = Told()
    search(io.BytesIO(b"one\nhit\nmore\nhit\n"), "a.txt", re.compile("hit"), Findings(out, 0))
    assert told[:2] == ["a.txt\n2:hit\n", "a.txt\n2:hit\n4:hit\n"]


async def test_a_search_that_is_stopped_leaves_no_process(work: Path) -> None:
    (work / "a.txt").write_text("a" * 60 + "\n", "utf-8")
    task = asyncio.create_task(call(work, "grep", pattern="(a|a)*$b"))
    async with asyncio.timeout(10):
        while not searching():
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert searching() == []


def searching() -> list[int]:
    """The searching processes of this test."""
    return [child.pid for child in psutil.Process().children() if "grep_worker" in " ".join(child.cmdline())]
