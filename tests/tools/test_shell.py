"""`bash` and `python`, called as the loop calls them: what the model reads, what the user is shown."""

from __future__ import annotations

import asyncio
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from contexts import context
from leftovers import leftovers

from odysseus.config import ShellConfig
from odysseus.tools import shell as shell_module
from odysseus.tools.base import Tool, ToolContext, ToolError, ToolResult
from odysseus.tools.output import KEPT_LIMIT, fit, output_name, output_path
from odysseus.tools.shell import TAIL, shell_tools

CONFIG = ShellConfig(seconds=10, cpu_seconds=10, memory_mb=1024)
GUARD = 20.0


def tool(name: str, config: ShellConfig = CONFIG) -> Tool:
    return {tool.name: tool for tool in shell_tools(config)}[name]


async def call(given: Tool, where: ToolContext, **arguments: Any) -> ToolResult:
    """The result, after everything that must hold for each."""
    result = await asyncio.wait_for(given.run(given.parse(arguments), where), GUARD)
    assert leftovers(where.workspace.root) == []
    assert len(result.output) <= given.output_limit
    assert await fit(result.output, given.output_limit, where.workspace.outputs, where.call_id) == result.output
    return result


async def bash(folder: Path, command: str, **more: Any) -> ToolResult:
    return await call(tool("bash"), context(folder), command=command, **more)


async def python(folder: Path, code: str, **more: Any) -> ToolResult:
    return await call(tool("python"), context(folder), code=code, **more)


def kept(folder: Path) -> str:
    return output_path(folder / "outputs", output_name("call_1")).read_text("utf-8")


def test_both_ask_and_say_what_they_can_do() -> None:
    for given in shell_tools(CONFIG):
        assert given.policy == "ask"
        assert given.outside
        assert given.effects == {"execute", "write", "network"}
        assert given.seconds > CONFIG.seconds
        assert "10 s" in given.description
        assert "\n" not in given.description
        assert all("description" in field for field in given.parameters["properties"].values())


def test_a_system_that_cannot_confine_programs_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_module, "OFFERED", False)
    assert shell_tools(CONFIG) == ()


def test_a_secret_among_the_kept_variables_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    shell_tools(ShellConfig(keep_env=("EDITOR", "GH_TOKEN")))
    assert [record.args for record in caplog.records] == [("GH_TOKEN",)]


async def test_a_command_works_in_the_workspace(tmp_path: Path) -> None:
    result = await bash(tmp_path, "echo text > file; pwd; ls")
    assert (result.output, result.exit_code) == (f"{tmp_path}/work\nfile", 0)


async def test_a_program_runs_in_the_workspace_with_this_python(tmp_path: Path) -> None:
    result = await python(tmp_path, "import os, sys\nprint(os.getcwd(), sys.executable, sys.flags.isolated)")
    assert (result.output, result.exit_code) == (f"{tmp_path}/work {sys.executable} 1", 0)


async def test_a_module_in_the_workspace_hides_none_of_the_library(tmp_path: Path) -> None:
    where = context(tmp_path)
    for name in ("json.py", "signal.py", "ctypes.py", "process_keeper.py"):
        (where.workspace.root / name).write_text("raise SystemExit('taken over')", "utf-8")
    assert (await call(tool("python"), where, code="import json, ctypes; print(json.dumps(1))")).output == "1"


async def test_a_traceback_shows_the_line(tmp_path: Path) -> None:
    result = await python(tmp_path, "def half(x):\n    return x / 0\nhalf(1)")
    assert "return x / 0" in result.output
    assert result.output.endswith("ZeroDivisionError: division by zero\n[exit code 1]")


async def test_a_long_program_in_any_script_runs(tmp_path: Path) -> None:
    assert (await python(tmp_path, "# 世界" * 100_000 + "\nprint('Grüße 🙂')")).output == "Grüße 🙂"


