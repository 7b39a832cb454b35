"""Real programs that try to escape, to hang, to flood and to spy: none of them outlives its call."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from leftovers import leftovers

from odysseus.tools.base import ToolError
from odysseus.tools.process import Ended, Limits, Program, run_program

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands over what detaches itself")
LIMITS = Limits(seconds=10, cpu_seconds=10, memory_mb=1024)
GUARD = 15.0


@pytest.fixture(autouse=True)
async def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    opened = psutil.Process().num_fds()
    yield
    assert leftovers(tmp_path) == []
    assert list(scratch.iterdir()) == []
    assert psutil.Process().num_fds() == opened


class Written:
    """What a program has written, and a way to wait for a word in it."""

    def __init__(self) -> None:
        self.data = b""
        self._changed = asyncio.Event()

    async def take(self, data: bytes) -> None:
        self.data += data
        self._changed.set()

    async def until(self, word: bytes) -> None:
        async with asyncio.timeout(GUARD):
            while word not in self.data:
                self._changed.clear()
                await self._changed.wait()


def shell(folder: Path, command: str, limits: Limits = LIMITS) -> Program:
    return Program(("bash", "-c", command), folder, limits)


async def run(folder: Path, command: str, limits: Limits = LIMITS) -> tuple[Ended, str]:
    written = Written()
    async with asyncio.timeout(GUARD):
        ended = await run_program(shell(folder, command, limits), written.take)
    assert leftovers(folder) == []
    return ended, written.data.decode("utf-8", "replace")


async def test_both_streams_come_in_the_order_they_were_written(tmp_path: Path) -> None:
    ended, text = await run(tmp_path, "echo one; echo two >&2; echo three; pwd")
    assert (ended, text) == (Ended(0, "ended"), f"one\ntwo\nthree\n{tmp_path}\n")


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("kill -SEGV $$", 139), ("no-such-program", 127)],
)
async def test_the_exit_code_is_the_programs(tmp_path: Path, command: str, code: int) -> None:
    assert (await run(tmp_path, command))[0] == Ended(code, "ended")


async def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    written = Written()
    ended = await run_program(Program(("no-such-program",), tmp_path, LIMITS), written.take)
    assert ended.code == 127
    assert b"could not be started" in written.data


async def test_a_program_has_no_input_and_no_terminal(tmp_path: Path) -> None:
    ended, text = await run(tmp_path, "cat; read x; echo read $?; : </dev/tty || echo no terminal; tty")
    assert ended == Ended(1, "ended")
    assert "read 1\n" in text
    assert "no terminal\n" in text
    assert text.endswith("not a tty\n")


async def test_a_broken_pipe_ends_a_program_as_usual(tmp_path: Path) -> None:
    assert (await run(tmp_path, "yes | head -n 1; echo ${PIPESTATUS[0]}"))[1] == "y\n141\n"


async def test_the_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("ODYSSEUS_SERVER_PORT", "1")
    monkeypatch.setenv("EDITOR", "vi")
    written = Written()
    look = 'env; tr "\\0" "\\n" <"/proc/$PPID/environ"; test "$HOME" = "$TMPDIR" && test -d "$HOME" && echo own home'
    await run_program(Program(("bash", "-c", look), tmp_path, LIMITS, ("OPENAI_API_KEY", "EDITOR")), written.take)
    names = {line.partition("=")[0] for line in written.data.decode().splitlines()}
    given = {"PATH", "HOME", "TMPDIR", "TERM", "LANG", "EDITOR", "TZ"}
    assert names <= given | {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE", "own home"}
    assert {"HOME", "EDITOR", "own home"} <= names
    assert b"secret" not in written.data


ESCAPES = {
    "a background child": "sleep 60 & echo hi",
    "a child that ignores hang-ups": "nohup sleep 60 >/dev/null 2>&1 & echo hi",
    "a child deaf to SIGTERM": "(trap '' TERM HUP INT; while :; do sleep 1; done) & echo hi",
    "a child without the pipe": "sleep 60 >/dev/null 2>&1 </dev/null & echo hi",
    "a stopped child": "sleep 60 & kill -STOP $!; echo hi",
}
DEEP_ESCAPES = {
    "a session of its own": "setsid sleep 60 & echo hi",
    "a double fork": "(setsid sh -c 'sleep 60 & sleep 61 &' &); echo hi",
    "a double fork with another name and no environment": "(env -i setsid -f /bin/sh -c 'exec -a init sleep 60' &); "
    "env -i $(command -v setsid) -f $(command -v sleep) 61; echo hi",
    "a session deaf to SIGTERM": "setsid -f sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done'; echo hi",
}


@pytest.mark.parametrize("trick", ESCAPES)
async def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path, trick: str) -> None:
    ended, text = await run(tmp_path, ESCAPES[trick])
    assert ended == Ended(0, "ended")
    assert text.startswith("hi\n")
    assert "left running was ended" in text


@linux
@pytest.mark.parametrize("trick", DEEP_ESCAPES)
async def test_what_detaches_itself_ends_too(tmp_path: Path, trick: str) -> None:
    ended, text = await run(tmp_path, DEEP_ESCAPES[trick])
    assert ended == Ended(0, "ended")
    assert "left running was ended" in text


@linux
@pytest.mark.parametrize("trick", [*ESCAPES, *DEEP_ESCAPES])
async def test_a_cancelled_call_leaves_nothing(tmp_path: Path, trick: str) -> None:
    written = Written()
    program = shell(tmp_path, f"{(ESCAPES | DEEP_ESCAPES)[trick]}; sleep 60")
    call = asyncio.create_task(run_program(program, written.take))
    await written.until(b"hi")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, GUARD)
    assert leftovers(tmp_path) == []


async def test_a_call_that_is_cancelled_before_it_began_starts_nothing(tmp_path: Path) -> None:
    call = asyncio.create_task(run_program(shell(tmp_path, "touch ran"), Written().take))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, GUARD)
    assert not (tmp_path / "ran").exists()


@linux
async def test_a_crowd_of_sessions_is_ended(tmp_path: Path) -> None:
    crowd = "for i in $(seq 100); do setsid sh -c 'trap \"\" TERM; sleep 60; sleep 61' & done; echo hi"
    ended, text = await run(tmp_path, crowd)
    assert ended == Ended(0, "ended")
    assert "left running was ended" in text


async def test_late_output_of_a_child_is_waited_for_a_moment(tmp_path: Path) -> None:
    assert (await run(tmp_path, "echo late > >(sleep 0.05; cat)"))[1] == "late\n"


async def test_a_program_that_closes_its_output_early_is_waited_for(tmp_path: Path) -> None:
    ended, text = await run(tmp_path, "echo hi; exec >&- 2>&-; sleep 0.2; touch done; exit 5")
    assert (ended.code, text) == (5, "hi\n")
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize("command", ["sleep 60", "trap '' TERM INT HUP; while :; do sleep 60; done", "cat <(sleep 60)"])
async def test_the_time_limit_ends_everything(tmp_path: Path, command: str) -> None:
    started = time.monotonic()
    ended, _ = await run(tmp_path, command, Limits(0.3, 10, 1024))
    assert ended.why == "time"
    assert time.monotonic() - started < 5


async def test_a_program_may_say_goodbye_at_its_time_limit(tmp_path: Path) -> None:
    _, text = await run(tmp_path, "trap 'echo bye; exit' TERM; while :; do sleep 0.01; done", Limits(0.3, 10, 1024))
    assert text.endswith("bye\n")


@linux
@pytest.mark.parametrize("name", ["KILL", "TERM", "ALRM"])
async def test_a_program_that_kills_its_keeper_does_not_outlive_it(tmp_path: Path, name: str) -> None:
    ended, _ = await run(tmp_path, f"sleep 60 & kill -{name} $PPID; sleep 60")
    assert ended.code == 128 + getattr(signal, f"SIG{name}")


@linux
async def test_a_program_that_stops_its_keeper_ends_at_its_time_limit(tmp_path: Path) -> None:
    ended, _ = await run(tmp_path, "sleep 60 & kill -STOP $PPID; sleep 60", Limits(0.2, 10, 1024))
    assert ended.why == "time"


@linux
async def test_a_program_that_holds_the_leash_is_ended_all_the_same(tmp_path: Path) -> None:
    started = time.monotonic()
    ended, _ = await run(tmp_path, "exec 9>/proc/$PPID/fd/0; setsid sleep 60 & sleep 60", Limits(0.3, 10, 1024))
    assert ended.why == "time"
    assert time.monotonic() - started < 2.5


@linux
async def test_a_process_that_hops_is_caught(tmp_path: Path) -> None:
    hop = "import os\nos.write(1, b'hi')\nwhile True:\n if os.fork(): os._exit(0)\n os.setsid()\n"
    written = Written()
    ended = await asyncio.wait_for(
        run_program(Program((sys.executable, "-S"), tmp_path, LIMITS, script=hop), written.take), GUARD
    )
    assert ended == Ended(0, "ended")


async def test_the_servers_end_is_the_programs(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom odysseus.tools.process import *\n"
        "async def take(data): print(data.decode(), flush=True)\n"
        "program = Program(('sh', '-c', 'echo hi; setsid sleep 60'), Path(sys.argv[1]), Limits(60, 60, 1024))\n"
        "asyncio.run(run_program(program, take))\n"
    )
    root = Path(__file__).parent.parent.parent
    environ = {**os.environ, "TMPDIR": str(tmp_path / "scratch")}
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path), cwd=root, env=environ, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout
    assert await asyncio.wait_for(server.stdout.readline(), GUARD) == b"hi\n"
    server.kill()
    await server.wait()
    await until(lambda: not leftovers(tmp_path))
    (folder,) = (tmp_path / "scratch").iterdir()  # a killed server cannot tidy up
    folder.rmdir()


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(GUARD):
        while not done():
            await asyncio.sleep(0.02)


async def test_a_flood_is_ended_at_its_limit(tmp_path: Path) -> None:
    ended, text = await run(tmp_path, "yes", Limits(10, 10, 1024, output_bytes=1_000_000))
    assert ended.why == "output"
    assert len(text) <= 1_000_000


@linux
async def test_memory_is_limited(tmp_path: Path) -> None:
    written = Written()
    script = "b = bytearray(200_000_000)"
    limits = Limits(10, 10, 100)
    ended = await run_program(Program((sys.executable, "-I"), tmp_path, limits, script=script), written.take)
    assert ended.code == 1
    assert b"MemoryError" in written.data


async def test_a_file_cannot_grow_without_end(tmp_path: Path) -> None:
    limits = Limits(10, 10, 1024, file_bytes=100_000)
    ended, _ = await run(tmp_path, "exec head -c 1000000 /dev/zero >big", limits)
    assert ended.code == 128 + signal.SIGXFSZ
    assert (tmp_path / "big").stat().st_size == 100_000


async def test_no_core_is_dumped(tmp_path: Path) -> None:
    assert (await run(tmp_path, "ulimit -c"))[1] == "0\n"


async def test_what_cannot_be_started_is_told_in_a_sentence(tmp_path: Path) -> None:
    written = Written()
    with pytest.raises(ToolError, match="NUL"):
        await run_program(shell(tmp_path, "echo \0"), written.take)
    with pytest.raises(ToolError, match="characters"):
        await run_program(shell(tmp_path, "echo \ud800"), written.take)
    with pytest.raises(ToolError, match="too long"):
        await run_program(shell(tmp_path, "#" * 5_000_000), written.take)
    with pytest.raises(ToolError, match="workspace folder"):
        await run_program(shell(tmp_path / "gone", "true"), written.take)


async def test_a_reader_that_fails_ends_the_program(tmp_path: Path) -> None:
    async def fail(_: bytes) -> None:
        raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        await asyncio.wait_for(run_program(shell(tmp_path, "echo hi; sleep 60"), fail), GUARD)
    assert leftovers(tmp_path) == []


async def test_many_programs_run_side_by_side(tmp_path: Path) -> None:
    programs = [shell(tmp_path, f"echo {number}; exit {number}") for number in range(8)]
    written = [Written() for _ in programs]
    done = await asyncio.gather(*(run_program(program, to.take) for program, to in zip(programs, written, strict=True)))
    assert [ended.code for ended in done] == list(range(8))
    assert [to.data for to in written] == [f"{number}\n".encode() for number in range(8)]


async def test_a_trivial_call_is_cheap(tmp_path: Path) -> None:
    await run(tmp_path, "true")
    before = os.times()
    spent = []
    for _ in range(10):
        started = time.perf_counter()
        await run_program(shell(tmp_path, "true"), Written().take)
        spent.append(time.perf_counter() - started)
    after = os.times()
    assert statistics.median(spent) < 0.3  # 0.02 on a machine that is idle
    assert (after.children_user + after.children_system - before.children_user - before.children_system) / 10 < 0.06
