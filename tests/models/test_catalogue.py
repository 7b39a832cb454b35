"""What is known, and what lies in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from sources import gguf, sha256

from odysseus.config import LocalConfig
from odysseus.models import catalogue
from odysseus.models.catalogue import WheelSource
from odysseus.models.gguf import read_context_length


def test_the_parts_of_every_known_model_add_up_to_its_size() -> None:
    for model in catalogue.KNOWN.values():
        for source in model.sources:
            if isinstance(source, WheelSource):
                assert sum(wheel.size for wheel in source.wheels) == model.size


def test_the_configured_default_is_the_first_known_model() -> None:
    assert next(iter(catalogue.KNOWN)) == LocalConfig().model


def test_known_models_are_listed_before_the_users_own(tmp_path: Path) -> None:
    for name in ("a", "smollm2-135m", "qwen2.5-coder-0.5b", ".hidden"):
        catalogue.model_path(tmp_path, name).write_bytes(gguf(1000))
    assert catalogue.names(tmp_path) == ("qwen2.5-coder-0.5b", "smollm2-135m", "a")
    assert [model.name for model in catalogue.installed(tmp_path)] == list(catalogue.names(tmp_path))


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert catalogue.installed(tmp_path / "none") == []


def test_a_record_does_not_outlive_a_change_of_its_file(tmp_path: Path) -> None:
    path = catalogue.model_path(tmp_path, "a")
    path.write_bytes(gguf(1000))
    catalogue.write_record(tmp_path, "a", sha256=sha256(gguf(1000)), origin="here")
    before = catalogue.find(tmp_path, "a")
    assert before
    assert before.record
    path.write_bytes(gguf(1001))
    after = catalogue.find(tmp_path, "a")
    assert after
    assert after.record is None


def test_a_broken_record_counts_as_none(tmp_path: Path) -> None:
    catalogue.model_path(tmp_path, "a").write_bytes(gguf(1000))
    catalogue.record_path(tmp_path, "a").write_text("{")
    model = catalogue.find(tmp_path, "a")
    assert model
    assert model.record is None


@pytest.mark.parametrize("name", ["../a", "a/b", "a\\b", "", ".a", "a" * 65, "a\n"])
def test_a_name_that_could_leave_the_folder_is_never_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.gguf").write_bytes(gguf(1000))
    assert catalogue.find(tmp_path / "models", name) is None
    assert not catalogue.is_name(name)


@pytest.mark.parametrize(
    "data", [b"", b"GGUF", gguf(1000)[:30], b"GGUF" + b"\xff" * 60, b"PK" + gguf(1000), b"GGUF" + bytes(20)]
)
def test_a_head_that_cannot_be_read_has_no_window(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.gguf").write_bytes(data)
    assert read_context_length(tmp_path / "a.gguf") is None


def test_the_window_is_read_from_the_head(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(gguf(1000, window=12_345))
    assert read_context_length(tmp_path / "a.gguf") == 12_345