async def test_silence_is_told(tmp_path: Path) -> None:
    assert await bash(tmp_path, "true") == ToolResult("[no output]", 0)
    assert await bash(tmp_path, "exit 3") == ToolResult("[exit code 3]", 3)


@pytest.mark.parametrize(
    ("command", "code", "line"),
    [
        ("echo hi; exit 7", 7, "hi\n[exit code 7]"),
        ("kill -9 $$", 137, "[exit code 137: ended by SIGKILL]"),
        ("while :; do :; done", 152, "[exit code 152: it used up its 1 s of processor time]"),
        ("echo hi; sleep 60", 124, "hi\n[exit code 124: it was ended at its time limit of 1 s]"),
    ],
)
async def test_an_end_that_is_no_success_is_explained(tmp_path: Path, command: str, code: int, line: str) -> None:
    limited = tool("bash", ShellConfig(seconds=10, cpu_seconds=1))
    seconds = 1 if code == 124 else 0
    assert await call(limited, context(tmp_path), command=command, timeout=seconds) == ToolResult(line, code)


@pytest.mark.parametrize(("timeout", "seconds"), [(0, 10), (-5, 10), (3, 3), (10_000, 10), (10**30, 10)])
async def test_the_time_limit_is_never_over_the_settings(tmp_path: Path, timeout: int, seconds: int) -> None:
    given = tool("bash")
    preview = await given.preview(given.parse({"command": "x", "timeout": timeout}), context(tmp_path))
    assert f"Time limit: {seconds} s\n" in preview.content


