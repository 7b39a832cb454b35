"""One question to a script: its answer, its end, and what it is given."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from odysseus.worker import WorkerError, ask_worker

ECHO = """
import json, os, sys
asked = json.loads(sys.stdin.buffer.readline())
body = sys.stdin.buffer.read().decode()
print(json.dumps({"asked": asked, "body": body, "env": sorted(os.environ)}))
"""
PARENT = """
import subprocess, sys, pathlib
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(__file__).with_name("pids").write_text(str(child.pid))
child.wait()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "script.py"


async def test_a_question_is_answered(script: Path) -> None:
    script.write_text(ECHO)
    answer = await ask_worker(script, {"a": [1, "ü"]}, b"text", 30)
    assert (answer["asked"], answer["body"]) == ({"a": [1, "ü"]}, "text")


async def test_only_named_variables_are_handed_on(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("WANTED", "1")
    script.write_text(ECHO)
    env = (await ask_worker(script, {}, b"", 30, ("WANTED",)))["env"]
    assert "WANTED" in env
    assert "SOME_API_KEY" not in env


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "print('no json')", "import os; os.abort()", "print('[1]')"])
async def test_a_script_without_an_answer_is_an_error(script: Path, code: str) -> None:
    script.write_text(code)
    with pytest.raises(WorkerError):
        await ask_worker(script, {}, b"", 30)


@pytest.mark.skipif(os.name != "posix", reason="a system without groups of processes")
@pytest.mark.parametrize("cancelled", [True, False])
async def test_what_a_script_has_started_ends_with_it(script: Path, cancelled: bool) -> None:
    script.write_text(PARENT)
    task = asyncio.create_task(ask_worker(script, {}, b"", 600 if cancelled else 2))
    pids = script.with_name("pids")
    async with asyncio.timeout(30):
        while not (pids.exists() and pids.read_text()):
            await asyncio.sleep(0.01)
    child = psutil.Process(int(pids.read_text()))
    if cancelled:
        task.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else TimeoutError):
        await task
    assert await asyncio.to_thread(child.wait, 10) is None
