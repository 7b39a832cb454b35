"""Installing from addresses and files, against a real server on a loopback port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest
from sources import GUARD_SECONDS, FileServer, file_server, gguf, known, sha256

from odysseus.errors import Conflict
from odysseus.models import catalogue
from odysseus.models.catalogue import UrlSource
from odysseus.models.fetch import Cancelled
from odysseus.models.install import InstallError, Setting, install_known, install_own, name_for, remove

DATA = gguf()


class Reports(list[tuple[int, int | None, str]]):
    def __call__(self, received: int, total: int | None, message: str) -> None:
        self.append((received, total, message))


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def setting(tmp_path: Path, reports: Reports) -> Setting:
    return Setting(tmp_path / "models", reports)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server(DATA) as running:
        yield running


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_a_known_model_is_put_in_place_with_its_record(setting: Setting, server: FileServer, reports: Reports) -> None:
    assert install_known(setting, known(DATA, UrlSource("the hub", server.url))) == "installed"
    assert (setting.folder / "tiny.gguf").read_bytes() == DATA
    assert visible(setting.folder) == ["tiny.gguf", "tiny.json"]
    model = catalogue.find(setting.folder, "tiny")
    assert model
    assert model.record
    assert (model.record.sha256, model.record.origin, model.context_length) == (sha256(DATA), "the hub", 4096)
    assert (len(DATA), len(DATA), "Downloading") in reports


def test_a_cut_download_goes_on_where_it_broke(setting: Setting, server: FileServer) -> None:
    server.cut_after = 1_500_000
    install_known(setting, known(DATA, UrlSource("the hub", server.url)))
    assert [request.get("range") for request in server.seen] == [None, "bytes=1500000-"]
    assert (setting.folder / "tiny.gguf").read_bytes() == DATA


def test_a_later_install_goes_on_with_what_a_cancelled_one_left(setting: Setting, server: FileServer) -> None:
    server.cut_after, server.hold = 1_500_000, threading.Event()
    model = known(DATA, UrlSource("the hub", server.url))
    failed: list[BaseException] = []
    thread = threading.Thread(target=lambda: failed.append(raised(setting, model)))
    thread.start()
    assert server.reached.wait(GUARD_SECONDS)
    wait_for_bytes(setting.folder)
    setting.cancel.set()
    server.hold.set()
    thread.join(GUARD_SECONDS)
    assert isinstance(failed[0], Cancelled)
    assert "tiny.gguf" not in visible(setting.folder)
    assert len(server.seen) == 1
    server.hold = None
    install_known(Setting(setting.folder, setting.report), model)
    assert server.seen[-1]["range"].startswith("bytes=")
    assert (setting.folder / "tiny.gguf").read_bytes() == DATA


def wait_for_bytes(folder: Path) -> None:
    """Wait until some of the download is on the disk: the server has sent it long before that."""
    deadline = time.monotonic() + GUARD_SECONDS
    while not any(part.stat().st_size for part in folder.glob("*.part")):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def raised(setting: Setting, model: catalogue.KnownModel) -> BaseException:
    with pytest.raises(Cancelled) as caught:
        install_known(setting, model)
    return caught.value


def test_a_server_without_ranges_sends_the_whole_again(setting: Setting, server: FileServer) -> None:
    server.cut_after, server.ranges = 1_500_000, False
    install_known(setting, known(DATA, UrlSource("the hub", server.url)))
    assert len(server.seen) == 2
    assert (setting.folder / "tiny.gguf").read_bytes() == DATA


def test_a_wrong_hash_is_refused_and_leaves_nothing(setting: Setting, server: FileServer) -> None:
    server.data = gguf(len(DATA), seed=8)
    with pytest.raises(InstallError, match=r"Tried: the hub \(its hash is not the expected one\)"):
        install_known(setting, known(DATA, UrlSource("the hub", server.url)))
    assert visible(setting.folder) == []


def test_a_file_of_another_size_is_refused_at_its_headers(setting: Setting, server: FileServer) -> None:
    server.data = DATA + b"more"
    with pytest.raises(InstallError, match="it holds another file"):
        install_known(setting, known(DATA, UrlSource("the hub", server.url)))
    assert visible(setting.folder) == []


def test_a_damaged_part_is_fetched_afresh(setting: Setting, server: FileServer) -> None:
    model = known(DATA, UrlSource("the hub", server.url))
    setting.folder.mkdir()
    (setting.folder / f".tiny-{model.sha256[:12]}.part").write_bytes(b"x" * 1000)
    install_known(setting, model)
    assert [request.get("range") for request in server.seen] == ["bytes=1000-", None]
    assert visible(setting.folder) == ["tiny.gguf", "tiny.json"]


def test_a_dead_source_is_passed_over_for_the_next(setting: Setting, server: FileServer, reports: Reports) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        dead = UrlSource("the hub", f"http://127.0.0.1:{reserved.getsockname()[1]}/x")
        install_known(setting, known(DATA, dead, UrlSource("the mirror", server.url)))
    model = catalogue.find(setting.folder, "tiny")
    assert model
    assert model.record
    assert model.record.origin == "the mirror"
    assert (0, len(DATA), "Nothing from the hub (no connection)") in reports


def test_the_error_names_every_source_that_was_tried(setting: Setting, server: FileServer) -> None:
    server.status = 404
    sources = UrlSource("the hub", server.url), UrlSource("the mirror", server.url)
    with pytest.raises(InstallError) as caught:
        install_known(setting, known(DATA, *sources))
    expected = "The model could not be fetched. Tried: the hub (status 404); the mirror (status 404)."
    assert caught.value.message == expected


def test_a_disk_without_room_is_said_before_anything_is_written(setting: Setting, server: FileServer) -> None:
    small = Setting(setting.folder, setting.report, free=lambda _: 5_000_000)
    with pytest.raises(InstallError, match=r"not enough disk space: 37 MB are needed, 5 MB are free"):
        install_known(small, known(DATA, UrlSource("the hub", server.url)))
    assert visible(setting.folder) == []


def test_a_second_install_of_the_same_model_is_told_so(setting: Setting, server: FileServer) -> None:
    setting.folder.mkdir()
    with filelock.FileLock(setting.folder / ".tiny.lock"), pytest.raises(Conflict, match="being installed already"):
        install_known(setting, known(DATA, UrlSource("the hub", server.url)))
    assert server.seen == []


def test_an_installed_model_is_not_fetched_or_read_again(
    setting: Setting, server: FileServer, reports: Reports
) -> None:
    model = known(DATA, UrlSource("the hub", server.url))
    install_known(setting, model)
    reports.clear()
    assert install_known(setting, model) == "already"
    assert len(server.seen) == 1
    assert reports == []


def test_a_file_put_there_by_hand_is_checked_and_recorded(setting: Setting, server: FileServer) -> None:
    setting.folder.mkdir()
    (setting.folder / "tiny.gguf").write_bytes(DATA)
    assert install_known(setting, known(DATA, UrlSource("the hub", server.url))) == "already"
    assert server.seen == []
    model = catalogue.find(setting.folder, "tiny")
    assert model
    assert model.record


def test_a_damaged_known_model_is_replaced(
    setting: Setting, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = known(DATA, UrlSource("the hub", server.url))
    monkeypatch.setitem(catalogue.KNOWN, "tiny", model)
    setting.folder.mkdir()
    (setting.folder / "tiny.gguf").write_bytes(DATA[:-1] + b"x")
    assert install_known(setting, model) == "installed"
    assert (setting.folder / "tiny.gguf").read_bytes() == DATA


def test_a_file_of_ones_own_is_copied_under_its_name(setting: Setting, tmp_path: Path) -> None:
    (tmp_path / "My Model.gguf").write_bytes(DATA)
    where = str(tmp_path / "My Model.gguf")
    assert install_own(setting, where, sha256(DATA), name_for(where)) == "installed"
    model = catalogue.find(setting.folder, "My-Model")
    assert model
    assert model.record
    assert model.record.origin == "My Model.gguf"
    assert (tmp_path / "My Model.gguf").exists()


def test_an_address_of_ones_own_keeps_no_secret_in_its_record(setting: Setting, server: FileServer) -> None:
    where = server.url.replace("http://", "http://me:pass%21@") + "?token=secret"
    install_own(setting, where, sha256(DATA), "mine")
    assert server.seen[0]["authorization"] == "Basic bWU6cGFzcyE="
    record = (setting.folder / "mine.json").read_text()
    assert server.url in record
    assert "secret" not in record
    assert "pass" not in record


def test_a_file_that_is_no_gguf_is_refused_and_leaves_nothing(setting: Setting, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"not a model")
    with pytest.raises(InstallError, match="not a GGUF"):
        install_own(setting, str(tmp_path / "a.gguf"), sha256(b"not a model"), "a")
    assert visible(setting.folder) == []


def test_another_file_never_takes_an_installed_models_name(setting: Setting, tmp_path: Path) -> None:
    other = gguf(1000, seed=9)
    (tmp_path / "a.gguf").write_bytes(DATA)
    (tmp_path / "b.gguf").write_bytes(other)
    install_own(setting, str(tmp_path / "a.gguf"), sha256(DATA), "mine")
    with pytest.raises(Conflict, match="Another model is installed as mine"):
        install_own(setting, str(tmp_path / "b.gguf"), sha256(other), "mine")
    with pytest.raises(Conflict, match="belongs to a known model"):
        install_own(setting, str(tmp_path / "b.gguf"), sha256(other), "smollm2-135m")
    assert (setting.folder / "mine.gguf").read_bytes() == DATA


def test_a_removed_model_leaves_no_file_of_its_own_and_no_other_is_touched(setting: Setting, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(DATA)
    for name in ("a", "a-b"):
        install_own(setting, str(tmp_path / "a.gguf"), sha256(DATA), name)
    (setting.folder / f".a-{'0' * 12}.part").write_bytes(b"x")
    (setting.folder / f".a-b-{'0' * 12}.part").write_bytes(b"x")
    remove(setting.folder, "a")
    assert visible(setting.folder) == [f".a-b-{'0' * 12}.part", "a-b.gguf", "a-b.json"]