async def test_the_preview_is_the_whole_command_and_where_it_runs(tmp_path: Path) -> None:
    command = "echo 'a  b' \\\n  && rm -rf x\n\nWorking folder: /safe\n" + "#" * 100_000
    given = tool("bash")
    preview = await given.preview(given.parse({"command": command}), context(tmp_path))
    assert preview.content == f"Working folder: {tmp_path}/work\nTime limit: 10 s\n\n{command}"


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\x1b[8m", "\r", "\u2028", "\U000e0041"])
async def test_characters_that_do_not_show_are_warned_of(tmp_path: Path, hidden: str) -> None:
    given = tool("python")
    preview = await given.preview(given.parse({"code": f"print(1){hidden}"}), context(tmp_path))
    assert "do not show" in preview.content


def test_the_command_for_people_is_the_whole_text() -> None:
    text = "\n  ls   -l\nrm x"
    assert tool("bash").command(tool("bash").parse({"command": text})) == text


@pytest.mark.parametrize(
    ("command", "words"), [(" \n", "nothing to run"), ("echo \0", "NUL"), ("#" * 5_000_000, "long")]
)
async def test_what_cannot_run_is_refused(tmp_path: Path, command: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await bash(tmp_path, command)
    assert not (tmp_path / "outputs").exists()


async def test_a_workspace_that_is_gone_is_told(tmp_path: Path) -> None:
    where = context(tmp_path)
    where.workspace.root.rmdir()
    with pytest.raises(ToolError, match="workspace folder"):
        await call(tool("bash"), where, command="true")


async def test_24_megabytes_keep_their_head_and_tail_and_little_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        result = await bash(tmp_path, "echo start; yes x | tr -d '\\n' | head -c 24000000; echo; echo end")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2_000_000
    assert result.output.startswith("start\nxxx")
    assert result.output.endswith("xxx\nend")
    assert f"has the first {KEPT_LIMIT:,} characters" in result.output
    assert len(kept(tmp_path)) == KEPT_LIMIT


async def test_many_lines_can_be_read_on_whole(tmp_path: Path) -> None:
    result = await bash(tmp_path, "seq 1 100000")
    assert output_name("call_1") in result.output
    assert kept(tmp_path) == "".join(f"{number}\n" for number in range(1, 100_001))


async def test_the_event_loop_is_not_held_up_by_a_flood(tmp_path: Path) -> None:
    loop, longest = asyncio.get_running_loop(), 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = loop.time()
            await asyncio.sleep(0.001)
            longest = max(longest, loop.time() - before)

    watching = asyncio.create_task(watch())
    await bash(tmp_path, "yes | head -c 24000000")
    watching.cancel()
    assert longest < 0.5


async def test_binary_data_is_described(tmp_path: Path) -> None:
    result = await bash(tmp_path, "head -c 5000000 /dev/urandom")
    assert result.output == "[5,000,000 bytes of binary data, not shown]"
    assert not (tmp_path / "outputs").exists()


async def test_a_character_cut_by_the_pipe_is_whole(tmp_path: Path) -> None:
    code = "import os, time\nfor byte in 'é世🙂'.encode(): os.write(1, bytes([byte])); time.sleep(0.01)"
    assert (await python(tmp_path, code)).output == "é世🙂"
    result = await bash(tmp_path, "printf x; for i in $(seq 40000); do printf '世界'; done")
    assert "�" not in kept(tmp_path)
    assert "�" not in result.output


async def test_bytes_that_are_no_text_do_not_end_the_call(tmp_path: Path) -> None:
    assert (await bash(tmp_path, r"printf 'caf\xe9\xff ok'")).output == "caf�� ok"


async def test_a_progress_bar_is_its_last_state(tmp_path: Path) -> None:
    command = r"for i in $(seq 0 10 100); do printf '\r\033[32m%3d%%\033[0m' $i; done; echo; echo done"
    assert (await bash(tmp_path, command)).output == "100%\ndone"


async def test_the_newest_output_is_seen_while_it_runs(tmp_path: Path) -> None:
    tails: list[str] = []
    seen = asyncio.Event()

    def progress(message: str, tail: str) -> None:
        assert message == "running"
        tails.append(tail)
        if tail.rstrip("\r").endswith("half"):
            (tmp_path / "work" / "go").touch()
            seen.set()

    where = context(tmp_path, progress=progress)
    command = "seq 1 5000; printf half; while [ ! -e go ]; do sleep 0.01; done; echo way"
    result = await call(tool("bash"), where, command=command)
    assert seen.is_set()
    assert result.output.endswith("\nhalfway")
    assert max(map(len, tails)) == TAIL


async def test_a_stopped_call_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    running = asyncio.Event()
    where = context(tmp_path, progress=lambda _, tail: running.set() if "100000" in tail else None)
    given = tool("bash")
    parsed = given.parse(
        {"command": "(setsid nohup sleep 60 &); trap '' TERM; seq 1 100000; while :; do sleep 60; done"}
    )
    task = asyncio.ensure_future(given.run(parsed, where))
    await asyncio.wait_for(running.wait(), GUARD)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, GUARD)
    assert leftovers(tmp_path) == []
    assert list((tmp_path / "outputs").iterdir()) == []


async def test_an_incognito_call_leaves_nothing_outside_the_workspace(tmp_path: Path) -> None:
    where = context(tmp_path, incognito=True)
    result = await call(tool("bash"), where, command="seq 1 100000; echo x >$HOME/note; echo x >$TMPDIR/note")
    assert "characters left out" in result.output
    assert "read_file" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["work"]


async def test_the_keys_of_the_server_are_not_given_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    given = tool("bash", ShellConfig(keep_env=("OPENAI_API_KEY",)))
    assert "secret" not in (await call(given, context(tmp_path), command="env; set; export -p")).output
    code = "import os; print(os.environ); print(open(f'/proc/{os.getppid()}/environ').read())"
    if sys.platform == "linux":
        assert "secret" not in (await call(tool("python"), context(tmp_path), code=code)).output


async def test_a_question_for_a_password_fails_at_once(tmp_path: Path) -> None:
    code = "import getpass, warnings\nwarnings.simplefilter('error')\ngetpass.getpass()"
    result = await python(tmp_path, code)
    assert result.exit_code == 1
    assert os.ctermid() not in result.output
