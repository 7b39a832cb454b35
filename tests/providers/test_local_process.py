"""The embedded model around its edges: no model, no runtime, a damaged file, and the end of the program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from local_models import GUARD_SECONDS, ManualClock, answer, ask, real_model

from odysseus.config import LocalConfig
from odysseus.errors import ProviderError
from odysseus.providers.local import LocalProvider

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from odysseus.clock import SystemClock
from odysseus.config import LocalConfig
from odysseus.providers.local import LocalProvider

async def main():
    provider = LocalProvider(LocalConfig(model="one"), Path(sys.argv[1]), SystemClock())
    await provider.preload()
    print(provider._engine.pid, file=sys.stderr, flush=True)
    if sys.argv[2] == "wait":
        sys.stdin.read()
    elif sys.argv[2] == "close":
        await provider.close()

asyncio.run(main())
"""


@pytest.fixture
def provider(tmp_path: Path) -> LocalProvider:
    return LocalProvider(LocalConfig(), tmp_path / "models", ManualClock())


def lay_damaged_model(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "bad.gguf").write_bytes(b"GGUF" + b"\xff" * 5000)


async def test_without_a_model_it_says_how_to_install_one(provider: LocalProvider) -> None:
    assert provider.state() == "missing"
    assert await provider.models() == []
    with pytest.raises(ProviderError, match=r"No model is installed.*server.py model install") as caught:
        await answer(provider, ask())
    assert caught.value.status == 503


async def test_without_the_runtime_it_names_the_extra(
    provider: LocalProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_damaged_model(tmp_path)
    (tmp_path / "xllamacpp.py").write_text("raise ModuleNotFoundError('No module named xllamacpp')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    await provider.preload()
    with pytest.raises(ProviderError, match="extra `local`") as caught:
        await answer(provider, ask())
    assert caught.value.status == 503
    await provider.close()


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the extra `local` is not installed")
async def test_a_damaged_file_fails_the_load_and_nothing_else(provider: LocalProvider, tmp_path: Path) -> None:
    lay_damaged_model(tmp_path)
    async with asyncio.timeout(GUARD_SECONDS):
        await provider.preload()
        assert provider.state() == "failed"
        with pytest.raises(ProviderError, match="cannot be loaded") as caught:
            await answer(provider, ask())
    assert caught.value.status == 503
    assert provider.state() == "failed"
    await provider.close()


def test_importing_the_provider_loads_nothing_heavy() -> None:
    heavy = "{'xllamacpp', 'tqdm', 'numpy'}"
    code = f"import sys, odysseus.providers.local, odysseus.models.installer; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.model
@pytest.mark.parametrize("how", ["close", "leave"])
def test_a_program_ends_cleanly_with_nothing_on_stdout(tmp_path: Path, how: str) -> None:
    (tmp_path / "one.gguf").symlink_to(real_model())
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), how], capture_output=True, timeout=GUARD_SECONDS, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert ended(int(done.stderr))


@pytest.mark.model
def test_a_program_that_is_killed_leaves_no_model_behind(tmp_path: Path) -> None:
    (tmp_path / "one.gguf").symlink_to(real_model())
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stderr
        pid = int(program.stderr.readline())
        program.kill()
    assert ended(pid)


def ended(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        process.wait(GUARD_SECONDS)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True
